"""The learners, the grids they are tuned on, and their runs.

Every learner sees the rows once, in the order of the set. Whatever it can be tuned by is chosen together, by
the mean AUC over five folds of the first training part; the other nineteen runs take the choice over.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from time import process_time
from typing import Any

import numpy as np

from .data import FOLDS, Streams

BUDGET = 100  # of each class; learners with a single buffer have twice as much
ETA = 0.01
Parameters = dict[str, float]
# Larger sigmas and smaller constants first: of equals the first, which is the smoothest, is chosen.
SIGMA = [2.0**power for power in range(6, -9, -1)]
PROJECTION = 0.1
GRIDS: dict[str, dict[str, list[float]]] = {
    "RS++": {"sigma": SIGMA, "C": [2.0**power for power in range(-4, 11)]},
    "FIFO++": {"sigma": SIGMA, "C": [2.0**power for power in range(-4, 11)]},
    "Perceptron": {},
    "OAM": {"C": [2.0**power for power in range(-16, 7)]},
    "OPAUC": {},
    "OPAUC, tuned": {
        "eta": [2.0**power for power in range(-14, 1)],
        "alpha": [0, *[2.0**power for power in range(-10, 3, 2)]],
    },
    "NORMA": {"sigma": SIGMA, "C": [2.0**power for power in range(-4, 13)]},
    "NORMA, tuned": {
        "sigma": SIGMA,
        "shrink": [1e-4, 1e-3, 1e-2],  # of all coefficients with every row; KOIL and NORMA above have 0.01
        "rate": [2.0**power for power in range(-6, 7, 2)],
    },
    "RBP": {"sigma": SIGMA},
    "Forgetron": {"sigma": SIGMA},
    "Projectron": {"sigma": SIGMA},
    "Projectron++": {"sigma": SIGMA},
}


def makers() -> dict[str, Callable[[Parameters, int], Any]]:
    """By name, what makes a learner from its parameters and a seed."""
    import everlearn as el

    def gamma(p: Parameters) -> float:
        return 0.5 / p["sigma"] ** 2

    def koil(replacement: str) -> Callable[[Parameters, int], Any]:
        return lambda p, seed: el.KOIL(
            BUDGET,
            replacement,
            n_neighbors=10,
            learning_rate=ETA,
            C=p["C"],
            gamma=gamma(p),
            random_state=seed,
        )

    def buffered(learner: Any, **fixed: Any) -> Callable[[Parameters, int], Any]:
        return lambda p, seed: learner(2 * BUDGET, gamma=gamma(p), random_state=seed, **fixed)

    return {
        "RS++": koil("rs++"),
        "FIFO++": koil("fifo++"),
        "Perceptron": lambda p, seed: el.KernelPerceptron(kernel="linear"),
        "OAM": lambda p, seed: el.OAM(BUDGET, C=p["C"], random_state=seed),
        "OPAUC": lambda p, seed: el.OPAUC(learning_rate=ETA),
        "OPAUC, tuned": lambda p, seed: el.OPAUC(learning_rate=p["eta"], alpha=p["alpha"]),
        "NORMA": lambda p, seed: el.NORMA(
            2 * BUDGET, learning_rate=ETA * p["C"], alpha=1 / p["C"], gamma=gamma(p), random_state=seed
        ),
        "NORMA, tuned": lambda p, seed: el.NORMA(
            2 * BUDGET,
            learning_rate=p["rate"],
            alpha=p["shrink"] / p["rate"],
            gamma=gamma(p),
            random_state=seed,
        ),
        "RBP": buffered(el.RBP),
        "Forgetron": buffered(el.Forgetron),
        "Projectron": buffered(el.Projectron, max_projection_error=PROJECTION),
        "Projectron++": buffered(el.ProjectronPP, max_projection_error=PROJECTION),
    }


def area(y: Any, scores: Any) -> float:
    """AUC; a tie counts one half."""
    from scipy.stats import rankdata

    positive = y > 0
    n = int(positive.sum())
    pairs = n * (len(y) - n)
    if not pairs:
        return 0.5  # a fold with one class, on which all learners are equal
    return float(rankdata(scores)[positive].sum() - n * (n + 1) / 2) / pairs


def one_pass(make: Any, parameters: Parameters, seed: int, train: Any, test: Any) -> float:
    """AUC on `test` after one pass over `train`; one half for a learner that diverges."""
    X, y = train
    try:
        model = make(parameters, seed).partial_fit(X, y, classes=[-1, 1])
    except FloatingPointError:
        return 0.5
    return area(test[1], model.decision_function(test[0]))


def split(X: Any, y: Any, held_out: Any) -> tuple[Any, Any]:
    return (X[~held_out], y[~held_out]), (X[held_out], y[held_out])


def tune(make: Any, grid: dict[str, list[float]], streams: Streams) -> dict[str, Any]:
    """The best point of a grid by cross-validation inside the first training part, and which ends it met."""
    if not grid:
        return {"parameters": {}, "tuning_auc": None, "at_the_end_of_the_grid": []}
    part = streams.tuning_rows
    X, y = streams.X[part], streams.y[part]
    parts = [split(X, y, streams.inner == fold) for fold in range(1, FOLDS + 1)]
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    areas = [
        np.mean([one_pass(make, point, fold, *parts[fold]) for fold in range(FOLDS)]) for point in points
    ]
    best = points[int(np.argmax(areas))]
    return {
        "parameters": best,
        "tuning_auc": round(float(max(areas)), 5),
        "at_the_end_of_the_grid": [
            key for key, values in grid.items() if best[key] in (values[0], values[-1]) and best[key] > 0
        ],
    }


def tune_and_run(
    name: str, streams: Streams, grid: dict[str, list[float]], partitions: int
) -> dict[str, Any]:
    """A learner tuned, and its AUC in each fold of each partition."""
    make = makers()[name]
    start = process_time()
    found = tune(make, grid, streams)
    tuned = process_time()
    aucs = []
    for partition in range(partitions):
        for fold in range(1, FOLDS + 1):
            train, test = split(streams.X, streams.y, streams.folds[:, partition] == fold)
            aucs.append(one_pass(make, found["parameters"], len(aucs), train, test))
    found["auc"] = [round(value, 6) for value in aucs]
    found["cpu_seconds"] = {
        "tuning": round(tuned - start, 2),
        "runs": round(process_time() - tuned, 2),
    }
    return found
