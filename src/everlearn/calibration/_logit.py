"""Softmax regression on decision values, by Newton's method.

The model is p_k = softmax_k(sum_j shared_j φ_j(s_k) + slope_k s_k + bias_k), with features φ of the decision
value s_k of class k. The fit maximizes the weighted log-likelihood minus ridge penalties, which pull the
shared slopes to their prior mean and the class-specific slopes and biases to 0. The objective is strictly
concave. Shared slopes are kept non-negative by projection.

J. Platt, "Probabilities for SV machines" (1999); C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of
modern neural networks", ICML 2017, for a slope that all classes share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PRIOR = 1.5  # prior mean of the sum of the shared slopes: log-odds of 3 f for two classes
_MAX_STEPS = 20
_TOLERANCE = 1e-3  # for the size of the last step; convergence is quadratic
_NO_SCALING = 4.0  # scores are not scaled if their root mean square is within this factor of 1
MAX_SCALED = 50.0  # scaled scores are clipped to this magnitude


@dataclass(frozen=True)
class Ridges:
    """Ridge penalties: how strongly parameters are pulled to their prior, in units of rows.

    Parameters
    ----------
    shared : float
        For the slopes that all classes share.
    bias : float
        For the bias of each class.
    slope : float
        For the slope of each class that adds to the shared ones.
    """

    shared: float
    bias: float
    slope: float


# Chosen on development streams and data sets (benchmarks/calibration/). In a stream old rows fade, so its
# effective number of rows is smaller.
STREAM = Ridges(shared=1.0, bias=20.0, slope=5.0)
TABLE = Ridges(shared=0.2, bias=0.5, slope=0.5)


@dataclass(frozen=True)
class LogitForm:
    """Which terms the logits have.

    Parameters
    ----------
    saturates : bool
        Whether tanh(s) joins s: probabilities rise steeply near the boundary and slowly far from it.
    per_class : bool
        Whether every class has its own bias and slope; two classes share the slope.
    """

    saturates: bool
    per_class: bool

    @property
    def prior(self) -> Floats:
        """The shared slopes before any label is known."""
        n = 2 if self.saturates else 1
        return np.full(n, _PRIOR / n)

    def features(self, scores: Floats, scale: float, complete: bool = False) -> Floats:
        """Features of shape (n_shared, n_rows, n_classes), the scaled scores first; 0 for missing scores."""
        scaled = np.minimum(np.maximum(scores / scale, -MAX_SCALED), MAX_SCALED)
        if not complete:
            scaled[np.isnan(scaled)] = 0.0
        return np.array((scaled, np.tanh(scaled))) if self.saturates else scaled[np.newaxis]

    def proba(
        self, scores: Floats, scale: float, shared: Floats, own: Floats, complete: bool = False
    ) -> Floats:
        """Probabilities; 0 for a class without a score. `own` has the biases and slopes of the classes.

        ``complete`` says that no score is missing: it saves looking.
        """
        if scores.shape == (1, 2) and (pair := self._proba_of_pair(scores, scale, shared, own)) is not None:
            return pair
        features = self.features(scores, scale, complete)
        logits = _combine(shared, features) + own[0] + own[1] * features[0]
        return softmax(logits, None if complete else np.isnan(scores))

    def _proba_of_pair(self, scores: Floats, scale: float, shared: Floats, own: Floats) -> Floats | None:
        """`proba` for a row of two scores, bit for bit; None if one is missing."""
        first, second = scores[0].tolist()
        if first != first or second != second:
            return None
        scaled = [min(max(value / scale, -MAX_SCALED), MAX_SCALED) for value in (first, second)]
        slopes, (biases, own_slopes) = shared.tolist(), own.tolist()
        logits = [slopes[0] * value for value in scaled]
        if self.saturates:
            flat = np.tanh(np.array(scaled)).tolist()
            logits = [logit + slopes[1] * value for logit, value in zip(logits, flat, strict=True)]
        logits = [
            logit + bias + slope * value
            for logit, bias, slope, value in zip(logits, biases, own_slopes, scaled, strict=True)
        ]
        most = max(logits)
        left, right = np.exp(np.array((logits[0] - most, logits[1] - most))).tolist()
        return np.array(((left / (left + right), right / (left + right)),))

    def fit(
        self,
        scores: Floats,
        codes: NDArray[np.intp],
        weights: Floats,
        scale: float,
        start: tuple[Floats, Floats],
        ridges: Ridges,
    ) -> tuple[Floats, Floats]:
        """Fit the shared slopes and the biases and slopes of the classes, from the starting point `start`.

        Every row must have a score for its own class.
        """
        features, missing = self.features(scores, scale), np.isnan(scores)
        complete = not missing.any()
        n_shared, n_rows, k = features.shape
        n_own = 2 if self.per_class else 0  # biases and slopes of the classes
        n_free = n_shared + n_own * k  # the others stay as they are
        may_move = np.repeat((True, k > 2), (n_free - k, k)) if n_own else np.ones(n_free, dtype=np.bool_)
        mean = np.concatenate((self.prior, np.zeros(2 * k)))
        ridge = np.repeat((ridges.shared, ridges.bias, ridges.slope), (n_shared, k, k))
        places = np.arange(n_rows)
        own = np.stack((np.ones_like(features[0]), features[0]))[:n_own]
        of_label = features[:, places, codes]
        sums = np.concatenate(
            [np.zeros(0), *(np.bincount(codes, weights * part[places, codes], k) for part in own)]
        )
        point = np.concatenate((start[0], start[1].ravel()))

        def evaluate(at: Floats) -> tuple[float, Floats]:
            bias, slope = at[n_shared:].reshape(2, k)
            logits = _combine(at[:n_shared], features) + bias + slope * features[0]
            if not complete:
                logits[missing] = -np.inf
            logits -= _row_max(logits)[:, np.newaxis]
            shares = np.exp(logits)
            totals = _row_sums(shares)
            likelihood = weights @ (logits[places, codes] - np.log(totals))
            return float(likelihood - 0.5 * ridge @ (at - mean) ** 2), shares / totals[:, np.newaxis]

        value, shares = evaluate(point)
        for _ in range(_MAX_STEPS):
            weighted = weights[:, np.newaxis] * shares
            means = _row_sums(features * shares)  # (n_shared, n_rows)
            own_weighted = own * weighted
            expected = _column_sums(own_weighted).ravel()
            gradient = np.concatenate(((of_label - means) @ weights, sums - expected))
            gradient -= ridge[:n_free] * (point - mean)[:n_free]
            held = np.zeros(n_free, dtype=np.bool_)  # shared slopes at 0 that would become negative
            held[:n_shared] = (point[:n_shared] <= 0) & (gradient[:n_shared] < 0)
            free = np.flatnonzero(may_move & ~held)
            hessian = np.diag(ridge[:n_free])
            hessian += _curvature(features, own, shares, weighted, own_weighted, means, weights)
            step = np.zeros_like(point)
            step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            if np.abs(step).max() < _TOLERANCE:
                point = point + step
                point[:n_shared] = np.maximum(point[:n_shared], 0.0)
                break
            moved = self._line_search(evaluate, point, value, step, n_shared)
            if moved is None:
                break
            point, value, shares = moved
        return point[:n_shared].copy(), point[n_shared:].reshape(2, k).copy()

    @staticmethod
    def _line_search(
        evaluate: Callable[[Floats], tuple[float, Floats]],
        point: Floats,
        value: float,
        step: Floats,
        n_shared: int,
    ) -> tuple[Floats, float, Floats] | None:
        """The first step length of 1, 1/2, 1/4, ... that does not lower the objective; None if all do."""
        length = 1.0
        while length > 1e-4:
            at = point + length * step
            at[:n_shared] = np.maximum(at[:n_shared], 0.0)
            found, shares = evaluate(at)
            if found >= value:
                return at, found, shares
            length /= 2
        return None


def _combine(shared: Floats, features: Floats) -> Floats:
    """The sum of the features times their shared slopes."""
    first = shared[0] * features[0]
    return first if len(shared) == 1 else np.asarray(first + shared[1] * features[1])


def _curvature(
    features: Floats,
    own: Floats,
    shares: Floats,
    weighted: Floats,
    own_weighted: Floats,
    means: Floats,
    weights: Floats,
) -> Floats:
    """The negative Hessian of the log-likelihood; `own` has the features of biases and slopes, or none."""
    n_shared, n_rows, k = features.shape
    n_free = n_shared + len(own) * k
    found = np.empty((n_free, n_free))
    flat = features.reshape(n_shared, -1)
    found[:n_shared, :n_shared] = (flat * weighted.ravel()) @ flat.T - (means * weights) @ means.T
    if not len(own):
        return found
    of_class = own_weighted.transpose(1, 0, 2).reshape(n_rows, -1)  # (n_rows, 2 k)
    unweighted = (own * shares).transpose(1, 0, 2).reshape(n_rows, -1)
    together = -of_class.T @ unweighted
    diagonal = np.arange(k)
    weight, mixed = _column_sums(own_weighted)
    together[diagonal, diagonal] += weight
    together[diagonal, k + diagonal] += mixed
    together[k + diagonal, diagonal] += mixed
    together[k + diagonal, k + diagonal] += _column_sums(own[1] * own[1] * weighted)
    found[n_shared:, n_shared:] = together
    cross = np.stack([_column_sums(own * (feature * weighted)).ravel() for feature in features])
    cross -= means @ of_class
    found[:n_shared, n_shared:], found[n_shared:, :n_shared] = cross, cross.T
    return found


def _row_max(values: Floats) -> Floats:
    """The maximum over the last axis; NumPy is slow where it has two entries."""
    two = values.shape[-1] == 2
    return np.asarray(np.maximum(values[..., 0], values[..., 1]) if two else values.max(axis=-1))


def _row_sums(values: Floats) -> Floats:
    """The sums over the last axis."""
    two = values.shape[-1] == 2
    return np.asarray(values[..., 0] + values[..., 1] if two else values.sum(axis=-1))


def _column_sums(values: Floats) -> Floats:
    """The sums over the rows of each (n_rows, n_classes) part; NumPy's own are slow for few classes."""
    return np.asarray(np.einsum("...rk->...k", values))


def softmax(logits: Floats, missing: NDArray[np.bool_] | None) -> Floats:
    """Softmax without missing classes; NaN in rows where all classes are missing."""
    if missing is not None and missing.any():
        with np.errstate(invalid="ignore"):
            logits = np.where(missing, -np.inf, logits)
            logits = logits - _row_max(logits)[:, np.newaxis]
    else:
        logits = logits - _row_max(logits)[:, np.newaxis]
    shares = np.exp(logits)
    return np.asarray(shares / _row_sums(shares)[:, np.newaxis])


def scale_of(scores: Floats, weights: Floats) -> float:
    """The divisor of scores: 1 if their size is similar to the margins of an SVM.

    It is the root mean square of the scores divided by the nearest number in [1/4, 4].
    """
    known = ~np.isnan(scores)
    total = float(weights @ known.sum(axis=1))
    if not total > 0:
        return 1.0
    squares = _row_sums(np.where(known, scores, 0.0) ** 2)
    rms = float(np.sqrt(weights @ squares / total))
    return rms / min(max(rms, 1 / _NO_SCALING), _NO_SCALING) if rms > 1e-100 else 1.0
