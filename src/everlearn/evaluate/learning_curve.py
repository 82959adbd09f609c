"""The error of a learner that still learns, estimated from all checks so far, and what more labels bring.

A check is a row drawn at random that the learner predicted before it learned its label. The last checks alone
are too few, and the mean over all of them is that of older, worse models. So the error is modeled as a power
of the number n of labels:

    error(n) = error(now) (now / n)^b,   0 <= b <= 2,

never above that of guessing. Both error(now) and b are unknown: the posterior is computed on a grid, with
Jeffreys' prior Beta(1/2, 1/2) for error(now) and a prior proportional to exp(-b) for b. b = 0 is a learner
that no longer improves. Checks of a learner with less than a fifth of the labels are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .intervals import CONFIDENCE

Array = NDArray[np.float64]

_EARLIEST = 0.2  # of the labels: earlier checks say nothing about the present
_MAX_GROUPS = 40  # of checks with nearly the same number of labels
_QUANTILES = (np.arange(300) + 0.5) / 300
_ERRORS: Array = np.sin(np.pi / 2 * _QUANTILES) ** 2  # equally likely under Jeffreys' prior
_EXPONENTS: Array = np.linspace(0.0, 2.0, 21)


class LearningCurve:
    """The posterior of the present error and of the exponent.

    Parameters
    ----------
    labels : sequence of float
        The number of labels that the learner had at each check, in increasing order.
    wrong : sequence of float
        Whether the prediction was wrong: 0, 1, or a fraction if several people labeled the row.
    now : float
        The number of labels now, at least that of the last check.
    n_classes : int, default=2
        The number of classes.

    Examples
    --------
    >>> from everlearn.evaluate.learning_curve import LearningCurve
    >>> labels = list(range(10, 1010, 10))
    >>> wrong = [k % 3 == 0 if k < 20 else k % 10 == 0 for k in range(100)]
    >>> value, low, high = LearningCurve(labels, wrong, 1000).accuracy()
    >>> bool(low < value < high), round(value, 2)
    (True, 0.92)
    """

    def __init__(
        self, labels: Sequence[float], wrong: Sequence[float], now: float, n_classes: int = 2
    ) -> None:
        self.now = max(1.0, float(now))
        times = np.maximum(1.0, np.asarray(labels, dtype=np.float64))
        errors = np.asarray(wrong, dtype=np.float64)
        kept = times >= _EARLIEST * self.now
        groups = np.array_split(np.flatnonzero(kept), min(_MAX_GROUPS, max(1, int(kept.sum()))))
        weights = np.repeat(-_EXPONENTS[:, np.newaxis], len(_ERRORS), axis=1)
        guessing = 1.0 - 1.0 / max(2, n_classes)
        for group in (group for group in groups if len(group)):
            time, n_wrong = float(times[group].mean()), float(errors[group].sum())
            growth = (self.now / time) ** _EXPONENTS[:, np.newaxis]
            expected = np.maximum(np.minimum(_ERRORS * growth, guessing), _ERRORS)
            weights += n_wrong * np.log(expected) + (len(group) - n_wrong) * np.log1p(-expected)
        weights = np.exp(weights - weights.max())
        self._weights: Array = weights / weights.sum()

    def accuracy(self) -> tuple[float, float, float]:
        """The accuracy now: its mean, and the bounds of its interval at 95 %."""
        shares = self._weights.sum(axis=0)
        high, low = (_ERRORS[_place(shares, (1 + side * CONFIDENCE) / 2)] for side in (-1, 1))
        return 1 - float(shares @ _ERRORS), 1 - float(low), 1 - float(high)

    def gain(self, more: float, quantile: float) -> tuple[float, float]:
        """The accuracy that ``more`` labels add: its mean, and a quantile of it."""
        falls = 1 - (1 + more / self.now) ** -_EXPONENTS
        gains = (falls[:, np.newaxis] * _ERRORS).ravel()
        order, weights = np.argsort(gains), self._weights.ravel()
        return float(weights @ gains), float(gains[order][_place(weights[order], quantile)])


def _place(shares: Array, quantile: float) -> int:
    """The first place at which the cumulated shares reach a quantile."""
    return min(int(np.searchsorted(np.cumsum(shares), quantile)), len(shares) - 1)
