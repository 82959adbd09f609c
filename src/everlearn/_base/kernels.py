"""Kernels as a user names them, and how the rows under them are kept."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .validate import Rows

NATIVE = ("linear", "poly", "rbf", "sigmoid")

# Wide rows with fewer non-zero entries than this are met entry by entry instead of column by column.
# Measured: in a block of rows the two cost the same at a share of about 0.35; a single row, which is what a
# miss of the cache costs, is quicker column by column when rows are narrow. The results are the same bits.
_SPARSE_BELOW = 0.3
_WIDE = 100
_FIRST_ROWS = 4096  # enough to see what rows are like


def resolve_gamma(gamma: Any, X: Rows) -> float:
    """Turn "scale" or "auto" into a number, as scikit-learn does."""
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "scale":
        # From the non-zero entries alone, in the order of the rows, so that dense and sparse rows agree.
        stored = X.data if sparse.issparse(X) else X
        values = stored[stored != 0].astype(np.float64)
        count = X.shape[0] * X.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are refused for their size
            mean = values.sum() / count
            variance = float((np.square(values - mean).sum() + (count - len(values)) * mean**2) / count)
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
    return float(gamma)


def choose_layout(X: Rows) -> str:
    """Dense or sparse, by the width and the zeros of the first rows, whatever they came in."""
    if X.shape[1] < _WIDE:
        return "dense"
    first = X[:_FIRST_ROWS]
    filled = first.count_nonzero() if sparse.issparse(X) else np.count_nonzero(first)
    filled /= max(1, first.shape[0] * first.shape[1])
    return "sparse" if filled < _SPARSE_BELOW else "dense"


def choose_centre(kernel: str, X: Rows) -> npt.NDArray[np.float64]:
    """Return the mean of dense rows that lie far from the origin, compared with how far they lie apart.

    The RBF kernel sees differences only, and a linear machine with a bias learns the same from shifted rows.
    When all rows share a large offset, norms and products lose digits, so that the offset is taken away
    first; empty when there is no need. It is never a row of a linear machine, whose center cannot be changed
    when that row is forgotten.
    """
    if kernel not in ("rbf", "linear") or X.shape[0] == 0:
        return np.zeros(0)
    first = X[:_FIRST_ROWS].toarray() if sparse.issparse(X) else X[:_FIRST_ROWS]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = first.mean(axis=0, dtype=np.float64)
        spread = float(np.mean(np.var(first, axis=0, dtype=np.float64)))
        if kernel == "linear" and (first == mean).all(axis=1).any():
            return np.zeros(0)
        return mean if float(np.mean(mean**2)) > 10 * spread else np.zeros(0)


Ids: TypeAlias = npt.NDArray[np.int64]


class ForeignKernel:
    """The slower door: kernel values come from a callable or a precomputed matrix, block by block.

    The core keeps the kernel matrix of the kept rows, since it cannot compute a value again. A callable also
    needs the kept rows themselves; a precomputed row holds its kernel with every row by row number.
    """

    def __init__(self, kernel: Callable[..., Any] | str) -> None:
        self.kernel = kernel
        self.rows: Rows = None
        self.ids: Ids = np.zeros(0, dtype=np.int64)

    def block(self, X: Rows, ids: Ids, fresh: npt.NDArray[np.intp], kept: Ids) -> npt.NDArray[np.float64]:
        """Kernel of the rows X[fresh] against the kept rows and against each other; other lines are zero."""
        out = np.zeros((X.shape[0], len(kept) + len(fresh)))
        if len(fresh):
            new = X[fresh]
            out[fresh] = np.hstack([self.against(new, kept), self._values(new, new, ids[fresh])])
        return out

    def against(self, X: Rows, kept: Ids) -> npt.NDArray[np.float64]:
        """Kernel of rows against the rows that the core keeps."""
        return self._values(X, self.rows_of(kept), kept) if len(kept) else np.zeros((X.shape[0], 0))

    def own(self, X: Rows, ids: Ids) -> npt.NDArray[np.float64]:
        """The values of rows with themselves."""
        return np.array([self._values(X[[r]], X[[r]], ids[[r]])[0, 0] for r in range(X.shape[0])])

    def rows_of(self, kept: Ids) -> Rows:
        """The rows with these ids; none for a precomputed kernel."""
        if self.rows is None or np.array_equal(kept, self.ids):
            return self.rows
        place = {row_id: at for at, row_id in enumerate(self.ids.tolist())}
        return self.rows[[place[row_id] for row_id in kept.tolist()]]

    def add(self, X: Rows, ids: Ids) -> None:
        """Take rows in before the core does, so that no row of the core's is ever missing here."""
        if callable(self.kernel):
            parts = [X] if self.rows is None else [self.rows, X]
            rows = sparse.vstack(parts, format="csr") if sparse.issparse(X) else np.vstack(parts)
            self.rows, self.ids = rows, np.concatenate([self.ids, ids])

    def keep(self, kept: Ids) -> None:
        """Follow the core, which keeps these rows only."""
        if callable(self.kernel) and self.rows is not None:
            self.rows, self.ids = self.rows_of(kept), kept

    def _values(self, X: Rows, other: Rows, other_ids: Ids) -> npt.NDArray[np.float64]:
        if not callable(self.kernel):
            dense = X.toarray() if sparse.issparse(X) else X
            return self._checked(np.asarray(dense[:, other_ids], dtype=np.float64))
        values = self.kernel(X, other)
        values = np.asarray(values.toarray() if sparse.issparse(values) else values, dtype=np.float64)
        if values.shape != (X.shape[0], other.shape[0]):
            raise ValueError(
                f"The kernel callable returned shape {values.shape} for {X.shape[0]} rows against "
                f"{other.shape[0]}; it must return ({X.shape[0]}, {other.shape[0]})."
            )
        return self._checked(values)

    @staticmethod
    def _checked(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if not np.isfinite(values).all():
            raise ValueError("The kernel has values that are not finite.")
        if values.size and np.abs(values).max() > np.finfo(np.float32).max:
            raise ValueError("The kernel has values above 3e38, which overflow the cache: scale it down.")
        return values
