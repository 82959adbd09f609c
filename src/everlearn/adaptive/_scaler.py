"""How rows are standardized inside a learner, by the first rows that it has seen."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._validate import Rows

Floats = npt.NDArray[np.float64]

_MOST_ROWS = 1000  # by which the scale of a stream is fixed


class Scaler:
    """Mean 0 and standard deviation 1 for dense columns; sparse rows stay as they are.

    In a stream the scale is taken from the rows kept whenever these have doubled, up to 1,000; after `fix` it
    does not change any more.
    """

    def __init__(self, scaling: str) -> None:
        self.active = scaling == "standard"
        self.mean: Floats | None = None
        self.spread: Floats | None = None
        self.rows = 0  # from which it was taken
        self.fixed = False

    def due(self, n_rows: int) -> bool:
        """Whether the scale should be taken anew from so many rows."""
        return not self.fixed and n_rows >= 2 * self.rows and self.rows < _MOST_ROWS

    def fit(self, X: Rows, fix: bool = True) -> None:
        """Take the scale of rows."""
        self.rows, self.fixed = X.shape[0], fix
        if not self.active or sparse.issparse(X) or X.shape[0] == 0:
            return
        self.mean, spread = X.mean(axis=0), X.std(axis=0)
        tiny = spread <= 1e-12 * np.abs(X).max(axis=0)  # a constant column has the spread of rounding errors
        self.spread = np.where(tiny, 1.0, spread)

    def transform(self, X: Rows) -> Rows:
        """Rows on the scale of the experts."""
        if self.mean is None or self.spread is None:
            return X
        dense = X.toarray() if sparse.issparse(X) else X
        return np.ascontiguousarray((dense - self.mean) / self.spread)

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        return {name: getattr(self, name) for name in ("active", "mean", "spread", "rows", "fixed")}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Scaler":
        """The scaler that `state` described."""
        scaler = cls("none")
        for name in ("active", "mean", "spread", "rows", "fixed"):
            setattr(scaler, name, state[name])
        return scaler
