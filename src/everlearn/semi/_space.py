"""Rows under a kernel, all of them, and the similarities within any part of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.validate import Rows
from .._submodular.choice import Floats, Ints, Similarities, StoredSimilarities

OVERFLOW = "Similarities of rows overflow: scale the features (scaling='standard')."


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
        self._last: tuple[Ints, Similarities] | None = None

    def among(self, rows: Ints) -> Similarities:
        """The similarities of some rows to each other, none of them formed; the last answer is kept."""
        if self._last is None or self._last[0] is not rows:
            if self.kernel == "precomputed":
                K: Similarities = StoredSimilarities(self.X[np.ix_(rows, rows)])
            else:
                K = Similarities(self.X[rows], self.kernel, **self.spec)
            self._last = rows, K
        return self._last[1]

    def matrix(self, rows: Ints) -> Floats:
        """The same as a matrix, for few rows."""
        if self.kernel == "precomputed":
            return np.asarray(self.X[np.ix_(rows, rows)])
        everything = np.arange(len(rows))
        K = self.among(rows).block(everything, everything)
        if not np.isfinite(K).all():
            raise ValueError(OVERFLOW)
        return K

    def pull(self, rows: Ints, others: Ints, weights: Floats) -> Floats:
        """Sum the weights of the others by their similarity to each of some rows."""
        if self.kernel == "precomputed":
            return np.asarray(self.X[np.ix_(rows, others)] @ weights)
        X = self.among(rows).X
        return Similarities(self.X[others], self.kernel, **self.spec).times(weights, X)

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
