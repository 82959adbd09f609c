"""Plain NumPy labels for unlabeled rows by submodular choice: the slow twin of SubmodS3VM.

W. Emara (2012), chapter III. y is −1, +1, or 0 where the label is unknown. The k positives A ⊂ U maximize

    D(A) = C C* Σ_{j∈A} s_j − C*²/2 Σ_{j∈A, j'∈U∖A} K_jj',        s_j = Σ_{i∈L} y_i K_ij

which is `reference.submodular` with q = C*²/2 and w_j = C C* s_j − C*²/2 Σ_{j'∈U} K_jj'.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from reference.similarities import Linear, Stored
from reference.submodular import Choice, largest


def scale_rows(X, columns="standardize", unit=True):
    """Columns "standardize", "center" or "keep" (CSR: always); then rows of length 1, but for zeros."""
    if not sparse.issparse(X):
        X = np.asarray(X, float)
        X = X - X.mean(0) if columns != "keep" else X
        spread = X.std(0) if columns == "standardize" else np.ones(X.shape[1])
        X = X / np.where(spread > 0, spread, 1)
    length = np.sqrt(Linear(X).diagonal()) if unit else np.ones(X.shape[0])
    length = np.where(length > 0, length, 1)
    return sparse.csr_matrix(sparse.diags(1 / length) @ X) if sparse.issparse(X) else X / length[:, None]


def count_positives(r, n, both=True):
    """r n rounded half up; with `both`, each class gets a row if there are two."""
    k = int(np.floor(r * n + 0.5))
    return int(np.clip(k, 1, n - 1)) if both and n > 1 else int(np.clip(k, 0, n))


def default_weight(y, rho=1.0, C=1.0):
    """C* that makes the weight of labels C C* l and that of clusters C*² n/2 equal, times rho."""
    return rho * C * 2 * np.count_nonzero(y) / max(1, np.count_nonzero(y == 0))


def weighted(y, balance=False):
    """Labels as weights: with `balance` each class weighs as much as half of all labels."""
    y = np.asarray(y, float)
    if not balance:
        return y
    count = np.where(y > 0, np.sum(y > 0), np.sum(y < 0))
    return y * np.count_nonzero(y) / (2 * np.maximum(count, 1))


class Unlabeled(NamedTuple):
    rows: np.ndarray  # the numbers of the rows without a label
    K: object  # their similarities
    s: np.ndarray  # the label score of each
    highest: float  # no similarity of two of them is above this


def from_matrix(K, y, balance=False):
    K, y, U = np.asarray(K, float), weighted(y, balance), np.flatnonzero(np.asarray(y) == 0)
    inner = K[np.ix_(U, U)]
    return Unlabeled(U, Stored(inner), (y @ K)[U], inner.max(initial=0))


def from_rows(X, y, balance=False):
    """Linear kernel, dense or CSR, no kernel matrix: s_j = ⟨x_j, Σ_i y_i x_i⟩, and K_ij ≤ max_j ‖x_j‖²."""
    y, U = weighted(y, balance), np.flatnonzero(np.asarray(y) == 0)
    inner = Linear(X[U])
    return Unlabeled(U, inner, inner.X @ (X.T @ y), inner.diagonal().max(initial=0))


def choice_of_positives(problem, C, Cs):
    t = problem.K.times(np.ones(len(problem.rows)))
    return Choice(problem.K, C * Cs * problem.s - Cs**2 / 2 * t, Cs**2 / 2)


def choose_positives(problem, k, method, C, Cs, swaps=False):
    """The k positives, as places in `problem.rows`."""
    choice, h = choice_of_positives(problem, C, Cs), Cs**2 * max(problem.highest, 0.0)
    return {
        "greedy": lambda: np.sort(np.array(choice.lazy(k, h).order, int)),
        "two-sided": lambda: choice.two_sided(k, h, swaps),
        "fast": lambda: choice.linearize(largest(problem.s, k), k),  # no greedy at all
        "labels": lambda: largest(problem.s, k),  # C* → 0: the label scores alone
        "exact": lambda: choice.best(k),
    }[method]()


def transduce(problem, y, r, method="two-sided", C=1.0, Cs=None, both=True):
    """All labels: the given ones, and for the others −1 or +1; 0 for all if not one label is given."""
    y = np.array(y, float)
    if not y.any():
        return y
    n = len(problem.rows)
    A = choose_positives(
        problem, count_positives(r, n, both), method, C, default_weight(y) if Cs is None else Cs
    )
    y[problem.rows] = np.where(np.isin(np.arange(n), A), 1, -1)
    return y


def linear_rule(X, y, labels, C, Cs):
    """The direction v whose largest ⟨x_j, v⟩ are the positives once linearizing has come to rest."""
    U = np.flatnonzero(np.asarray(y) == 0)
    return X.T @ (C * Cs * np.asarray(y)) + Cs**2 * (X[U].T @ ((labels[U] > 0) - 0.5))
