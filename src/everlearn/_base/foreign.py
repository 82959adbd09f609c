"""Kernels that the core cannot compute: a callable, or a precomputed matrix."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .validate import Rows

Ids: TypeAlias = npt.NDArray[np.int64]


class ForeignKernel:
    """Kernel values from a callable or a precomputed matrix, block by block.

    The core keeps the kernel matrix of the kept rows, since it cannot compute a value again. A callable also
    needs the kept rows themselves; a precomputed row holds its kernel values with every row, by row number.
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
        """Add rows before the core does, so that every row of the core is here."""
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
            raise ValueError(
                "The kernel has values above 3e38, which overflow the cache: scale the kernel down."
            )
        return values
