"""Standardization of rows inside a learner, based on the first rows of the stream."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.validate import Rows

Floats = npt.NDArray[np.float64]

_MIN_SCALE = float(np.finfo(np.float64).smallest_subnormal)
_MAX_ROWS = 1000  # after this many rows the scale of a stream is fixed
_MAX_SQUARED = float(np.finfo(np.float32).max) / 8  # kernel values are cached in single precision


def check_range(X: Rows) -> None:
    """Raise a ValueError if kernel values of scaled rows would overflow."""
    if X.shape[0] == 0:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(X):
            largest = float(X.multiply(X).sum(axis=1).max())
        else:
            largest = float(np.einsum("ij,ij->i", X, X).max())
    if not largest < _MAX_SQUARED:
        raise ValueError(
            f"X has a row with squared length {largest:.3g} after scaling, but kernel values overflow above "
            f"{_MAX_SQUARED:.1g}: correct or drop the row, or scale the features."
        )


class Scaler:
    """Scales dense columns to mean 0 and standard deviation 1; sparse rows are not scaled.

    In a stream the scale is computed again whenever the number of rows has doubled, up to 1,000 rows. Once
    fixed, it does not change.
    """

    def __init__(self, scaling: str) -> None:
        self.active = scaling == "standard"
        self.mean: Floats | None = None
        self.scale: Floats | None = None
        self.rows = 0  # number of rows that the scale was computed from
        self.fixed = False

    def due(self, n_rows: int) -> bool:
        """Whether the scale should be computed again, given the number of rows."""
        return not self.fixed and n_rows >= 2 * self.rows and self.rows < _MAX_ROWS

    def fit(self, X: Rows, fix: bool = True) -> None:
        """Compute the scale of rows."""
        self.rows, self.fixed = X.shape[0], fix
        if not self.active or sparse.issparse(X) or X.shape[0] == 0:
            return
        top = np.abs(X).max(axis=0)
        # Divide columns by powers of 2, so that squares neither overflow nor underflow.
        unit = np.exp2(np.frexp(np.where(top > 0, top, 1.0))[1] - 1.0)
        X = X / unit
        scale = X.std(axis=0)
        tiny = scale * unit <= 1e-12 * top  # constant column: its standard deviation is rounding error
        self.mean, self.scale = X.mean(axis=0) * unit, np.where(tiny, 1.0, scale * unit)

    def transform(self, X: Rows) -> Rows:
        """Scale rows."""
        if self.mean is None or self.scale is None:
            return X
        dense = X.toarray() if sparse.issparse(X) else X
        with np.errstate(over="ignore", invalid="ignore"):  # `check` raises for such rows
            return np.ascontiguousarray((dense - self.mean) / self.scale)

    def check(self, X: Rows) -> None:
        """Raise a ValueError if kernel values would overflow on the current scale, if there is one."""
        if self.rows or not self.active or sparse.issparse(X):
            check_range(self.transform(X))

    def state(self) -> dict[str, Any]:
        """The state for `from_state`."""
        return {name: getattr(self, name) for name in ("active", "mean", "scale", "rows", "fixed")}

    @classmethod
    def from_state(cls, state: dict[str, Any], width: int) -> "Scaler":
        """Restore a scaler from a state, checked against the number of columns."""
        scaler = cls("none")
        scaler.active, scaler.fixed = (checked.flag(name, state[name]) for name in ("active", "fixed"))
        scaler.rows = checked.integer("rows", state["rows"])
        if (state["mean"] is None) != (state["scale"] is None):
            raise ValueError("mean and scale must both be present or both be None")
        if state["mean"] is not None:
            scaler.mean = checked.floats("mean", state["mean"], (width,))
            scaler.scale = checked.floats("scale", state["scale"], (width,), least=_MIN_SCALE)
        return scaler
