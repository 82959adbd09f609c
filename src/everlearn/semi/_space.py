"""Rows under a kernel, all of them, and the similarities within any part of them."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from .._choice import Floats, Ints, Similarities, StoredSimilarities
from .._kernels import resolve_gamma
from .._validate import Rows

_LINEAR_FROM = 50  # features from which rows lie far apart whatever they are: the linear kernel tells most
_SAMPLE = 1000


def choose_kernel(kernel: str, X: Rows) -> str:
    """Resolve "auto": linear for many features or sparse rows, else RBF."""
    if kernel != "auto":
        return kernel
    return "linear" if sparse.issparse(X) or X.shape[1] >= _LINEAR_FROM else "rbf"


def choose_gamma(gamma: Any, kernel: str, X: Rows, random: np.random.RandomState) -> float:
    """Resolve "median": half of the inverse of the median squared distance between rows of a sample.

    Kernels that do not see distances have "scale" instead.
    """
    if gamma != "median" or kernel != "rbf":
        return resolve_gamma("scale" if gamma == "median" else gamma, X)
    rows = X if X.shape[0] <= _SAMPLE else X[np.sort(random.permutation(X.shape[0])[:_SAMPLE])]
    squares = euclidean_distances(rows, squared=True)[np.triu_indices(rows.shape[0], 1)]
    median = float(np.median(squares)) if len(squares) else 0.0
    return 1 / (2 * median) if median > 1e-12 else 1.0


class Space:
    """Rows and a kernel.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows; the kernel matrix where the kernel is "precomputed".
    kernel : str
        The kernel.
    **spec
        Its parameters, threads and progress, as `Similarities` takes them.
    """

    def __init__(self, X: Rows, kernel: str, **spec: Any) -> None:
        self.X, self.kernel, self.spec = X, kernel, spec

    def among(self, rows: Ints) -> Similarities:
        """The similarities of some rows to each other, none of them formed."""
        if self.kernel == "precomputed":
            return StoredSimilarities(self.X[np.ix_(rows, rows)])
        return Similarities(self.X[rows], self.kernel, **self.spec)

    def matrix(self, rows: Ints) -> Floats:
        """The same as a matrix, for few rows."""
        if self.kernel == "precomputed":
            return np.asarray(self.X[np.ix_(rows, rows)])
        everything = np.arange(len(rows))
        return self.among(rows).block(everything, everything)

    def pull(self, rows: Ints, others: Ints, weights: Floats) -> Floats:
        """Sum the weights of the others by their similarity to each of some rows."""
        if self.kernel == "precomputed":
            return np.asarray(self.X[np.ix_(rows, others)] @ weights)
        return self.among(others).times(weights, self.X[rows])

    def highest(self, K: Similarities) -> float:
        """No two of these rows are more similar than this, or 0: the bound that laziness rests on."""
        if len(K) == 0:
            return 0.0
        if isinstance(K, StoredSimilarities):
            return max(0.0, float(K.K.max()))
        if self.kernel == "poly":  # of either sign, and maybe not positive semi-definite
            squares: npt.NDArray[Any] = Similarities(K.X, "linear").diagonal
            _, gamma, coef0, degree = K.spec
            return float((gamma * squares.max() + abs(coef0)) ** degree)
        return 1.0 if self.kernel in ("rbf", "sigmoid") else float(K.diagonal.max())
