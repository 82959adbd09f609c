"""Sets of support vectors: how far apart two of them are, and how well one lies on the boundary.

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

_VALUES_AT_ONCE = 1 << 22  # distances held in memory


def support_set_distance(A: Any, B: Any) -> float:
    """How far apart two sets of support vectors are.

    The mean distance from a row of A to the nearest row of B, plus the same the other way, plus the Hausdorff
    distance, which is the largest of all these. Euclidean, and not free of scale: a value means something
    only together with the scaling of the features.

    Parameters
    ----------
    A, B : array-like or sparse matrix of shape (n_rows, n_features)
        The two sets, as rows.

    Returns
    -------
    float
        0 or above; 0 only if the two are equal as sets. The order of A and B does not matter.

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
    # The mean of equal numbers may exceed them in the last digit; sums rounded once do not depend on order.
    means = math.fsum(there) / len(there) + math.fsum(back) / len(back)
    return means + max(float(there.max()), float(back.max()))


def support_confidence(S: Any, T: Any, y_T: Any, k: int | None = None) -> float:
    """How evenly the classes mix around support vectors: 1 if they lie where the boundary must be.

    For each support vector the labels of its k nearest rows in T are counted. With two classes the
    confidence is the mean of 2 min(k+, k-) / k; with K classes that of K / (K - 1) times the share of the
    neighbors which are not of their most frequent class, which is the same for two.

    Parameters
    ----------
    S : array-like or sparse matrix of shape (n_SV, n_features)
        The support vectors.
    T : array-like or sparse matrix of shape (n_rows, n_features)
        Rows with labels.
    y_T : array-like of shape (n_rows,)
        Their labels.
    k : int, default=None
        Number of neighbors, at most n_rows. None is the square root of n_SV, rounded. Odd numbers cannot
        reach a confidence of 1 with two classes, and with 1 it is always 0. Of rows at the same distance the
        first are the nearest.

    Returns
    -------
    float
        Between 0 and 1: 1 if every support vector has as many neighbors of each class, 0 if none has
        neighbors of two classes.

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
        raise ValueError(f"k must be an integer of 1 or above, or None, got {k!r}.")
    if len(classes) < 2:
        return 0.0
    k = min(round(math.sqrt(S.shape[0])) if k is None else int(k), rows)
    one_of = (labels[:, np.newaxis] == np.arange(len(classes))).astype(np.float64)
    mixed = 0  # neighbors that are not of their most frequent class
    for part in _parts(S, rows):
        counts = _nearest(_distances(part, T), k) @ one_of
        mixed += int((k - counts.max(axis=1)).sum())
    share: float = len(classes) * mixed / ((len(classes) - 1) * S.shape[0] * k)
    return share


def _pair(A: Any, B: Any, *names: str) -> tuple[Any, Any]:
    """Both sets as float64 rows, dense or CSR, equally wide."""
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
    """A cut into parts whose distances to ``width`` rows fit in memory."""
    step = max(1, _VALUES_AT_ONCE // width)
    return [A[start : start + step] for start in range(0, A.shape[0], step)]


def _distances(A: Any, B: Any) -> Floats:
    """Squared distances; rows that are equal get equal numbers, so that ties are ties.

    Dense rows are subtracted. Sparse ones are multiplied, since differences of theirs are not sparse.
    """
    if not sparse.issparse(A):
        return np.asarray(cdist(A, B, "sqeuclidean"))
    products = np.asarray((A @ B.T).todense())
    return np.asarray(np.maximum(_norms(A)[:, np.newaxis] - 2 * products + _norms(B), 0))


def _norms(A: Any) -> Floats:
    return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()


def _to_nearest(A: Any, B: Any) -> Floats:
    """Distance from each row of A to the nearest of B, from the difference of the two."""
    nearest = np.concatenate([_distances(part, B).argmin(axis=1) for part in _parts(A, B.shape[0])])
    difference = A - B[nearest]
    if sparse.issparse(difference):
        return np.sqrt(_norms(difference))
    return np.asarray(np.sqrt(np.square(difference).sum(axis=1)))


def _nearest(distances: Floats, k: int) -> npt.NDArray[np.bool_]:
    """Mark the k nearest in each line; of those tied for the last places the first."""
    last = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = distances < last, distances == last
    return np.asarray(nearer | (tied & (tied.cumsum(axis=1) <= k - nearer.sum(axis=1, keepdims=True))))
