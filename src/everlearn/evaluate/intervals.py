"""Confidence intervals of accuracies, at 95 %."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
_Z = 1.959963984540054

Array = NDArray[np.float64]


def wilson(accuracy: Any, n: Any) -> tuple[Array, Array]:
    """Wilson's interval of accuracies that were each measured on n rows; NaN where n is.

    Parameters
    ----------
    accuracy : array-like
        Fractions of correct rows.
    n : array-like
        The numbers of rows, above 0.

    Returns
    -------
    tuple of (ndarray, ndarray)
        The lower and the upper bounds.

    Examples
    --------
    >>> from everlearn.evaluate.intervals import wilson
    >>> lower, upper = wilson(27 / 28, 28)
    >>> round(float(lower), 3), round(float(upper), 3)
    (0.823, 0.994)
    """
    p, count = np.asarray(accuracy, dtype=np.float64), np.asarray(n, dtype=np.float64)
    middle = (p + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z / (1 + _Z**2 / count) * np.sqrt(p * (1 - p) / count + _Z**2 / (4 * count**2))
    return middle - half, middle + half


def gain_over_majority(confusion: Any) -> tuple[float, float, float]:
    """How much more accurate a classifier is than the answer "always the most frequent class".

    Parameters
    ----------
    confusion : array-like of shape (n_classes, n_classes)
        Counts as ``confusion[true][predicted]``, at least one.

    Returns
    -------
    tuple of (float, float, float)
        The difference of both accuracies on these rows, and its lower and upper bound: the interval for
        paired proportions of A. Agresti, Y. Min, Statistics in Medicine 24 (2005), 729-740.

    Examples
    --------
    >>> from everlearn.evaluate.intervals import gain_over_majority
    >>> gain, lower, upper = gain_over_majority([[90, 10], [20, 80]])
    >>> round(gain, 2), round(lower, 2), round(upper, 2)
    (0.35, 0.27, 0.43)
    """
    counts = np.asarray(confusion, dtype=np.float64)
    most = int(counts.sum(axis=1).argmax())
    n, lost = float(counts.sum()), float(counts[most].sum() - counts[most, most])
    won = float(np.trace(counts) - counts[most, most])
    gain, many = (won - lost) / n, n + 2
    middle = (won - lost) / many
    half = _Z * math.sqrt(max(won + lost + 1 - (won - lost) ** 2 / many, 0.0)) / many
    return gain, middle - half, middle + half
