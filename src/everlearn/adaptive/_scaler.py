"""How rows are standardized inside a learner, by the first rows that it has seen."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.validate import Rows

Floats = npt.NDArray[np.float64]

_LEAST_SCALE = float(np.finfo(np.float64).smallest_subnormal)
_MOST_ROWS = 1000  # by which the scale of a stream is fixed
_MOST_SQUARED = float(np.finfo(np.float32).max) / 8  # kernel values are cached in single precision


def check_range(X: Rows) -> None:
    """Refuse scaled rows whose kernel values overflow."""
    if X.shape[0] == 0:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            largest = float(X.multiply(X).sum(axis=1).max())
        else:
            largest = float(np.einsum("ij,ij->i", X, X).max())
    if not largest < _MOST_SQUARED:
        raise ValueError(
            f"X has a row of squared length {largest:.3g} on the scale on which experts see rows, and "
            f"kernels overflow from {_MOST_SQUARED:.1g} on: correct or leave out the row, or scale the "
            "features."
        )


class Scaler:
    """Mean 0 and standard deviation 1 for dense columns; sparse rows stay as they are.

    In a stream the scale is taken from the rows kept whenever these have doubled, up to 1,000; after `fix` it
    does not change any more.
    """

    def __init__(self, scaling: str) -> None:
        self.active = scaling == "standard"
        self.mean: Floats | None = None
        self.scale: Floats | None = None
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
        top = np.abs(X).max(axis=0)
        # Columns are brought near 1 by powers of 2, so that no square over- or underflows.
        unit = np.exp2(np.frexp(np.where(top > 0, top, 1.0))[1] - 1.0)
        X = X / unit
        scale = X.std(axis=0)
        tiny = scale * unit <= 1e-12 * top  # a constant column has the standard deviation of rounding errors
        self.mean, self.scale = X.mean(axis=0) * unit, np.where(tiny, 1.0, scale * unit)

    def transform(self, X: Rows) -> Rows:
        """Rows on the scale of the experts."""
        if self.mean is None or self.scale is None:
            return X
        dense = X.toarray() if sparse.issparse(X) else X
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are refused
            return np.ascontiguousarray((dense - self.mean) / self.scale)

    def check(self, X: Rows) -> None:
        """Refuse rows whose kernel values would overflow on the present scale, if there is one yet."""
        if self.rows or not self.active or sparse.issparse(X):
            check_range(self.transform(X))

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        return {name: getattr(self, name) for name in ("active", "mean", "scale", "rows", "fixed")}

    @classmethod
    def from_state(cls, state: dict[str, Any], width: int) -> "Scaler":
        """The scaler that `state` described, of so many columns."""
        scaler = cls("none")
        scaler.active, scaler.fixed = (checked.flag(name, state[name]) for name in ("active", "fixed"))
        scaler.rows = checked.integer("rows", state["rows"])
        if (state["mean"] is None) != (state["scale"] is None):
            raise ValueError("mean and scale must be there together")
        if state["mean"] is not None:
            scaler.mean = checked.floats("mean", state["mean"], (width,))
            scaler.scale = checked.floats("scale", state["scale"], (width,), least=_LEAST_SCALE)
        return scaler
