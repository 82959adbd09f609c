"""The data sets: generated ones, and those of EVERLEARN_DATA."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.data import dense, load

REPORTED = ("blobs", "moons", "spambase", "satimage")
CHOSEN_ON = ("overlap", "islands", "svmguide1", "segment")
GENERATED = ("overlap", "islands", "blobs", "moons")
POOL, TEST = 1500, 1500


def names(settings: dict[str, Any]) -> tuple[str, ...]:
    """The data sets of a run."""
    return CHOSEN_ON if settings.get("develop") else REPORTED


def rows_of(name: str, seed: int) -> tuple[np.ndarray, list[str]]:
    """Rows in random order and their labels, at most 3,000."""
    from sklearn import datasets

    n = POOL + TEST
    if name == "overlap":  # two classes whose best accuracy is below 1
        X, y = datasets.make_classification(
            n, 8, n_informative=4, n_redundant=2, flip_y=0.05, class_sep=0.8, random_state=seed
        )
    elif name == "islands":  # three classes, two clusters each
        X, y = datasets.make_classification(
            n,
            6,
            n_informative=5,
            n_redundant=0,
            n_classes=3,
            n_clusters_per_class=2,
            flip_y=0,
            random_state=seed,
        )
    elif name == "blobs":  # four classes
        X, y = datasets.make_blobs(n, 5, centers=4, cluster_std=3.0, random_state=seed + 7)
    elif name == "moons":
        X, y = datasets.make_moons(n, noise=0.3, random_state=seed)
    else:
        found = load(name)
        X, y = dense(found.X), np.asarray(found.y)
    order = np.random.default_rng(seed).permutation(len(y))[:n]
    return X[order], [f"c{label}" for label in np.asarray(y)[order]]


def as_csv(X: np.ndarray) -> bytes:
    """Rows as an uploaded file."""
    head = ",".join(f"x{k}" for k in range(X.shape[1]))
    return "\n".join([head, *(",".join(f"{value:.8g}" for value in row) for row in X), ""]).encode()
