"""How rows are scaled before they are compared: learnt in `fit`, the same for every row that comes later.

Similarities add up, so that a feature with large values, or a row of great length, would speak for all. With
columns centred and rows of length 1 that is settled; centring a sparse matrix would fill it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._validate import Rows

_LARGEST = 1e150  # of a feature: squares of larger ones overflow


@dataclass(frozen=True)
class Scaling:
    """A shift and a divisor of each column, none if empty, and whether rows are brought to length 1."""

    mean: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]
    unit: bool

    @classmethod
    def learn(cls, X: Rows, how: str) -> "Scaling":
        """Learn "auto", "unit" or "none" from rows."""
        if how != "auto" or sparse.issparse(X):
            return cls(np.zeros(0), np.zeros(0), how != "none")
        check_size(X)
        mean = X.mean(axis=0, dtype=np.float64)
        spread = X.std(axis=0, dtype=np.float64)
        constant = spread <= 1e-12 * np.abs(X).max(axis=0, initial=0)  # but for rounding
        return cls(mean, np.where(constant, 1.0, spread), True)

    def apply(self, X: Rows) -> Rows:
        """Scale rows, as doubles; a row of zeros stays one."""
        check_size(X)
        if len(self.mean):
            dense = X.toarray() if sparse.issparse(X) else X
            X = (dense - self.mean) / self.spread
        X = X.astype(np.float64, copy=False)
        if sparse.issparse(X):
            X = sparse.csr_matrix(X)
            if X.indices.dtype != np.int32 and X.nnz < 2**31 and X.shape[1] < 2**31:
                parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
                X = sparse.csr_matrix(parts, shape=X.shape)
        if not self.unit:
            return X
        squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
        length = np.sqrt(np.asarray(squares, dtype=np.float64).ravel())
        inverse = 1 / np.where(length > 0, length, 1.0)
        if sparse.issparse(X):
            data = X.data * np.repeat(inverse, np.diff(X.indptr))
            return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        return X * inverse[:, np.newaxis]

    def state(self) -> dict[str, Any]:
        """What `Scaling` is made from, by name."""
        return {"mean": self.mean, "spread": self.spread, "unit": self.unit}


def check_size(X: Rows) -> None:
    """Refuse values of which squares overflow."""
    largest = float(abs(X).max()) if min(X.shape) else 0.0
    if largest > _LARGEST:
        raise ValueError(f"X has a value of {largest:.3g}, whose square overflows: scale the features.")
