"""How much the multipliers of an exact RBF SVM change when a row joins, against the distance of the row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..harness.data import load, one_vs_rest, standardized
from ..harness.run import Data, Run
from .common import add, done, flat_report

SETS = {
    "australian": 1, "breast_cancer_wisconsin": 1, "diabetes": 1, "fourclass": 1, "german_numer": 1,
    "heart_statlog": 1, "ionosphere": 1, "segment": 1, "sonar": 1, "svmguide1": 1, "vehicle": 0,
}  # fmt: skip
NAMES = tuple(SETS)
KEPT, ADDED = 300, 60
C = 10.0
EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, np.inf)
WIDTHS = {"sigma 1": 1.0, "sigma 1/2": 0.5, "sigma 1/4": 0.25}  # times the median distance of two rows
LIMIT = 0.15  # of C: the change that the thesis calls negligible


def _rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = load(name)
    order = np.random.default_rng(seed).permutation(len(data.y))[: KEPT + ADDED]
    (X,) = standardized(np.asarray(data.X, float)[order])
    return X, one_vs_rest(np.asarray(data.y)[order], SETS[name])


def _changes(X: np.ndarray, y: np.ndarray, count: int, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances in units of sigma, and absolute changes of alpha / C, of all support vectors and new rows."""
    from everlearn import IDSVM

    sigma = width * float(np.median(np.linalg.norm(X[:100, None] - X[None, :100], axis=2)))
    kept = len(y) - count
    model = IDSVM(C, gamma=0.5 / sigma**2, n_jobs=1).fit(X[:kept], y[:kept])
    distances, changes = [], []
    for new in range(kept, kept + count):
        before = _multipliers(model, len(y))
        model.partial_fit(X[new : new + 1], y[new : new + 1])
        after = _multipliers(model, len(y))
        if after[new] == 0:
            continue  # the thesis looks at rows that become support vectors
        places = np.flatnonzero((before > 0) | (after > 0))
        places = places[places != new]
        distances.append(np.linalg.norm(X[places] - X[new], axis=1) / sigma)
        changes.append(np.abs(after[places] - before[places]) / C)
    return np.concatenate(distances), np.concatenate(changes)


def _multipliers(model: Any, rows: int) -> np.ndarray:
    found = np.zeros(rows)
    found[np.asarray(model.support_)] = np.abs(np.ravel(model.dual_coef_))
    return found


def run_part(run: Run) -> None:
    """All sets: the mean change within rings of distance, and how many changes are large."""
    for name in run.chosen(NAMES, NAMES[:1]):
        for seed in range(run.settings["seeds"]):
            X, y = _rows(name, seed)
            for learner, width in WIDTHS.items():
                if not done(run, name, learner, seed):
                    count = min(10 if run.quick else ADDED, len(y) // 4)
                    add(run, name, learner, seed, **_summary(*_changes(X, y, count, width)))


def _summary(distances: np.ndarray, changes: np.ndarray) -> dict[str, float | None]:
    rings = {
        f"ring_{low:g}": float(changes[inside].mean())
        for low, high in pairwise(EDGES)
        if (inside := (distances >= low) & (distances < high)).sum() >= 20
    }
    within, beyond = changes[distances <= 1], changes[distances > 1]
    return rings | {
        "mean_within": float(within.mean()) if len(within) else None,
        "mean_beyond": float(beyond.mean()) if len(beyond) else None,
        "large_beyond": float(np.mean(beyond > LIMIT)) if len(beyond) else None,
        "rank_correlation": _rank_correlation(distances, changes),
    }


def _rank_correlation(distances: np.ndarray, changes: np.ndarray) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(distances, changes).statistic)


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        "Mean |change of alpha| / C of the support vectors by distance in units of sigma, which is a "
        "multiple "
        f"of the median distance of two rows; C = {C:g}, at most {KEPT} rows and one more; large: more than "
        f"{LIMIT} of C, beyond one sigma."
    )
    return flat_report(data, "Locality of an RBF SVM", text)
