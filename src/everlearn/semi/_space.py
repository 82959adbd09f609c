"""Rows with a kernel, and the similarities of any subset of them."""

from types import ModuleType

import numpy as np

from .._base.kernels import Kernel
from .._base.validate import Rows
from .._submodular.choice import Floats, Ints, Similarities, StoredSimilarities
from .._submodular.device_similarities import DeviceSimilarities

OVERFLOW = "Similarities of rows overflow: scale the features (scaling='standard')."


class Space:
    """Rows and a kernel.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows, or their precomputed kernel matrix.
    kernel : Kernel or None
        The kernel; None if it is precomputed.
    n_jobs : int, default=None
        Number of threads.
    verbose : bool, default=False
        Whether to show progress.
    module : module, default=None
        The module for CUDA devices, if sums of similarities are computed there: under the linear kernel.
    falls_back : bool, default=False
        Whether to fall back to the CPU if the device fails.
    """

    def __init__(
        self,
        X: Rows,
        kernel: Kernel | None,
        n_jobs: int | None = None,
        verbose: bool = False,
        module: ModuleType | None = None,
        falls_back: bool = False,
    ) -> None:
        self.module, self.falls_back = module, falls_back
        self.X, self.kernel, self.n_jobs, self.verbose = X, kernel, n_jobs, verbose
        self._known: list[tuple[Ints, Similarities]] = []

    def among(self, rows: Ints) -> Similarities:
        """The similarities within some rows, without a matrix.

        The last two results are cached: of the labeled rows and of the others, in turn.
        """
        found = next((K for known, K in self._known if known is rows), None)
        if found is None:
            if self.kernel is None:
                found = StoredSimilarities(self.X[np.ix_(rows, rows)])
            elif self.module is not None:
                found = DeviceSimilarities(
                    self.module,
                    self.X[rows],
                    n_jobs=self.n_jobs,
                    verbose=self.verbose,
                    falls_back=self.falls_back,
                )
            else:
                found = Similarities(self.X[rows], self.kernel, n_jobs=self.n_jobs, verbose=self.verbose)
            self._known = [*self._known[-1:], (rows, found)]
        return found

    def matrix(self, rows: Ints) -> Floats:
        """The matrix of similarities within few rows."""
        if self.kernel is None:
            return np.asarray(self.X[np.ix_(rows, rows)])
        everything = np.arange(len(rows))
        K = self.among(rows).block(everything, everything)
        if not np.isfinite(K).all():
            raise ValueError(OVERFLOW)
        return K

    def weighted_sums(self, rows: Ints, others: Ints, weights: Floats) -> Floats:
        """For each row, the sum of the weights of the others times their similarities to it."""
        if self.kernel is None:
            return np.asarray(self.X[np.ix_(rows, others)] @ weights)
        X = self.among(rows).X
        K = Similarities(self.X[others], self.kernel, n_jobs=self.n_jobs, verbose=self.verbose)
        return K.times(weights, X)
