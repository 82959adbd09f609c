"""What a query costs: a loop of everlearn beside `SVC` refitted for every label, by the number of labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run

POOLS = ((2_000, 20), (20_000, 20), (2_000, 100))
STEPS = (100, 500, 1_200)
QUERIES = 200


class _Stopwatch:
    """CPU seconds spent in the public methods of a model, while it is watched."""

    METHODS = ("decision_function", "partial_fit", "finish")

    def __init__(self, model: Any) -> None:
        self.model, self.seconds = model, dict.fromkeys(self.METHODS, 0.0)

    def __enter__(self) -> dict[str, float]:
        for name in self.METHODS:
            setattr(self.model, name, self._timed(name, getattr(self.model, name)))
        return self.seconds

    def __exit__(self, *error: Any) -> None:
        for name in self.METHODS:
            delattr(self.model, name)

    def _timed(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            start = time.thread_time()
            try:
                return method(*args, **options)
            finally:
                self.seconds[name] += time.thread_time() - start

        return call


def _rows(count: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    X = random.randn(count, features)
    return X, (X @ random.randn(features) + random.randn(count) > 0).astype(int)


def _loop(X: np.ndarray, y: np.ndarray, steps: tuple[int, ...], queries: int) -> list[dict[str, float]]:
    from everlearn import LASVM, ActiveLearner

    loop = ActiveLearner(LASVM(C=1, gamma=1 / X.shape[1]), random_state=0).start(X, classes=[0, 1])
    found = []
    for step in steps:
        while len(loop.history) < step:
            rows = loop.ask()
            loop.tell(rows, y[rows])
        with _Stopwatch(loop.estimator) as seconds:
            start = time.thread_time()
            for _ in range(queries):
                rows = loop.ask()
                loop.tell(rows, y[rows])
            total = time.thread_time() - start
        parts = {name: 1e3 * value / queries for name, value in seconds.items()}
        rest = 1e3 * (total - sum(seconds.values())) / queries
        found.append({"labels": step, "total": 1e3 * total / queries, "rest": rest} | parts)
    return found


def _refits(X: np.ndarray, y: np.ndarray, labels: int, candidates: int) -> float:
    """Milliseconds to refit `SVC` on so many labels and score so many candidates."""
    from sklearn.svm import SVC

    model, start = SVC(C=1, gamma=1 / X.shape[1]), time.thread_time()
    for _ in range(5):
        model.fit(X[:labels], y[:labels]).decision_function(X[-candidates:])
    return 1e3 * (time.thread_time() - start) / 5


def run_part(run: Run) -> None:
    """All pools, by the number of labels."""
    from everlearn.query import Auto

    warnings.simplefilter("ignore", ConvergenceWarning)
    steps, queries = (STEPS[:1], 20) if run.quick else (STEPS, QUERIES)
    run.note(queries=queries)
    for rows, features in POOLS[:1] if run.quick else POOLS:
        X, y = _rows(rows, features)
        for entry in _loop(X, y, steps, queries):
            left = rows - int(entry["labels"])
            candidates = left if left <= Auto().max_full_search else Auto().pool_size
            theirs = _refits(X, y, int(entry["labels"]), candidates)
            run.add({"rows": rows, "features": features, "candidates": candidates, "svc": theirs} | entry)
            say(
                f"{rows} x {features}, {entry['labels']} labels: {entry['total']:.2f} ms, SVC {theirs:.1f} ms"
            )


def report(data: Data) -> str:
    """Milliseconds by pool and number of labels."""
    lines = [
        [
            f"{r['rows']:,} x {r['features']}",
            f"{r['labels']:,}",
            f"{r['candidates']:,}",
            *(f"{r[name]:.2f}" for name in ("total", "decision_function", "partial_fit", "finish", "rest")),
            f"{r['svc']:.1f}",
            f"{r['svc'] / r['total']:.0f}",
        ]
        for r in data["results"]
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
    text = f"""Milliseconds of CPU time per query of `ActiveLearner(LASVM(C=1, gamma=1/d))`, one at a time,
    mean of {data["settings"]["queries"]}: in all, then scoring the candidates (`decision_function`),
    learning the label (`partial_fit`), `finish`, and the rest. `SVC`: retrained on as many labels, scoring
    as many candidates."""
    return "\n".join([*head("What a query costs", data), fill(text), markdown(header, lines)])
