"""Similarities under the linear kernel on a CUDA device: sums of them are products with the rows."""

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from .._base.device import warn_of_cpu
from .._base.device_errors import errors_in_words
from .._base.kernels import Linear
from .._base.validate import Rows
from ..errors import DeviceError
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
    falls_back : bool, default=False
        Whether to fall back to the CPU, with a warning, if the device fails.
    """

    def __init__(
        self,
        module: ModuleType,
        X: Floats,
        *,
        n_jobs: int | None = None,
        verbose: bool = False,
        falls_back: bool = False,
    ) -> None:
        super().__init__(X, Linear(), n_jobs=n_jobs, verbose=verbose)
        self._module, self._falls_back, self._failed = module, falls_back, False

    @cached_property
    def _sweeps(self) -> Any:
        return self._module.Sweeps(np.ascontiguousarray(self.X))

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Multiply the matrix with weights: the sum over j of K(row, x_j) weights_j."""
        if rows is None:
            columns = np.ascontiguousarray(weights.reshape(len(self), -1), dtype=np.float64)
            found = self._attempt(lambda sweeps: sweeps.times(columns))
            if found is not None:
                return np.asarray(found).reshape(weights.shape)
        return super().times(weights, rows)

    def linearize(self, w: Floats, q: float, rows: Ints, k: int) -> Ints:
        """Replace the rows by those with the k largest slopes, as long as the objective increases."""
        marks = np.zeros(len(self), dtype=np.uint8)
        marks[rows] = 1
        linear = np.ascontiguousarray(w, dtype=np.float64)
        found = self._attempt(lambda sweeps: sweeps.linearize(linear, float(q), marks, int(k)))
        return super().linearize(w, q, rows, k) if found is None else np.flatnonzero(found)

    def _attempt(self, work: Callable[[Any], Any]) -> Any:
        """What the device finds; None once it has failed."""
        if self._failed:
            return None
        try:
            with errors_in_words(self._module):
                return work(self._sweeps)
        except DeviceError as error:
            if not self._falls_back:
                raise
            self._failed = True
            warn_of_cpu(error)
            return None
