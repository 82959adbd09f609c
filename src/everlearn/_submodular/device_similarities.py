"""Similarities under the linear kernel on a CUDA device: sums of them are products with the rows."""

from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from .._base.device_errors import errors_in_words
from .._base.kernels import Linear
from .._base.validate import Rows
from .choice import Floats, Ints, Similarities


class DeviceSimilarities(Similarities):
    """Similarities of n dense rows under the linear kernel; the rows stay on the device.

    Parameters
    ----------
    module : module
        The module for CUDA devices.
    X : ndarray of shape (n, d)
        The validated rows.
    n_jobs : int, default=None
        Number of threads, for what runs on the CPU.
    verbose : bool, default=False
        Whether to show progress.
    """

    def __init__(
        self, module: ModuleType, X: Floats, *, n_jobs: int | None = None, verbose: bool = False
    ) -> None:
        super().__init__(X, Linear(), n_jobs=n_jobs, verbose=verbose)
        self._module = module

    @cached_property
    def _sweeps(self) -> Any:
        return self._module.Sweeps(np.ascontiguousarray(self.X))

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Multiply the matrix with weights: the sum over j of K(row, x_j) weights_j."""
        if rows is not None:
            return super().times(weights, rows)
        columns = np.ascontiguousarray(weights.reshape(len(self), -1), dtype=np.float64)
        with errors_in_words(self._module):
            return np.asarray(self._sweeps.times(columns)).reshape(weights.shape)

    def linearize(self, w: Floats, q: float, rows: Ints, k: int) -> Ints:
        """Replace the rows by those with the k largest slopes, as long as the objective increases."""
        marks = np.zeros(len(self), dtype=np.uint8)
        marks[rows] = 1
        with errors_in_words(self._module):
            found = self._sweeps.linearize(np.ascontiguousarray(w, dtype=np.float64), float(q), marks, int(k))
        return np.flatnonzero(found)
