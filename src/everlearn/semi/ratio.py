"""The share of positives among unlabeled rows, read from the margins that labelings of them allow.

W. Emara, thesis (2012), section III.3. Greedy takes the positives one after the other, and every length k of
its path is a labeling; v(k) = ||w||^2 of the SVM on that labeling. One-sided labelings separate trivially,
so that v is low at both ends: the estimate is where v lies deepest below its maxima on both sides.

Where classes overlap that may be anywhere, and the more labels there are, the more they know themselves.
Taken for a random sample, n+ and n- of them leave the share between quantiles of Beta(n+ + 1, n- + 1), and
the estimate is looked for there.
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

SAMPLE = 2000  # rows of each kind that are looked at
_GRID, _FINER = 30, 40
_SHALLOW, _FEW = 0.05, 10
_MOST_STEPS = 50_000  # of an SVM: rows that were not scaled would take for ever
_CREDIBLE = 0.95  # of what the labels leave possible


@dataclass(frozen=True)
class Ratio:
    """A share of positives and what speaks for it.

    Parameters
    ----------
    share : float
        The share.
    depth : float
        How far ||w||^2 rises on both sides of it; 0 where there was no estimate.
    reliable : bool
        Whether that stands out, and both classes get at least ten rows.
    """

    share: float
    depth: float
    reliable: bool


def labeled_share(numbers: Ints) -> float:
    """The share of positives among labels, shrunk toward one half."""
    return float((np.sum(numbers > 0) + 1) / (len(numbers) + 2))


def depths(v: Floats) -> Floats:
    """How far one has to climb from each point to leave it on either side, if there is anything to climb."""
    left, right = np.maximum.accumulate(v), np.maximum.accumulate(v[::-1])[::-1]
    return np.asarray(np.minimum(left, right) - v)


def smooth(v: Floats) -> Floats:
    """Medians of three; the ends stay."""
    if len(v) < 3:
        return v
    return np.concatenate([v[:1], np.median([v[:-2], v[1:-1], v[2:]], axis=0), v[-1:]])


def credible_shares(numbers: Ints, credible: float) -> tuple[float, float]:
    """Between which shares of positives labels leave it, with such a probability, if they are a sample."""
    positives = int(np.sum(numbers > 0))
    ends = beta.ppf([(1 - credible) / 2, (1 + credible) / 2], positives + 1, len(numbers) - positives + 1)
    return float(ends[0]), float(ends[1])


def estimate_ratio(
    K: Floats, numbers: Ints, C: float, rho: float, balance: bool = False, credible: float = _CREDIBLE
) -> Ratio:
    """Estimate the share of positives among the rows without a label.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Similarities of all rows.
    numbers : ndarray of shape (n,)
        0, 1, or -1 for a row without a label.
    C, rho : float
        As in `SubmodS3VM`.
    balance : bool, default=False
        Likewise.
    credible : float, default=0.95
        The probability with which labels bound the estimate; 1 is no bound.

    Returns
    -------
    Ratio
        The estimate, or the labeled share where there is none.
    """
    L, U = np.flatnonzero(numbers >= 0), np.flatnonzero(numbers < 0)
    n = len(U)
    fallback = Ratio(labeled_share(numbers[L]), 0.0, False)
    if n < 3 or len(np.unique(numbers[L])) < 2:
        return fallback
    inner = K[np.ix_(U, U)]
    pull = K[np.ix_(U, L)] @ signed(numbers[L], balance)
    Cs = rho * C * 2 * len(L) / n
    choice = choice_of_positives(StoredSimilarities(inner), pull, C, Cs, max(0.0, float(inner.max())))
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
        return seen, depth, int(np.argmax(depth))  # of equals the smallest k

    seen, depth, best = look(_spaced(1, n - 1, _GRID))
    if depth[best] > 0:
        seen, depth, best = look(_spaced(seen[max(best - 1, 0)], seen[min(best + 1, len(seen) - 1)], _FINER))
    k, deep = int(seen[best]), float(depth[best])
    if deep <= 0:
        return fallback
    spread = max(v.values()) - min(v.values())
    return Ratio(k / n, deep, bool(deep >= _SHALLOW * spread and min(k, n - k) >= _FEW))


def _spaced(first: int, last: int, points: int) -> list[int]:
    return [int(k) for k in np.unique(np.round(np.linspace(first, last, min(points, last - first + 1))))]


def _squared_norm(K: Floats, labels: Ints, C: float) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # nearly solved is enough to find a minimum
        machine = SVC(kernel="precomputed", C=C, tol=1e-5, max_iter=_MOST_STEPS).fit(K, labels)
    S, a = machine.support_, machine.dual_coef_[0]
    return float(a @ K[np.ix_(S, S)] @ a)
