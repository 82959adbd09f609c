"""Rows a second of partial_fit and predict, beside a linear learner on Nystroem features."""

from __future__ import annotations

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ..harness.data import Task, load_task
from ..harness.machine import say
from ..harness.report import head, markdown, number
from ..harness.run import Data, Run

NAMES = ("letter", "a9a", "mnist8", "covtype")
BLOCK = 1000
FEATURES = 300
SINGLES = 500  # rows given one by one, after the blocks
REPEATS, BUDGET = 3, 60


class _Ours:
    label = "LASVM"

    def __init__(self, task: Task, settings: dict[str, Any]) -> None:
        from everlearn import LASVM

        self.model = LASVM(
            C=task.C,
            kernel="rbf",
            gamma=task.gamma,
            cache_size=settings["cache"],
            n_jobs=settings["threads"],
            random_state=0,
        )
        self.classes = np.unique(task.y_train)

    def learn(self, X: Any, y: np.ndarray) -> None:
        self.model.partial_fit(X, y, classes=self.classes)

    def finish(self) -> None:
        self.model.finish()

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)


class _Linear:
    label = "Nystroem + SGD"

    def __init__(self, task: Task, settings: dict[str, Any]) -> None:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDClassifier

        self.features = Nystroem(gamma=task.gamma, n_components=FEATURES, random_state=0)
        self.model = SGDClassifier(loss="hinge", alpha=1 / (task.C * len(task.y_train)), random_state=0)
        self.classes = np.unique(task.y_train)
        self.started = False

    def learn(self, X: Any, y: np.ndarray) -> None:
        if not self.started:
            self.features.fit(X)
            self.started = True
        self.model.partial_fit(self.features.transform(X), y, classes=self.classes)

    def finish(self) -> None:
        """Nothing is left to do."""

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(self.features.transform(X))


def _stream(learner: Any, task: Task) -> dict[str, float]:
    """Blocks of rows, then single rows, then the finishing step, then the test rows."""
    order = np.random.default_rng(0).permutation(len(task.y_train))
    X, y = task.X_train[order], task.y_train[order]
    singles = min(SINGLES, len(y) // 10)
    stop = len(y) - singles
    seconds = []
    for begin in range(0, stop, BLOCK):
        block = slice(begin, min(begin + BLOCK, stop))
        start = perf_counter()
        learner.learn(X[block], y[block])
        seconds.append((block.stop - begin, perf_counter() - start))
    start = perf_counter()
    for i in range(stop, len(y)):
        learner.learn(X[i : i + 1], y[i : i + 1])
    single = perf_counter() - start
    start = perf_counter()
    learner.finish()
    finishing = perf_counter() - start
    start = perf_counter()
    labels = learner.predict(task.X_test)
    predicting = perf_counter() - start
    last = seconds[-3:]
    return {
        "rows_per_s": sum(n for n, _ in seconds) / sum(s for _, s in seconds),
        "last_rows_per_s": sum(n for n, _ in last) / sum(s for _, s in last),
        "single_rows_per_s": singles / single,
        "finish_seconds": finishing,
        "predict_rows_per_s": len(task.y_test) / predicting,
        "error": float(np.mean(labels != task.y_test)),
        "seconds": sum(s for _, s in seconds) + single + finishing + predicting,
    }


def run_part(run: Run) -> None:
    """Stream each set through both learners, interleaved."""
    settings = run.settings
    run.note(block=BLOCK)
    for key in run.missing(run.chosen(NAMES)):
        task = load_task(key, settings["rows"])
        trial = task.head(400)
        runs: dict[str, list[dict[str, float]]] = {"ours": [], "linear": []}
        reasons: dict[str, str] = {}
        for _ in range(min(REPEATS, settings["repeats"])):
            for name, kind in (("ours", _Ours), ("linear", _Linear)):
                if name in reasons or sum(r["seconds"] for r in runs[name]) > BUDGET:
                    continue
                try:
                    if not runs[name]:
                        _stream(kind(trial, settings), trial)  # loads what is loaded lazily
                    runs[name].append(_stream(kind(task, settings), task))
                except Exception as error:  # a peer that fails is reported, the others go on
                    reasons[name] = f"{type(error).__name__}: {error}"
                    say(f"{task.title}: {kind.label} failed: {reasons[name]}")
                    continue
                say(f"{task.title}: {kind.label} {number(runs[name][-1]['rows_per_s'])} rows/s")
        medians = {k: {m: median(r[m] for r in v) for m in v[0]} for k, v in runs.items() if v}
        run.add(task.describe() | {"runs": runs, "median": medians, "reasons": reasons})


def report(data: Data) -> str:
    """One line per set and learner."""
    rows, reasons = [], []
    for r in data["results"]:
        for name, label in (("ours", _Ours.label), ("linear", _Linear.label)):
            if name in r["reasons"]:
                reasons.append(f"- {r['title']}, {label}: {r['reasons'][name]}")
            if name not in r["median"]:
                continue
            m = r["median"][name]
            keys = (
                "rows_per_s",
                "last_rows_per_s",
                "single_rows_per_s",
                "finish_seconds",
                "predict_rows_per_s",
            )
            rows.append([f"{r['title']}, {label}", *[number(m[k]) for k in keys], f"{100 * m['error']:.2f}"])
    header = ["set, learner", "rows/s", "at the end", "one by one", "finish s", "predict rows/s", "error %"]
    return "\n".join(
        [
            *head("Rows a second", data),
            markdown(header, rows),
            f"partial_fit in blocks of {BLOCK}: over the whole stream, over its last three blocks, and in\n"
            "calls of one row each after it. The linear learner: 300 Nystroem features of the first\n"
            "block, then SGDClassifier with hinge loss; for orientation, it solves an easier problem.\n",
            *reasons,
        ]
    )
