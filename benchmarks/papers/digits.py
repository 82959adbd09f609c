"""Ten digits against the rest: LASVM after one and two epochs, SVC, and the averaged perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.data import load_task, one_vs_rest
from ..harness.run import Data, Run
from .common import add, done, error_of, evaluations, flat_report, timed

C, GAMMA = 1000, 0.005
NAMES = tuple(f"digit {digit}" for digit in range(10))
ALL = "ten digits"


def _learners() -> dict[str, Any]:
    from sklearn.svm import SVC

    from everlearn import LASVM, AveragedKernelPerceptron

    def lasvm(epochs: int) -> Any:
        return LASVM(C, gamma=GAMMA, epochs=epochs, finishing="kept", random_state=0, n_jobs=1)

    def perceptron(epochs: int) -> Any:
        return AveragedKernelPerceptron(gamma=GAMMA, epochs=epochs, random_state=0, n_jobs=1)

    return {
        "SVC": SVC(C=C, gamma=GAMMA, cache_size=256),
        "LASVM x 1": lasvm(1),
        "LASVM x 2": lasvm(2),
        "averaged perceptron x 1": perceptron(1),
        "averaged perceptron x 10": perceptron(10),
    }


def run_part(run: Run) -> None:
    """Every digit, then the largest of the ten decisions."""
    task = load_task("mnist10", run.settings["rows"])
    chosen = run.chosen(NAMES, NAMES[:2])
    for learner, model in _learners().items():
        if done(run, ALL, learner, 0) or (len(chosen) < 10 and all(done(run, n, learner, 0) for n in chosen)):
            continue
        decisions, spent = [], 0.0
        for name in chosen:
            digit = NAMES.index(name)
            y = one_vs_rest(task.y_train, digit)
            _, seconds = timed(model.fit, task.X_train, y)
            spent += seconds
            decisions.append(model.decision_function(task.X_test))
            wrong = error_of(model, task.X_test, one_vs_rest(task.y_test, digit))
            support = len(model.support_)
            add(run, name, learner, 0, error=wrong, support=support, cpu=seconds, kernel=evaluations(model))
        if len(chosen) == 10:
            wrong = float(np.mean(np.argmax(decisions, axis=0) != task.y_test))
            add(run, ALL, learner, 0, error=wrong, cpu=spent)


def report(data: Data) -> str:
    """A table for each digit."""
    rows = data["settings"]["rows"]
    text = f"{rows:,} rows of mnist, pixels from 0 to 1, C = {C}, gamma = {GAMMA}."
    return flat_report(data, "Ten digits", text)
