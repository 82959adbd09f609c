"""500 queries on a pool of 60,000 rows: ours against loops that retrain an SVM after every label.

A question is the choice of a row, and the learning of all that was answered before. Its time is from the
question before to this one, so that the sum of all is the time of the loop; learning the last label, and the
finishing step of ours, are in the total. CPU seconds.

Peers: scikit-activeml's `UncertaintySampling("margin_sampling")`, which asks by probabilities and takes no
decision values, so that its SVC needs a calibration; and the loop that one would write with scikit-learn's
`SVC` alone, over all rows or over 59 drawn ones. All begin with the same ten labels. A loop that
exceeds the limit is stopped where it is: nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from statistics import median
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import Task, load_task
from ..harness.machine import say
from ..harness.report import head, markdown, number
from ..harness.run import Data, Run
from .data import SEEDS_PER_CLASS, active_learner, seed_labels, seeds_first

NAMES = ("mnist8",)
QUESTIONS = 500
QUICK_QUESTIONS = 30
GOAL = 100.0
SEED = 0
OURS = "ours, 59 drawn"
SEEDS = 2 * SEEDS_PER_CLASS


class OutOfTime(Exception):
    """The limit is exceeded."""


class Oracle:
    """Answers, and notes when it was asked."""

    def __init__(self, y: np.ndarray, limit: float) -> None:
        self.y, self.limit = y, limit
        self.begun = process_time()
        self.times: list[float] = []

    @property
    def spent(self) -> float:
        return process_time() - self.begun

    def __call__(self, number: int, row: Any = None) -> Any:
        if self.spent > self.limit:
            raise OutOfTime
        self.times.append(self.spent)
        return self.y[number]


Peer = Callable[[Task, Any, np.ndarray, Oracle, int, dict[str, Any]], Any]


def _ours(pool_size: int | None) -> Peer:
    def run(task: Task, X: Any, y: Any, oracle: Oracle, questions: int, settings: dict[str, Any]) -> Any:
        loop = active_learner(task, pool_size, None, SEED, settings["cache"])
        with suppress(OutOfTime):  # the loop has learned all that was answered
            loop.run(X, oracle, questions, classes=[-1, 1], initial_labels=seed_labels(y))
        return loop.estimator.finish()

    return run


def _svc(task: Task, settings: dict[str, Any]) -> Any:
    from sklearn.svm import SVC

    return SVC(C=task.C, gamma=task.gamma, cache_size=settings["cache"])


def _plain(drawn: int | None) -> Peer:
    """SVC retrained after each label, then the row nearest to its boundary, of all or of some drawn."""

    def run(task: Task, X: Any, y: Any, oracle: Oracle, questions: int, settings: dict[str, Any]) -> Any:
        random = np.random.default_rng(SEED)
        known, answers = list(range(SEEDS)), list(y[:SEEDS])
        left = np.ones(len(y), dtype=bool)
        left[:SEEDS] = False
        model = _svc(task, settings)
        for _ in range(questions):
            model.fit(X[known], answers)
            if drawn is None:
                margin = np.abs(model.decision_function(X))  # of all: cheaper than a copy of those left
                row = int(np.where(left, margin, np.inf).argmin())
            else:
                some = random.choice(np.flatnonzero(left), drawn, replace=False)
                row = int(some[np.abs(model.decision_function(X[some])).argmin()])
            try:
                answers.append(oracle(row))
            except OutOfTime:
                return model
            known.append(row)
            left[row] = False
        return model.fit(X[known], answers)

    return run


def _activeml(task: Task, X: Any, y: Any, oracle: Oracle, questions: int, settings: dict[str, Any]) -> Any:
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.pool import UncertaintySampling
    from sklearn.calibration import CalibratedClassifierCV

    svm = CalibratedClassifierCV(_svc(task, settings), ensemble=False, cv=SEEDS_PER_CLASS)
    clf = SklearnClassifier(svm, classes=[-1, 1], random_state=SEED)
    strategy = UncertaintySampling(method="margin_sampling", random_state=SEED)
    answers = np.full(len(y), np.nan)
    answers[:SEEDS] = y[:SEEDS]
    for _ in range(questions):
        row = int(strategy.query(X, answers, clf)[0])
        try:
            answers[row] = oracle(row)
        except OutOfTime:
            break
    return clf.fit(X, answers)


PEERS: dict[str, Peer] = {
    OURS: _ours(59),
    "ours, full search": _ours(None),
    "scikit-activeml, calibrated SVC": _activeml,
    "SVC retrained, full search": _plain(None),
    "SVC retrained, 59 drawn": _plain(59),
}


def run_part(run: Run) -> None:
    """All loops, one after the other, on the same pool in the same order."""
    settings = run.settings
    task = load_task("mnist8", settings["rows"])
    questions = QUICK_QUESTIONS if run.quick else QUESTIONS
    run.note(questions=questions, seed=SEED)
    run.data["task"] = task.describe()
    X, y = seeds_first(task, SEED)
    wide = None
    for name, peer in PEERS.items():
        foreign = not name.startswith("ours")
        if foreign and wide is None:
            wide = X.astype(np.float64)  # which SVC would make of it at every call
        oracle = Oracle(y, settings["limit"])
        try:
            model = peer(task, wide if foreign else X, y, oracle, questions, settings)
        except ImportError as error:
            say(f"{name}: not installed ({error})")
            continue
        total = oracle.spent
        wrong = float(np.mean(np.asarray(model.predict(task.X_test), dtype=float) != task.y_test))
        each = np.diff([0.0, *oracle.times])
        run.add(
            {
                "peer": name,
                "questions": len(each),
                "total": total,
                "seconds": [round(float(value), 5) for value in each],
                "error": wrong,
            }
        )
        say(f"{name}: {len(each)} questions, {number(total)} s, error {100 * wrong:.2f} %")


def report(data: Data) -> str:
    """Time per query of each loop, and against ours."""
    results, settings, task = data["results"], data["settings"], data["task"]
    questions = settings["questions"]
    ours = next(r["total"] for r in results if r["peer"] == OURS)
    lines = []
    for r in results:
        whole = r["questions"] == questions
        ratio = r["total"] / ours
        foreign = not r["peer"].startswith("ours")
        verdict = "yes" if ratio >= GOAL else "**no**" if whole else "not known"
        lines.append(
            [
                r["peer"],
                str(r["questions"]),
                number(r["total"]),
                *[
                    number(1000 * value)
                    for value in (r["seconds"][0], median(r["seconds"]), r["seconds"][-1])
                ],
                ("" if whole else "more than ") + number(ratio),
                verdict if foreign else "",
                f"{100 * r['error']:.2f}",
            ]
        )
    header = ["loop", "answered", "CPU s", "first ms", "median ms", "last ms", "CPU / ours", f">= {GOAL:g}"]
    return "\n".join(
        [
            *head(f"{questions} queries on a pool of {task['rows']:,} rows", data),
            f"{task['title']}, {task['features']} features, C = {task['C']:g}, gamma = {task['gamma']:g}; "
            f"{SEEDS} labels to "
            f"begin with, the same for all; one run each, stopped at the\nfirst question after "
            f"{settings['limit']:g} CPU seconds. Where a loop was stopped, ms and test error are of the "
            "questions it came to.\n",
            markdown([*header, "test error %"], lines),
        ]
    )
