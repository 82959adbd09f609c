"""Support vectors and g-means as VIRTUAL, active learning and SMOTE see more rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..harness.data import Task
from ..harness.run import Data, Run
from .common import add, done, flat_report, rare_measures
from .rare import rare_task

NAMES = ("waveform-4", "waveform-32", "ship", "interest", "letter", "satimage")
QUICK_NAMES = ("waveform-32", "satimage")
POINTS = (50, 100, 150, 250, 500, 1000, 2000, 4000)
NEIGHBORS = 5


def _virtual(task: Task, n: int, n_virtual: int, seed: int) -> tuple[Any, dict[str, float]]:
    from everlearn import VIRTUAL

    options: dict[str, Any] = {
        "early_stopping": False,
        "max_iter": n,
        "minority_class": 1,
        "random_state": seed,
    }
    model = VIRTUAL(task.C, gamma=task.gamma, n_virtual=n_virtual, n_jobs=1, cache_size=500, **options)
    model.fit(task.X_train, task.y_train)
    return model, {
        "made": model.n_virtual_,
        "made_support": model.n_virtual_support_,
        "learned": model.n_labels_,
    }


def _smote(task: Task, n: int, seed: int) -> tuple[Any, dict[str, float]] | None:
    from imblearn.over_sampling import SMOTE

    from everlearn import LASVM

    order = np.random.default_rng(seed).permutation(len(task.y_train))[:n]
    X, y = task.X_train[order], task.y_train[order]
    positives = int(np.sum(y == 1))
    if positives <= NEIGHBORS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = SMOTE(sampling_strategy={1: 2 * positives}, random_state=seed).fit_resample(X, y)
    model = LASVM(
        task.C, gamma=task.gamma, finishing="kept", random_state=seed, n_jobs=1, cache_size=500
    ).fit(X, y)
    made = int(np.sum(model.support_ >= n))
    return model, {"made": positives, "made_support": made, "learned": n}


def run_part(run: Run) -> None:
    """All sets, with growing numbers of rows."""
    for name in run.chosen(NAMES, QUICK_NAMES):
        for seed in range(run.settings["seeds"]):
            task = rare_task(name, run.settings["rows"], seed)
            for n in (n for n in POINTS if n < len(task.y_train)):
                for learner in ("VIRTUAL", "active", "SMOTE x2"):
                    if done(run, name, learner, seed, labels=n):
                        continue
                    found = (
                        _smote(task, n, seed)
                        if learner == "SMOTE x2"
                        else _virtual(task, n, int(learner == "VIRTUAL"), seed)
                    )
                    if found is None:
                        continue
                    model, counts = found
                    counts |= {
                        "support_positives": int(model.n_support_[1]),
                        "support_negatives": int(model.n_support_[0]),
                    }
                    measures = rare_measures(model, task.X_test, task.y_test)
                    add(run, name, learner, seed, labels=n, **counts, **measures)


def report(data: Data) -> str:
    """A table for each set."""
    text = "Rows learned, without early stopping; `made`: virtual rows; SMOTE doubles the positives."
    return flat_report(data, "VIRTUAL as it learns", text, ("labels",))
