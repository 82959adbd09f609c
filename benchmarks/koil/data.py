"""The sets of KOIL's table: rows scaled to the range from 0 to 1, labels, and the folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..harness.data import load
from .paper import SHAPES

PARTITIONS, FOLDS = 4, 5
RAW = "poker, raw"  # as its authors distribute it: suits from 1 to 4, ranks from 1 to 13
NAMES = [*list(SHAPES)[:-1], RAW, "shuttle"]
_FILES = {"satimage": "koil_satimage_sub", RAW: "koil_poker"}
_SHUTTLE_POSITIVE = 3  # the class with 132 of the 43,500 rows


@dataclass
class Streams:
    """A set: its rows in the order in which they are learned, and who tests what.

    Attributes
    ----------
    X, y : ndarray
        Rows and labels, -1 and 1.
    folds : ndarray of shape (n_samples, 4)
        The fold, from 1 to 5, in which a row is tested, for each partition.
    inner : ndarray
        The fold, from 1 to 5, of each row that is not in fold 1 of the first partition: what is tuned on.
    source : str
        Where the folds and the inner folds come from.
    """

    X: Any
    y: Any
    folds: Any
    inner: Any
    source: str

    @property
    def tuning_rows(self) -> Any:
        """Which rows parameters may be chosen on: the first training part."""
        return self.folds[:, 0] != 1


def shape_of(name: str) -> tuple[int, int, int]:
    return SHAPES[base(name)]


def base(name: str) -> str:
    """The set in the paper that a line is to be compared with."""
    return "poker" if name == RAW else name


def rows_of(name: str, most: int | None = None) -> Streams:
    """A set, or for a trial at most so many of its rows, spread evenly."""
    if name == "shuttle":
        data = load("shuttle")
        X, y = data.X_train, np.where(data.y_train == _SHUTTLE_POSITIVE, 1, -1)
        folds, inner, source = _own_partitions(y), None, "own"
    else:
        data = load(_FILES.get(name, f"koil_{name}"))
        X, y, folds = data.X, data.y, data.extras["fold_cv"]
        inner, source = data.extras.get("fold_asso"), "the authors'"
    shape = (*X.shape, int((y > 0).sum()))
    if shape != shape_of(name):
        raise ValueError(f"{name} has {shape} rows, features and positives; the paper has {shape_of(name)}.")
    X = X.astype(np.float64)
    if name != RAW:
        low, high = X.min(axis=0), X.max(axis=0)
        X = (X - low) / np.where(high > low, high - low, 1)
    if most is not None and len(y) > most:
        rare, common = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
        rare = rare[:: -(-len(rare) * 4 // most)] if len(rare) * 4 > most else rare
        chosen = np.sort(np.r_[rare, common[:: -(-len(common) // (most - len(rare)))]])
        X, y, folds, inner, source = X[chosen], y[chosen], folds[chosen], None, f"{source}, some rows only"
    streams = Streams(X, y, folds, None, source)
    part = streams.tuning_rows
    if inner is None:
        streams.inner = _own_folds(y[part], seed=PARTITIONS)
        streams.source += "; inner folds own"
    else:
        streams.inner = inner[: int(part.sum()), 0]  # where the authors' program has those of fold 1
    return streams


def _own_folds(y: Any, seed: int) -> Any:
    from sklearn.model_selection import StratifiedKFold

    folds = np.zeros(len(y), dtype=int)
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y)
    for number, (_, test) in enumerate(parts, start=1):
        folds[test] = number
    return folds


def _own_partitions(y: Any) -> Any:
    return np.column_stack([_own_folds(y, seed) for seed in range(PARTITIONS)])
