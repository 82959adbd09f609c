"""Partly missing labels: conversion to classes and class numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from .._base import constraints
from .._base.validate import Array, label_column, missing_labels

Ints = npt.NDArray[np.int64]

UNKNOWN = -1  # class number of a missing label


def read_labels(y: Any, unlabeled: Any, rows: int) -> tuple[Array, Ints]:
    """Return the classes, and for each row the number of its class or `UNKNOWN`.

    A label is missing if it is None, NaN, another library's missing value, or equals ``unlabeled``.
    """
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    y = label_column(y)
    if len(y) != rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {rows} rows, {len(y)} labels.")
    missing = unknown_labels(y, unlabeled)
    known = y[~missing]
    if len(known) == 0:
        raise ValueError(
            "y has no label at all: at least one row of each class needs one. A missing label is None, NaN "
            f"or the value of the parameter 'unlabeled', here {unlabeled!r}."
        )
    if known.dtype == object:
        known = _label_array(known.tolist())
    if known.dtype.kind == "f" and np.isinf(known).any():
        raise ValueError("Input y contains infinity.")
    check_classification_targets(known)
    classes, numbers = np.unique(known, return_inverse=True)
    found = np.full(rows, UNKNOWN, dtype=np.int64)
    found[~missing] = numbers
    return np.asarray(classes), found


def unknown_labels(y: Array, unlabeled: Any) -> npt.NDArray[np.bool_]:
    """Which labels are missing, or equal ``unlabeled``."""
    missing = missing_labels(y)
    if missing_labels(np.array([unlabeled], dtype=object))[0]:
        return missing
    if y.dtype == object:
        return missing | np.array([_equal(label, unlabeled) for label in y.tolist()], dtype=np.bool_)
    return missing | (y == unlabeled if isinstance(unlabeled, str) == (y.dtype.kind == "U") else False)


def add_classes(classes: Array, numbers: Ints, shares: Any, unlabeled: Any) -> tuple[Array, Ints]:
    """Add classes that occur only in a dict of class fractions: unlabeled rows may belong to them."""
    if not isinstance(shares, Mapping):
        return classes, numbers
    named, known = list(shares), classes.tolist()
    column = np.empty(len(named), dtype=object)
    column[:] = named
    if (wrong := np.flatnonzero(unknown_labels(column, unlabeled))).size:
        raise ValueError(
            f"positive_fraction has a fraction for {named[wrong[0]]!r}, which is not a label, because "
            f"unlabeled={unlabeled!r}: remove it."
        )
    for label, share in shares.items():
        if not constraints.is_real(share):
            raise ValueError(f"positive_fraction must map labels to numbers, got {share!r} for {label!r}.")
    left_out = [label for label in known if label not in shares]
    if left_out:
        raise ValueError(f"positive_fraction has no fraction for {left_out[0]!r}, which is a label in y.")
    more = [label for label in named if label not in known]
    if not more:
        return classes, numbers
    everything = np.unique(_label_array([*known, *more]))
    places = np.searchsorted(everything, _label_array(known))
    return everything, np.where(numbers == UNKNOWN, UNKNOWN, places[numbers])


def _label_array(labels: list[Any]) -> Array:
    """An array of strings or of numbers; ValueError for a mix of both."""
    texts = sum(isinstance(label, str) for label in labels)
    if 0 < texts < len(labels):
        raise ValueError("y, or the keys of positive_fraction, mix strings with labels of another kind.")
    return np.array(labels)


def _equal(label: Any, other: Any) -> bool:
    return isinstance(label, str) == isinstance(other, str) and bool(label == other)
