"""Plain NumPy estimate of the share of positives among unlabeled rows: the slow twin of ratio="margin".

W. Emara (2012), section III.3. Greedy takes the positives one after the other, and every length k of its
path is a labeling; v(k) = ‖w‖² of the SVM on that labeling. One-sided labelings separate trivially, so
v is low at both ends: the estimate is where v lies deepest below its maxima on both sides.
"""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC

from reference.s3vm import choice_of_positives, default_weight


class Ratio(NamedTuple):
    r: float
    depth: float  # how far ‖w‖² rises on both sides of the estimate
    reliable: bool


def labeled_share(y):
    """The share of positives among the labels, shrunk toward one half."""
    return (np.sum(y > 0) + 1) / (np.count_nonzero(y) + 2)


def depths(v):
    """How far one has to climb from each point to leave it on either side, if there is anything to climb."""
    left, right = np.maximum.accumulate(v), np.maximum.accumulate(v[::-1])[::-1]
    return np.minimum(left, right) - v


def smooth(v):
    """Medians of three; the ends stay."""
    return np.array([v[0], *np.median([v[:-2], v[1:-1], v[2:]], axis=0), v[-1]]) if len(v) > 2 else v


def is_reliable(k, n, depth, spread):
    """A dip that stands out from how much ‖w‖² varies at all, and enough rows of the rarer class."""
    return bool(depth >= 0.05 * spread and min(k, n - k) >= 10)


def squared_norm(K, labels, C):
    machine = SVC(kernel="precomputed", C=C, tol=1e-5).fit(K, labels)
    S, a = machine.support_, machine.dual_coef_[0]
    return float(a @ K[np.ix_(S, S)] @ a)


def estimate_ratio(K, problem, y, C=1.0, Cs=None, points=30, finer=True):
    """From a grid of k, then from all k between the neighbors of the best one on the grid as well."""
    y, U, n = np.asarray(y, float), problem.rows, len(problem.rows)
    fallback = Ratio(float(labeled_share(y)), 0.0, False)
    if n < 3 or not (np.any(y > 0) and np.any(y < 0)):
        return fallback
    Cs = default_weight(y) if Cs is None else Cs
    order = choice_of_positives(problem, C, Cs).lazy(n, Cs**2 * problem.highest).order
    v = {}

    def look(ks):
        for k in set(ks) - set(v):
            labels = y.copy()
            labels[U] = -1
            labels[U[order[:k]]] = 1
            v[k] = squared_norm(K, labels, C)
        ks = np.array(sorted(v))
        depth = depths(smooth(np.array([v[k] for k in ks])))
        return ks, depth, int(np.argmax(depth))  # of equals the smallest k

    ks, depth, best = look(int(k) for k in np.unique(np.round(np.linspace(1, n - 1, points))))
    if finer and depth[best] > 0:
        ks, depth, best = look(range(ks[max(best - 1, 0)], ks[min(best + 1, len(ks) - 1)] + 1))
    k, deep = int(ks[best]), float(depth[best])
    if deep <= 0:
        return fallback
    spread = max(v.values()) - min(v.values())
    return Ratio(k / n, deep, is_reliable(k, n, deep, spread))
