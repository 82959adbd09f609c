"""Plain NumPy exemplars of unlabeled rows (EXMP): the slow twin of Exemplars.

W. Emara (2012), chapter IV. Of the unlabeled rows U choose M that maximize

    F(E) = Σ_{j∈E} (λ2 Σ_{i∈L} K_ij + λ3 Σ_{j'∈U} K_jj' + λ4 Σ_{j'∈N} K_jj') − λ1 Σ_{j,j'∈E} K_jj'

near to labeled rows, where rows are dense, unlike each other; N are the rows of the next batch, if any.
λ2 = 0 and λ3 = 2M/n is kernel herding: MMD² = mean(K) − F(E)/M². Labeled rows are kept anyway.
"""

from typing import NamedTuple

import numpy as np

from reference.qp_s3vm import ascend
from reference.submodular import Choice, largest


class Weights(NamedTuple):
    apart: float = 1.0  # λ1
    labeled: float = 1.0  # λ2
    dense: float = 1.0  # λ3
    ahead: float = 0.0  # λ4


def default_weights(M, n, n_next=0, theta=0.5):
    """λ2 = λ3 = max(1, 2M/n): dense regions first while M is small, herding from M = n/2 on.

    With a next batch of n_next rows the density is that of the mixture of both, theta the share of the next.
    """
    base = max(1.0, 2 * M / max(n, 1))
    theta = theta if n_next else 0.0
    return Weights(1.0, base, (1 - theta) * base, theta * base * n / max(n_next, 1))


def choice_of_exemplars(K_UU, K_LU, weights, K_NU=None):
    """The choice, and h: K ≥ 0 makes F submodular by itself, so that the largest −2 λ1 K_ij is a bound."""
    K_UU = np.asarray(K_UU, float)
    w = weights.labeled * np.sum(K_LU, axis=0) + weights.dense * K_UU.sum(axis=1)
    if K_NU is not None:
        w = w + weights.ahead * np.sum(K_NU, axis=0)
    apart = K_UU[~np.eye(len(K_UU), dtype=bool)]
    return Choice(K_UU, w, -weights.apart), -2 * weights.apart * min(apart, default=0.0)


def exemplars(K_UU, K_LU, M, weights=None, K_NU=None, by="greedy"):
    """The rows chosen: by greedy in the order taken; by QP the M largest entries of the convex solution."""
    K_UU = np.asarray(K_UU, float)
    M = min(M, len(K_UU))
    if weights is None:
        weights = default_weights(M, len(K_UU), 0 if K_NU is None else len(K_NU))
    choice, h = choice_of_exemplars(K_UU, K_LU, weights, K_NU)
    return choice.lazy(M, h).order if by == "greedy" else list(largest(ascend(choice, M)[0], M))


def keep_labeled(K_LL, y, most):
    """At most so many labeled rows of each class: the exemplars of the class among themselves."""
    kept = []
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        inner = np.asarray(K_LL)[np.ix_(rows, rows)]
        kept += list(rows if len(rows) <= most else rows[exemplars(inner, inner[:0], most)])
    return sorted(int(row) for row in kept)
