"""Softmax regression on decision values: a few shared slopes and one bias per class, by Newton's method.

The model is p_k = softmax_k(sum_j slope_j φ_j(s_k) + bias_k), with features φ of the decision value s_k of
class k. The fit maximizes the weighted log-likelihood minus ridge penalties that pull the slopes to their
prior mean and the biases to 0. The objective is strictly concave; slopes are kept non-negative by projection.
J. Platt, "Probabilities for SV machines" (1999); C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of
modern neural networks", ICML 2017, for a slope that all classes share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Chosen on development streams, together: see benchmarks/calibration.py.
_SLOPE_PRIOR = 1.5  # sum of the slopes before any label: log-odds of 3 f for two classes
_SLOPE_RIDGE = 1.0
_BIAS_RIDGE = 20.0
_MOST_STEPS = 20
_TOLERANCE = 1e-3  # of the last step; convergence is quadratic
_SCALE_FREE = 4.0  # scores whose root mean square lies within this factor of 1 are taken as they are
_FARTHEST = 50.0


@dataclass(frozen=True)
class LogitForm:
    """Which terms the logits have.

    Parameters
    ----------
    saturates : bool
        Whether tanh(s) joins s: probabilities rise steeply near the boundary and slowly far from it.
    has_bias : bool
        Whether every class has a bias.
    """

    saturates: bool
    has_bias: bool

    @property
    def prior(self) -> Floats:
        """The slopes before any label."""
        n = 2 if self.saturates else 1
        return np.full(n, _SLOPE_PRIOR / n)

    def features(self, scores: Floats, scale: float) -> Floats:
        """Features of shape (n_slopes, n_rows, n_classes); 0 where there is no score."""
        scaled = np.clip(np.where(np.isnan(scores), 0.0, scores / scale), -_FARTHEST, _FARTHEST)
        return np.stack((scaled, np.tanh(scaled))) if self.saturates else scaled[np.newaxis]

    def proba(self, scores: Floats, scale: float, slopes: Floats, biases: Floats) -> Floats:
        """Probabilities; 0 for a class without a score."""
        logits = np.tensordot(slopes, self.features(scores, scale), 1) + biases
        return softmax(logits, np.isnan(scores))

    def fit(
        self,
        scores: Floats,
        codes: NDArray[np.intp],
        weights: Floats,
        scale: float,
        start: tuple[Floats, Floats],
    ) -> tuple[Floats, Floats]:
        """Slopes and biases for the rows, from a starting point; every row has a score for its class."""
        features, missing = self.features(scores, scale), np.isnan(scores)
        n_slopes, n_rows, n_classes = features.shape
        mean = np.concatenate((self.prior, np.zeros(n_classes)))
        ridge = np.concatenate((np.full(n_slopes, _SLOPE_RIDGE), np.full(n_classes, _BIAS_RIDGE)))
        places = np.arange(n_rows)
        of_label = features[:, places, codes]
        counts = np.bincount(codes, weights, n_classes)
        point = np.concatenate(start)

        def evaluate(at: Floats) -> tuple[float, Floats]:
            logits = np.tensordot(at[:n_slopes], features, 1) + at[n_slopes:]
            logits[missing] = -np.inf
            logits -= logits.max(axis=1, keepdims=True)
            shares = np.exp(logits)
            sums = shares.sum(axis=1)
            likelihood = weights @ (logits[places, codes] - np.log(sums))
            return float(likelihood - 0.5 * ridge @ (at - mean) ** 2), shares / sums[:, np.newaxis]

        value, shares = evaluate(point)
        for _ in range(_MOST_STEPS):
            weighted = weights[:, np.newaxis] * shares
            means = (features * shares).sum(axis=2)  # (n_slopes, n_rows)
            gradient = np.concatenate(((of_label - means) @ weights, counts - weighted.sum(axis=0)))
            gradient -= ridge * (point - mean)
            flat = (features * weighted).reshape(n_slopes, -1)
            hessian = np.diag(ridge)
            hessian[:n_slopes, :n_slopes] += (
                flat @ features.reshape(n_slopes, -1).T - (means * weights) @ means.T
            )
            if self.has_bias:
                cross = flat.reshape(features.shape).sum(axis=1) - means @ weighted
                hessian[:n_slopes, n_slopes:], hessian[n_slopes:, :n_slopes] = cross, cross.T
                hessian[n_slopes:, n_slopes:] += np.diag(weighted.sum(axis=0)) - weighted.T @ shares
            held = (point[:n_slopes] <= 0) & (gradient[:n_slopes] < 0)  # slopes that would become negative
            free = np.flatnonzero(np.concatenate((~held, np.full(n_classes, self.has_bias))))
            step = np.zeros_like(point)
            step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            if np.abs(step).max() < _TOLERANCE:
                point = point + step
                point[:n_slopes] = np.maximum(point[:n_slopes], 0.0)
                break
            moved = self._line_search(evaluate, point, value, step, n_slopes)
            if moved is None:
                break
            point, value, shares = moved
        return point[:n_slopes].copy(), point[n_slopes:].copy()

    @staticmethod
    def _line_search(
        evaluate: Callable[[Floats], tuple[float, Floats]],
        point: Floats,
        value: float,
        step: Floats,
        n_slopes: int,
    ) -> tuple[Floats, float, Floats] | None:
        """The first of the steps 1, 1/2, 1/4, ... that does not lower the objective; None if all do."""
        length = 1.0
        while length > 1e-4:
            at = point + length * step
            at[:n_slopes] = np.maximum(at[:n_slopes], 0.0)
            found, shares = evaluate(at)
            if found >= value:
                return at, found, shares
            length /= 2
        return None


def softmax(logits: Floats, missing: NDArray[np.bool_]) -> Floats:
    """Probabilities from logits; rows in which every class is missing are all NaN."""
    with np.errstate(invalid="ignore"):
        logits = np.where(missing, -np.inf, logits)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def scale_of(scores: Floats, weights: Floats) -> float:
    """What scores are divided by: 1 for margins of an SVM, and for others of about that size.

    The root mean square of the scores, divided by the nearest number from 1/4 to 4.
    """
    known = ~np.isnan(scores)
    total = float(weights @ known.sum(axis=1))
    if not total > 0:
        return 1.0
    squares = (np.where(known, scores, 0.0) ** 2).sum(axis=1)
    spread = float(np.sqrt(weights @ squares / total))
    return spread / min(max(spread, 1 / _SCALE_FREE), _SCALE_FREE) if spread > 1e-100 else 1.0
