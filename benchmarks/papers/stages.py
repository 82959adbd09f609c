"""Error, support vectors, kernel values and duality gap as rows come in, for the learners of chapter 6."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.data import Task
from ..harness.run import Data, Run
from ..noise.data import table_task
from .common import add, error_of, evaluations, flat_report, timed

NAMES = ("adult", "banana", "usps+N", "reuters")
SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def _learners(task: Task, seed: int) -> dict[str, Any]:
    from everlearn import LASVM, LASVMG, LASVMI, LASVMNC, FullSVM

    common: dict[str, Any] = {"gamma": task.gamma, "cache_size": 1000, "n_jobs": 1, "random_state": seed}
    return {
        "LASVM": LASVM(task.C, **common),
        "FullSVM": FullSVM(task.C, **common),
        "LASVMG": LASVMG(task.C, **common),
        "LASVMNC": LASVMNC(task.C, **common),
        "LASVMI": LASVMI(task.C, **common),
    }


def duality_gap(model: Any, X: Any, y: np.ndarray, C: float) -> float:
    """Primal minus dual objective over the rows seen, divided by their number."""
    bias = float(np.ravel(model.intercept_)[0])
    coefficients = np.ravel(model.dual_coef_)
    norm = float(coefficients @ (model.decision_function(model.support_vectors_) - bias))
    hinge = np.maximum(0, 1 - y * model.decision_function(X)).sum()
    return float(norm + C * hinge - np.abs(coefficients).sum()) / len(y)


def run_part(run: Run) -> None:
    """One pass in blocks; measured on the way, without the finishing step."""
    from everlearn.metrics import prbep

    for name in run.chosen(NAMES, NAMES[1:2]):
        for seed in range(run.settings["seeds"]):
            if run.find(set=name, learner="LASVMI", seed=seed, share=SHARES[-1]):
                continue
            task = table_task(name, run.settings["rows"])
            order = np.random.default_rng(seed).permutation(len(task.y_train))
            X, y = task.X_train[order], task.y_train[order]
            for learner, model in _learners(task, seed).items():
                begin, spent = 0, 0.0
                for share in SHARES:
                    end = int(share * len(y))
                    _, seconds = timed(model.partial_fit, X[begin:end], y[begin:end], [-1, 1])
                    begin, spent = end, spent + seconds
                    add(
                        run, name, learner, seed, share=share,
                        error=error_of(model, task.X_test, task.y_test),
                        prbep=float(prbep(task.y_test, model.decision_function(task.X_test))),
                        support=len(model.support_), kept=int(model.n_kept_), kernel=evaluations(model),
                        gap=duality_gap(model, X[:end], y[:end], task.C), cpu=spent,
                    )  # fmt: skip


def report(data: Data) -> str:
    """A table for each set."""
    text = "One pass, not finished; C and gamma of table 6.2. gap: primal minus dual objective a row."
    return flat_report(data, "Stages of one pass", text, ("share",))
