"""Mean and standard deviation of features over all rows of a stream, in one pass.

Of two sets of rows with means m, m' and sums of squared deviations S, S', the union has the mean
(n m + n' m') / (n + n') and S + S' + (m - m')^2 n n' / (n + n') (Chan, Golub, LeVeque, 1979).
"""

from typing import Any

import numpy as np
from scipy import sparse

from .._base import checked
from .._base.validate import Rows
from ..store.events import Floats


class RunningMoments:
    """The number of rows, and the mean and the sum of squared deviations of each feature."""

    def __init__(self) -> None:
        self.n = 0
        self.mean: Floats = np.zeros(0)
        self.squares: Floats = np.zeros(0)

    def add(self, X: Rows) -> None:
        """Add rows."""
        n = X.shape[0]
        if n == 0:
            return
        if self.n == 0:
            self.mean, self.squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        squares: Any = 0.0
        if sparse.issparse(X):
            mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
            squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() - n * mean**2
        elif n == 1:
            mean = X[0]
        else:
            mean = np.asarray(X.mean(axis=0), dtype=np.float64)
            squares = np.square(X - mean).sum(axis=0)
        apart, total = mean - self.mean, self.n + n
        self.squares = self.squares + np.maximum(squares, 0) + apart**2 * (self.n * n / total)
        self.mean, self.n = self.mean + apart * (n / total), total

    @property
    def scale(self) -> Floats:
        """The standard deviation of each feature."""
        return np.asarray(np.sqrt(self.squares / max(self.n, 1)))

    def state(self) -> dict[str, Any]:
        """The moments as plain values, for `from_state`."""
        return {"n": self.n, "mean": self.mean, "squares": self.squares}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "RunningMoments":
        """Create moments from their `state`."""
        moments = cls()
        moments.n = checked.integer("n", state["n"])
        moments.mean = checked.floats("mean", state["mean"], (None,))
        moments.squares = checked.floats("squares", state["squares"], moments.mean.shape, least=0.0)
        return moments
