"""Accuracy and support vectors of hinge and ramp loss, online and offline, on the nine sets of the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..harness.data import dense, load, one_vs_rest, standardized
from ..harness.run import Data, Run
from .common import add, done, flat_report, timed

MOST_ROWS, TEST_ROWS = 2_000, 4_000  # IDSVM keeps every row
GRID: dict[str, list[float]] = {"C": [0.1, 1, 10, 100], "gamma": [0.25, 1, 4, 16]}  # gamma times 1 / features
GRID_ROWS = 800
GENERATED = ("checkerboard", "NCheckerboard", "Gauss", "waveform")
STORED = {  # file, labels that are positive; of usps the round digits
    "adult": ("a9a", [1]),
    "banana": ("banana", [1]),
    "cover": ("covtype", [2]),
    "DNA": ("dna", [2]),
    "usps": ("usps", [0, 3, 6, 8, 9]),
}
NAMES = (*GENERATED, *STORED)
LEARNERS = ("SVC", "IDSVM", "KernelPA", "OnlineSVMR", "OnlineSVMR, asks in the ramp")


@dataclass(frozen=True)
class Drawn:
    """Standardized rows to learn and to test on, labels -1 and 1."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def _made(name: str, rows: int, seed: int) -> tuple[np.ndarray, ...]:
    from everlearn import datasets

    if name == "waveform":
        (X, y), (X_test, y_test) = (
            datasets.make_waveform(n, random_state=2 * seed + k) for k, n in enumerate((rows, TEST_ROWS))
        )
        return X, one_vs_rest(y, y.min()), X_test, one_vs_rest(y_test, y.min())
    make = datasets.make_gaussians if name == "Gauss" else datasets.make_checkerboard
    noise = 0.15 if name == "NCheckerboard" else 0.0
    X, y = make(rows, label_noise=noise, random_state=2 * seed)
    return X, y, *make(TEST_ROWS, random_state=2 * seed + 1)


def draw(name: str, rows: int, seed: int) -> Drawn:
    """A set by its name; stored ones are drawn without their split."""
    if name in GENERATED:
        X, y, X_test, y_test = _made(name, rows, seed)
    else:
        stored, positive = STORED[name]
        data = load(stored)
        order = np.random.default_rng(seed).permutation(len(data.y))[: rows + TEST_ROWS]
        labels = np.where(np.isin(data.y[order], positive), 1, -1)
        features = dense(data.X[order])
        X, X_test, y, y_test = features[:rows], features[rows:], labels[:rows], labels[rows:]
    X, X_test = standardized(X, X_test)
    return Drawn(X, y, X_test, y_test)


@cache
def parameters(name: str, loss: str) -> dict[str, float]:
    """C and gamma by 3-fold cross-validation on a draw of its own, for each of the two losses."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    from everlearn import RampSVM

    rows = draw(name, GRID_ROWS, seed=99)
    grid = {"C": GRID["C"], "gamma": [g / rows.X.shape[1] for g in GRID["gamma"]]}
    model = SVC() if loss == "hinge" else RampSVM()
    return dict(GridSearchCV(model, grid, cv=3).fit(rows.X, rows.y).best_params_)


def _learn(learner: str, name: str, rows: Drawn, seed: int) -> tuple[Any, int]:
    """The model and the number of labels that it read."""
    from sklearn.svm import SVC

    from everlearn import IDSVM, KernelPA, OnlineSVMR, query

    found = parameters(name, "ramp" if learner.startswith("OnlineSVMR") else "hinge")
    C, gamma = found["C"], found["gamma"]
    if learner == "OnlineSVMR, asks in the ramp":
        model = OnlineSVMR(C, gamma=gamma, n_jobs=1)
        return model, len(query.learn_stream(model, query.RampRegion(), rows.X, rows.y, classes=[-1, 1]))
    models = {
        "SVC": lambda: SVC(C=C, gamma=gamma).fit(rows.X, rows.y),
        "IDSVM": lambda: IDSVM(C, gamma=gamma, n_jobs=1).partial_fit(rows.X, rows.y, classes=[-1, 1]),
        "KernelPA": lambda: KernelPA(C=C, gamma=gamma, n_jobs=1).partial_fit(rows.X, rows.y, classes=[-1, 1]),
        "OnlineSVMR": lambda: OnlineSVMR(C, gamma=gamma, n_jobs=1).partial_fit(
            rows.X, rows.y, classes=[-1, 1]
        ),
    }
    return models[learner](), len(rows.y)


def run_part(run: Run) -> None:
    """All sets, learners and draws."""
    rows_wanted = min(run.settings["rows"], MOST_ROWS)
    for name in run.chosen(NAMES, ("Gauss", "waveform")):
        for seed in range(run.settings["seeds"]):
            rows = draw(name, rows_wanted, seed)
            for learner in LEARNERS:
                if done(run, name, learner, seed):
                    continue
                parameters(name, "hinge"), parameters(name, "ramp")  # not timed
                (model, labels), seconds = timed(_learn, learner, name, rows, seed)
                accuracy = float(model.score(rows.X_test, rows.y_test))
                support = len(model.support_)
                add(run, name, learner, seed, accuracy=accuracy, support=support, asked=labels, cpu=seconds)


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        f"At most {MOST_ROWS:,} rows, standardized; C and gamma by cross-validation on {GRID_ROWS} other "
        "rows, of SVC for the hinge loss and of RampSVM for the ramp loss. `asked`: labels read."
    )
    return flat_report(data, "Hinge and ramp loss, online and offline", text)
