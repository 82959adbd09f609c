"""Sets of support vectors: the distance between two sets, and how close a set lies to the class boundary.

P. Mitra, C. A. Murthy, S. K. Pal, "A Probabilistic Active Support Vector Learning Algorithm", IEEE
Transactions on Pattern Analysis and Machine Intelligence 26 (2004), equations (6) and (7).
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import check_array, column_or_1d

__all__ = ["support_confidence", "support_set_distance"]

Floats = npt.NDArray[np.float64]

_MAX_DISTANCES = 1 << 22  # distances in memory at a time


def support_set_distance(A: Any, B: Any) -> float:
    """Distance between two sets of support vectors.

    The mean distance from a row of A to the nearest row of B, plus the same from B to A, plus the Hausdorff
    distance, which is the maximum of these distances. Distances are Euclidean, so the value depends on the
    scaling of the features.

    Parameters
    ----------
    A, B : array-like or sparse matrix of shape (n_rows, n_features)
        The two sets, as rows.

    Returns
    -------
    float
        Non-negative; 0 only if A and B are equal as sets. Symmetric in A and B.

    References
    ----------
    P. Mitra, C. A. Murthy, S. K. Pal, *A Probabilistic Active Support Vector Learning Algorithm*, 2004.

    Examples
    --------
    >>> from everlearn.metrics.support_sets import support_set_distance
    >>> support_set_distance([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0]])  # 1/2 + 0 + 1
    1.5
    """
    A, B = _pair(A, B, "A", "B")
    there, back = _to_nearest(A, B), _to_nearest(B, A)
    # A plain sum depends on the order of the rows, and the mean of equal numbers may exceed them in the last
    # digit. fsum rounds only once.
    means = math.fsum(there) / len(there) + math.fsum(back) / len(back)
    return means + max(float(there.max()), float(back.max()))


def support_confidence(S: Any, T: Any, y_T: Any, k: int | None = None) -> float:
    """How evenly the classes mix around the support vectors: 1 if they lie on the class boundary.

    For each support vector the labels of its k nearest rows in T are counted. With two classes the
    confidence is the mean of 2 min(k+, k-) / k. With K classes it is the mean of K / (K - 1) times the
    fraction of neighbors outside the majority class, which is the same for K = 2.

    Parameters
    ----------
    S : array-like or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    T : array-like or sparse matrix of shape (n_rows, n_features)
        Labeled rows.
    y_T : array-like of shape (n_rows,)
        Labels of the rows in T.
    k : int, default=None
        Number of neighbors, at most n_rows. None is the square root of n_SV, rounded. With two classes and an
        odd k the confidence is always below 1; with k = 1 it is always 0. Ties in the distance are broken by
        row order.

    Returns
    -------
    float
        Between 0 and 1: 1 if every support vector has equally many neighbors of each class, 0 if the
        neighbors of every support vector are of a single class.

    References
    ----------
    P. Mitra, C. A. Murthy, S. K. Pal, *A Probabilistic Active Support Vector Learning Algorithm*, 2004.

    Examples
    --------
    >>> from everlearn.metrics.support_sets import support_confidence
    >>> T, y_T = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> support_confidence([[0.0]], T, y_T, k=2)
    1.0
    >>> support_confidence([[0.0], [5.0]], T, y_T, k=2)
    0.5
    """
    S, T = _pair(S, T, "S", "T")
    classes, labels = np.unique(column_or_1d(y_T), return_inverse=True)
    rows = T.shape[0]
    if len(labels) != rows:
        raise ValueError(f"T and y_T must have the same length, got {rows} and {len(labels)}.")
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be a positive integer or None, got {k!r}.")
    if len(classes) < 2:
        return 0.0
    k = min(round(math.sqrt(S.shape[0])) if k is None else int(k), rows)
    one_hot = (labels[:, np.newaxis] == np.arange(len(classes))).astype(np.float64)
    n_minority = 0  # neighbors outside the majority class of their neighborhood
    for part in _parts(S, rows):
        counts = _nearest(_distances(part, T), k) @ one_hot
        n_minority += int((k - counts.max(axis=1)).sum())
    confidence: float = len(classes) * n_minority / ((len(classes) - 1) * S.shape[0] * k)
    return confidence


def _pair(A: Any, B: Any, *names: str) -> tuple[Any, Any]:
    """Both sets as float64 matrices with the same number of features, both dense or both CSR."""
    A, B = (
        check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
        for X, name in zip((A, B), names, strict=True)
    )
    if A.shape[1] != B.shape[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same number of features, got {A.shape[1]} and "
            f"{B.shape[1]}."
        )
    if sparse.issparse(A) != sparse.issparse(B):
        A, B = sparse.csr_matrix(A), sparse.csr_matrix(B)
    return A, B


def _parts(A: Any, width: int) -> list[Any]:
    """Split A into parts whose distances to ``width`` rows fit in memory."""
    step = max(1, _MAX_DISTANCES // width)
    return [A[start : start + step] for start in range(0, A.shape[0], step)]


def _distances(A: Any, B: Any) -> Floats:
    """Squared distances. Equal rows get exactly equal distances, so that ties are exact.

    Dense rows are subtracted. For sparse rows ‖a‖² - 2 a·b + ‖b‖² is used, since pairwise differences would
    be dense.
    """
    if not sparse.issparse(A):
        return np.asarray(cdist(A, B, "sqeuclidean"))
    products = np.asarray((A @ B.T).todense())
    return np.asarray(np.maximum(_norms(A)[:, np.newaxis] - 2 * products + _norms(B), 0))


def _norms(A: Any) -> Floats:
    return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()


def _to_nearest(A: Any, B: Any) -> Floats:
    """Distance from each row of A to the nearest row of B, computed from their difference."""
    nearest = np.concatenate([_distances(part, B).argmin(axis=1) for part in _parts(A, B.shape[0])])
    difference = A - B[nearest]
    if sparse.issparse(difference):
        return np.sqrt(_norms(difference))
    return np.asarray(np.sqrt(np.square(difference).sum(axis=1)))


def _nearest(distances: Floats, k: int) -> npt.NDArray[np.bool_]:
    """Mask of the k smallest distances in each row; ties are broken by column order."""
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < last, distances == last
    return np.asarray(nearer | (tied & (tied.cumsum(axis=1) <= k - nearer.sum(axis=1, keepdims=True))))
