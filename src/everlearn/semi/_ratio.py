"""Estimate of the fraction of positives among unlabeled rows, from the margins of possible labelings.

W. Emara, thesis (2012), section III.3. Greedy selects the positives one after the other, and every length k
of its path is a labeling. v(k) = ||w||^2 of the SVM on that labeling. One-sided labelings are trivial to
separate, so v is low at both ends. The estimate is the k at which v lies deepest below its maxima on both
sides.

If classes overlap, this minimum may be anywhere, and with more labels the fraction among them is a better
guide. If the labels are a random sample with n+ positives and n- negatives, the fraction lies between
quantiles of Beta(n+ + 1, n- + 1). The estimate is restricted to this interval.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from .._submodular.choice import Floats, Ints, StoredSimilarities
from ._transduce import choice_of_positives, signed

SAMPLE = 2000  # maximum number of labeled and of unlabeled rows used
_GRID, _FINER = 30, 40
_MIN_DEPTH, _MIN_ROWS = 0.05, 10  # relative depth and rows per class of a reliable estimate
_MAX_STEPS = 50_000  # of an SVM: unscaled rows would take too long
_CREDIBLE = 0.95  # probability of the interval from the labels


@dataclass(frozen=True)
class Ratio:
    """A fraction of positives and its reliability.

    Parameters
    ----------
    share : float
        The fraction.
    depth : float
        How much ||w||^2 rises on both sides of it; 0 if there was no estimate.
    reliable : bool
        Whether the minimum is distinct and both classes get at least ten rows.
    """

    share: float
    depth: float
    reliable: bool


def labeled_share(numbers: Ints) -> float:
    """The fraction of positives among labels, shrunk toward one half."""
    return float((np.sum(numbers > 0) + 1) / (len(numbers) + 2))


def depths(v: Floats) -> Floats:
    """The depth of each point below its maxima on both sides (the lower of the two)."""
    left, right = np.maximum.accumulate(v), np.maximum.accumulate(v[::-1])[::-1]
    return np.asarray(np.minimum(left, right) - v)


def smooth(v: Floats) -> Floats:
    """Running median of three; the ends do not change."""
    if len(v) < 3:
        return v
    return np.concatenate([v[:1], np.median([v[:-2], v[1:-1], v[2:]], axis=0), v[-1:]])


def credible_shares(numbers: Ints, credible: float) -> tuple[float, float]:
    """Credible interval of the fraction of positives, if the labels are a random sample."""
    positives = int(np.sum(numbers > 0))
    ends = beta.ppf([(1 - credible) / 2, (1 + credible) / 2], positives + 1, len(numbers) - positives + 1)
    return float(ends[0]), float(ends[1])


def estimate_ratio(
    K: Floats, numbers: Ints, C: float, rho: float, balance: bool = False, credible: float = _CREDIBLE
) -> Ratio:
    """Estimate the fraction of positives among the unlabeled rows.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Similarities of all rows.
    numbers : ndarray of shape (n,)
        0, 1, or -1 for an unlabeled row.
    C, rho : float
        As in `SubmodS3VM`.
    balance : bool, default=False
        Whether both classes have the same influence.
    credible : float, default=0.95
        Probability of the credible interval that bounds the estimate; 1 means no bound.

    Returns
    -------
    Ratio
        The estimate, or the fraction among the labels if there is none.
    """
    L, U = np.flatnonzero(numbers >= 0), np.flatnonzero(numbers < 0)
    n = len(U)
    fallback = Ratio(labeled_share(numbers[L]), 0.0, False)
    if n < 3 or len(np.unique(numbers[L])) < 2:
        return fallback
    inner = K[np.ix_(U, U)]
    sums = K[np.ix_(U, L)] @ signed(numbers[L], balance)
    Cs = rho * C * 2 * len(L) / n
    choice = choice_of_positives(StoredSimilarities(inner), sums, C, Cs, max(0.0, float(inner.max())))
    order = choice.greedy(n).order
    low, high = credible_shares(numbers[L], credible)
    v: dict[int, float] = {}

    def look(ks: Iterable[int]) -> tuple[Ints, Floats, int]:
        for k in set(ks) - set(v):
            labels = np.where(numbers > 0, 1, -1)
            labels[U[order[:k]]] = 1
            v[k] = _squared_norm(K, labels, C)
        seen = np.array(sorted(v))
        depth = depths(smooth(np.array([v[k] for k in seen])))
        depth[(seen < low * n) | (seen > high * n)] = 0
        return seen, depth, int(np.argmax(depth))  # ties: the smallest k

    seen, depth, best = look(_spaced(1, n - 1, _GRID))
    if depth[best] > 0:
        seen, depth, best = look(_spaced(seen[max(best - 1, 0)], seen[min(best + 1, len(seen) - 1)], _FINER))
    k, deep = int(seen[best]), float(depth[best])
    if deep <= 0:
        return fallback
    spread = max(v.values()) - min(v.values())
    return Ratio(k / n, deep, bool(deep >= _MIN_DEPTH * spread and min(k, n - k) >= _MIN_ROWS))


def _spaced(first: int, last: int, points: int) -> list[int]:
    return [int(k) for k in np.unique(np.round(np.linspace(first, last, min(points, last - first + 1))))]


def _squared_norm(K: Floats, labels: Ints, C: float) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # an approximate solution suffices
        machine = SVC(kernel="precomputed", C=C, tol=1e-5, max_iter=_MAX_STEPS).fit(K, labels)
    S, a = machine.support_, machine.dual_coef_[0]
    return float(a @ K[np.ix_(S, S)] @ a)
