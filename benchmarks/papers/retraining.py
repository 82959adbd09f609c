"""Active learning that updates the model after each label, or retrains; 50 rows drawn, or all."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from ..harness.data import Task
from ..harness.run import Data, Run
from ..query_strategies.data import query_task
from .common import add, done, error_of, flat_report

NAMES = ("money-fx", "usps")
DRAWN = 50
POINTS = (50, 100, 200)
START = 10  # labels to begin with, five of each class


class _Updated:
    """One LASVM iteration for each label; finished on a copy when it is measured."""

    def __init__(self, task: Task, seed: int) -> None:
        from everlearn import LASVM

        self.model = LASVM(task.C, gamma=task.gamma, random_state=seed, n_jobs=1)

    def learn(self, X: Any, y: np.ndarray, new: list[int]) -> None:
        self.model.partial_fit(X[new], y[new], classes=[-1, 1])

    def finished(self) -> Any:
        from copy import deepcopy

        return deepcopy(self.model).finish()


class _Retrained:
    """SVC on all labels, after each label."""

    def __init__(self, task: Task, seed: int) -> None:
        from sklearn.svm import SVC

        self.model = SVC(C=task.C, gamma=task.gamma)
        self.known: list[int] = []

    def learn(self, X: Any, y: np.ndarray, new: list[int]) -> None:
        self.known += new
        self.model.fit(X[self.known], y[self.known])

    def finished(self) -> Any:
        return self.model


LOOPS: dict[str, tuple[Any, int | None]] = {
    "random": (_Updated, 1),
    "updated, 50 drawn": (_Updated, DRAWN),
    "updated, all searched": (_Updated, None),
    "retrained, 50 drawn": (_Retrained, DRAWN),
    "retrained, all searched": (_Retrained, None),
}


def _loop(run: Run, name: str, task: Task, learner: str, seed: int) -> None:
    make, drawn = LOOPS[learner]
    random = np.random.default_rng(seed)
    order = random.permutation(len(task.y_train))
    first = np.concatenate([order[task.y_train[order] == label][: START // 2] for label in (-1, 1)])
    rest = [int(i) for i in order if i not in set(first.tolist())]
    points = [n for n in POINTS if n < len(rest)]
    model, spent, labels = make(task, seed), 0.0, 0
    new = [int(i) for i in first]
    while labels < points[-1]:
        start = process_time()
        model.learn(task.X_train, task.y_train, new)
        labels += len(new)
        places = np.arange(len(rest)) if drawn is None else random.permutation(len(rest))[:drawn]
        scores = model.model.decision_function(task.X_train[[rest[i] for i in places]]) if drawn != 1 else [0]
        new = [rest.pop(int(places[int(np.argmin(np.abs(scores)))]))]
        spent += process_time() - start
        if labels in points:
            wrong = error_of(model.finished(), task.X_test, task.y_test)
            add(run, name, learner, seed, labels=labels, error=wrong, cpu=spent)


def run_part(run: Run) -> None:
    """All loops on both sets."""
    for name in run.chosen(NAMES):
        for seed in range(min(2, run.settings["seeds"])):
            task = query_task(name, seed, run.settings["rows"])
            for learner in LOOPS:
                if not done(run, name, learner, seed):
                    _loop(run, name, task, learner, seed)


def report(data: Data) -> str:
    """A table for each set."""
    text = f"Labels from {START} on, one at a time: the nearest to the boundary. CPU seconds without tests."
    return flat_report(data, "Updating or retraining", text, ("labels",))
