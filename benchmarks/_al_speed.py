"""What a query costs: a loop of everlearn beside `SVC` refitted for every label, by the number of labels."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from _al_record import AskingRecord, fill
from _report import machine_lines, markdown, say

POOLS = ((2_000, 20), (20_000, 20), (2_000, 100))
STEPS = (100, 500, 1_200)
QUERIES = 200


class _Timed:
    """The native solver, with the time spent in it; attributes other than methods that work pass through."""

    def __init__(self, native: Any) -> None:
        self._native, self.seconds = native, {"decide": 0.0, "learn": 0.0, "finish": 0.0}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._native, name)
        if name not in self.seconds:
            return found

        def call(*args: Any) -> Any:
            start = time.thread_time()
            try:
                return found(*args)
            finally:
                self.seconds[name] += time.thread_time() - start

        return call


def _rows(count: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    X = random.randn(count, features)
    return X, (X @ random.randn(features) + random.randn(count) > 0).astype(int)


def _loop(X: np.ndarray, y: np.ndarray) -> list[dict[str, float]]:
    from everlearn import LASVM, ActiveLearner

    loop = ActiveLearner(LASVM(C=1, gamma=1 / X.shape[1]), random_state=0).start(X, classes=[0, 1])
    found = []
    for step in STEPS:
        while len(loop.history) < step:
            rows = loop.ask()
            loop.tell(rows, y[rows])
        machine = loop.model._machine
        machine.native = timed = _Timed(machine.native)
        start = time.thread_time()
        for _ in range(QUERIES):
            rows = loop.ask()
            loop.tell(rows, y[rows])
        total = time.thread_time() - start
        machine.native = timed._native
        parts = {name: 1e3 * value / QUERIES for name, value in timed.seconds.items()}
        rest = 1e3 * (total - sum(timed.seconds.values())) / QUERIES
        found.append({"labels": step, "total": 1e3 * total / QUERIES, "rest": rest} | parts)
    return found


def _refits(X: np.ndarray, y: np.ndarray, labels: int, candidates: int) -> float:
    """Milliseconds to refit `SVC` on so many labels and score so many candidates."""
    from sklearn.svm import SVC

    model, start = SVC(C=1, gamma=1 / X.shape[1]), time.thread_time()
    for _ in range(5):
        model.fit(X[:labels], y[:labels]).decision_function(X[-candidates:])
    return 1e3 * (time.thread_time() - start) / 5


def run_speed(settings: dict[str, Any], about: dict[str, Any], out: Path) -> None:
    from everlearn.query import Auto

    warnings.simplefilter("ignore", ConvergenceWarning)
    record = AskingRecord(out, "speed", about, settings)
    for rows, features in POOLS:
        X, y = _rows(rows, features)
        for entry in _loop(X, y):
            left = rows - int(entry["labels"])
            candidates = left if left <= Auto().full_search else Auto().pool_size
            theirs = _refits(X, y, int(entry["labels"]), candidates)
            record.add({"rows": rows, "features": features, "candidates": candidates, "svc": theirs} | entry)
            say(
                f"{rows} x {features}, {entry['labels']} labels: {entry['total']:.2f} ms, SVC {theirs:.1f} ms"
            )
    record.finish(_report(record.data["results"], about))


def _report(results: list[dict[str, Any]], about: dict[str, Any]) -> str:
    lines = [
        [
            f"{r['rows']:,} x {r['features']}",
            f"{r['labels']:,}",
            f"{r['candidates']:,}",
            *(f"{r[name]:.2f}" for name in ("total", "decide", "learn", "finish", "rest")),
            f"{r['svc']:.1f}",
            f"{r['svc'] / r['total']:.0f}",
        ]
        for r in results
    ]
    header = [
        "pool",
        "labels",
        "scored",
        "a query",
        "scoring",
        "learning",
        "finishing",
        "rest",
        "`SVC`",
        "times",
    ]
    text = f"""Milliseconds of CPU time a query of `ActiveLearner(LASVM(C=1, gamma=1/d))`, asked and told one
    at a time, mean of {QUERIES}: in all, then scoring the candidates, learning the label and finishing, all
    three in the compiled core, and the rest. `SVC`: refitted on as many labels, scoring as many
    candidates."""
    return "\n".join(["# What a query costs\n", machine_lines(about), fill(text), markdown(header, lines)])
