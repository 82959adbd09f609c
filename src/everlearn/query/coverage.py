"""Coverage: the distance of rows to all rows asked about."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

Distances = npt.NDArray[np.float64]

_BLOCK = 1_000_000  # distances computed at once: 8 MB
_ROUNDING = 1e-14


class NoDistances(ValueError):
    """Rows are not finite numbers, so that distances between them are not defined."""


class Coverage:
    """Keeps the rows asked about, and computes the distance of other rows to them.

    For a row far from every row asked about, a model can only guess, however confident it looks.

    Parameters
    ----------
    max_rows : int, default=1000
        The maximum number of rows kept. The oldest are dropped first: memory is bounded on a stream, and
        regions that have not been asked about for long count as new again.

    Examples
    --------
    >>> from everlearn.query import Coverage
    >>> coverage = Coverage()
    >>> coverage.add([[0.0, 0.0], [4.0, 0.0]])
    >>> coverage.distances([[1.0, 0.0], [4.0, 3.0]])
    array([1., 9.])
    """

    def __init__(self, max_rows: int = 1000) -> None:
        if isinstance(max_rows, bool) or not isinstance(max_rows, int | np.integer) or max_rows < 1:
            raise ValueError(f"max_rows must be an integer of 1 or above, got {max_rows!r}.")
        self.max_rows = int(max_rows)
        self._parts: list[Any] = []
        self._count = 0

    def __len__(self) -> int:
        return min(self._count, self.max_rows)

    def add(self, rows: Any) -> None:
        """Add rows asked about.

        Parameters
        ----------
        rows : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.
        """
        rows = numeric(rows)
        if rows.shape[0] == 0:
            return
        if self._parts and self._parts[0].shape[1] != rows.shape[1]:
            raise ValueError(
                f"rows must have {self._parts[0].shape[1]} features, as those before, got {rows.shape[1]}."
            )
        self._parts.append(rows.copy())
        self._count += rows.shape[0]
        if self._count >= 2 * self.max_rows:
            self._merge()

    def distances(self, rows: Any) -> Distances:
        """Compute the squared Euclidean distance of each row to the nearest row added; changes nothing.

        Parameters
        ----------
        rows : array-like or sparse matrix of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The distances; infinite before rows have been added.
        """
        rows = numeric(rows)
        found = np.full(rows.shape[0], np.inf)
        return nearest(rows, self._rows(), found) if self._count else found

    def state(self) -> dict[str, Any]:
        """Return the state for `from_state`: plain values and arrays.

        Returns
        -------
        dict
            The state.
        """
        return {"max_rows": self.max_rows, "rows": self._rows() if self._count else None}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Coverage":
        """Restore an object from its state.

        Parameters
        ----------
        state : dict
            What `state` returned.

        Returns
        -------
        Coverage
            An object that continues as the other would have.
        """
        coverage = cls(state["max_rows"])
        if state["rows"] is not None:
            coverage.add(state["rows"])
        return coverage

    def _rows(self) -> Any:
        """The rows kept, oldest first."""
        if any(sparse.issparse(part) for part in self._parts):
            whole = sparse.vstack(self._parts, format="csr")
        else:
            whole = self._parts[0] if len(self._parts) == 1 else np.concatenate(self._parts)
        return whole[-self.max_rows :]

    def _merge(self) -> None:
        self._parts = [self._rows()]
        self._count = self._parts[0].shape[0]


def nearest(rows: Any, others: Any, so_far: Distances) -> Distances:
    """Squared distance of each row to the nearest of others, or ``so_far`` if that is less."""
    size = max(1, _BLOCK // max(1, rows.shape[0]))
    for start in range(0, others.shape[0], size):
        found = _squared(rows, others[start : start + size])
        so_far = np.minimum(so_far, found.min(axis=1))
    return so_far


def _squared(rows: Any, others: Any) -> Distances:
    """Squared distances of all pairs; 0 where they are rounding errors."""
    if sparse.issparse(rows) or sparse.issparse(others):
        return np.asarray(euclidean_distances(rows, others, squared=True))
    lengths = np.einsum("ij,ij->i", rows, rows)[:, np.newaxis] + np.einsum("ij,ij->i", others, others)
    found: Distances = lengths - 2.0 * (rows @ others.T)
    found[found <= _ROUNDING * lengths] = 0.0
    return found


def numeric(rows: Any) -> Any:
    """Rows as finite numbers, which distances need."""
    if sparse.issparse(rows):
        rows, values = rows.tocsr(), rows.data
    else:
        try:
            rows = values = np.asarray(rows, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.full(1, np.nan)
    if not np.isfinite(values).all():
        raise NoDistances(
            "Distances need rows of finite numbers: convert the features to numbers, or set "
            "cold_start='random'."
        )
    return rows
