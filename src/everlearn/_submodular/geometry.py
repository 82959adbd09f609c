"""Defaults for similarities: the scaling of the rows, the kernel, and its width.

Selection by similarities is much more sensitive to scaling than an SVM: no bias removes a common offset, and
a row of twice the length counts twice.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked, constraints
from .._base.kernels import KERNELS, NAMES, Kernel, kernel_named, parameters_of, resolve_gamma
from .._base.validate import Rows
from .choice import Similarities, StoredSimilarities, squared_lengths

Floats = npt.NDArray[np.float64]

_WIDE = 50  # number of features from which the linear kernel is the default
_MEDIAN_ROWS = 500
_WIDTH_ROWS = 2000
_MAX_VALUE = 1e150  # of a feature: squares of larger values overflow
_EXACT_ROWS = 1000  # up to this many rows the lowest similarity is computed from all pairs

KERNEL = constraints.one_of("auto", *NAMES, "precomputed")
SCALING = constraints.one_of("auto", "standard", "unit", "none")
GAMMA = constraints.one_of("median", "scale", "auto") | constraints.POSITIVE

CONSTRAINTS: dict[str, constraints.Constraint] = {
    "kernel": KERNEL,
    "gamma": GAMMA,
    "degree": constraints.integer_from(0),
    "coef0": constraints.FINITE,
    "scaling": SCALING,
}


@dataclass(frozen=True)
class Geometry:
    """A scaling and a kernel with resolved parameters.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; None if the similarities are precomputed.
    mean, scale : ndarray or None
        Subtracted from the columns, and their divisor; None means no scaling.
    unit : bool
        Whether rows are then normalized to length 1.
    """

    kernel: Kernel | None
    mean: Floats | None
    scale: Floats | None
    unit: bool

    @classmethod
    def of(cls, X: Rows, params: Any) -> "Geometry":
        """Resolve the parameters of an estimator for rows like X."""
        check_size(X)
        X, name, scaling = _dense_if_narrow(X), params.kernel, params.scaling
        if name == "auto":
            name = "linear" if X.shape[1] >= _WIDE else "rbf"
        kind = KERNELS[name]
        if scaling == "auto" and kind.scale_invariant:  # it only compares directions
            scaling = "none"
        # For a shift-invariant kernel the length of a row is information, so rows are not normalized.
        unit = scaling == "unit" or (scaling == "auto" and (not kind.shift_invariant or sparse.issparse(X)))
        mean = scale = None
        if scaling in ("auto", "standard") and not sparse.issparse(X):  # centering would make it dense
            mean = X.mean(axis=0, dtype=np.float64)
            scale = X.std(axis=0, dtype=np.float64)
            # The standard deviation of a constant column is rounding error, which must not be amplified.
            scale[scale <= 1e-12 * np.abs(X).max(axis=0, initial=0)] = 1.0
        here = cls(kernel_named(name, 1.0, params.coef0, params.degree), mean, scale, unit)
        if "gamma" not in kind.uses:
            return here
        few = X if X.shape[0] <= _WIDTH_ROWS else X[np.sort(_drawn(X.shape[0], _WIDTH_ROWS))]
        gamma = resolve_width(params.gamma, here.scaled(few), kind)
        return replace(here, kernel=kernel_named(name, gamma, params.coef0, params.degree))

    @classmethod
    def from_state(cls, state: dict[str, Any], width: int) -> "Geometry":
        """Restore a geometry from a state, checked against the number of features."""
        parts, kernel = dict(state), None
        name = checked.word("kernel", parts.pop("kernel"), (*NAMES, "precomputed"))
        if name != "precomputed":
            gamma = checked.number("gamma", parts.pop("gamma"), least=0.0)
            coef0 = checked.number("coef0", parts.pop("coef0"))
            degree = checked.integer("degree", parts.pop("degree"), most=2**31 - 1)
            kernel = kernel_named(name, gamma, coef0, degree)
        here = cls(kernel, **parts)
        checked.flag("unit", here.unit)
        if (here.mean is None) != (here.scale is None):
            raise ValueError("mean and scale must both be present or both be None")
        if here.mean is not None:
            checked.floats("mean", here.mean, (width,))
            checked.floats("scale", here.scale, (width,), least=np.finfo(np.float64).tiny)
        return here

    def scaled(self, X: Rows) -> Rows:
        """Scaled rows for the kernel, in double precision; rows of zeros do not change."""
        check_size(X)
        given, X = X, _dense_if_narrow(X)
        if self.mean is not None:
            X = np.subtract(X.toarray() if sparse.issparse(X) else X, self.mean, dtype=np.float64)
            X /= self.scale
        X = X.astype(np.float64, copy=False)
        if not self.unit:
            return X
        lengths = np.sqrt(squared_lengths(X))
        inverse = 1 / np.where(lengths > 0, lengths, 1.0)
        if sparse.issparse(X):
            X = small_indices(sparse.csr_matrix(X))
            data = X.data * np.repeat(inverse, np.diff(X.indptr))
            return sparse.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        return np.multiply(X, inverse[:, np.newaxis], out=None if X is given else X)

    def landmarks(self, X: Rows, count: int) -> Rows:
        """A random sample of scaled rows for `features`, with a fixed seed."""
        if X.shape[0] <= count:
            return X
        return X[np.sort(_drawn(X.shape[0], count))]

    def features(self, X: Rows, landmarks: Rows) -> Floats:
        """Nystroem features F of scaled rows, F F' ≈ K; exact if all rows are landmarks.

        With K_m the similarities of the landmarks, F = K_nm K_m^(-1/2). Directions with eigenvalue 0 are
        dropped.
        """
        K = self.similarities(landmarks)
        unit = np.eye(len(K))
        values, vectors = np.linalg.eigh(K.times(unit))
        kept = values > 1e-12 * max(float(values.max(initial=0.0)), 0.0)
        return np.asarray(K.times(unit, X) @ (vectors[:, kept] / np.sqrt(values[kept])))

    @classmethod
    def plain(cls, kernel: Kernel | None) -> "Geometry":
        """Without scaling: for features, or for rows of a kernel matrix."""
        return cls(kernel, None, None, False)

    def get_state(self) -> dict[str, Any]:
        """The state for `from_state`."""
        parts = {name: getattr(self, name) for name in ("mean", "scale", "unit")}
        return parameters_of(self.kernel) | parts

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is linear."""
        return self.kernel is not None and self.kernel.is_linear

    def similarities(self, X: Rows, n_jobs: int | None = None, verbose: bool = False) -> Similarities:
        """The similarities of scaled rows."""
        return Similarities(X, self.kernel, n_jobs=n_jobs, verbose=verbose)


def _dense_if_narrow(X: Rows) -> Rows:
    """Rows with few features as a dense array."""
    return X.toarray() if sparse.issparse(X) and X.shape[1] < _WIDE else X


def _drawn(n: int, count: int) -> npt.NDArray[Any]:
    """A random sample of row numbers, with a fixed seed."""
    return np.random.RandomState(0).permutation(n)[:count]


def resolve_width(gamma: Any, X: Rows, kernel: type[Kernel]) -> float:
    """Turn "median", "scale" or "auto" into a number.

    "median" is 1 / (2 m), where m is the median of the distances in the kernel's formula. For kernels that
    are not functions of a distance it is "scale".
    """
    if gamma != "median" or not kernel.shift_invariant:
        return resolve_gamma("scale" if gamma == "median" else gamma, X)
    if X.shape[0] < 2:
        return 1.0
    if X.shape[0] > _MEDIAN_ROWS:
        X = X[np.sort(_drawn(X.shape[0], _MEDIAN_ROWS))]
    apart = kernel().distances(X)[np.triu_indices(X.shape[0], 1)]
    apart = apart[apart > 0]  # without duplicates
    return float(1.0 / (2.0 * np.median(apart))) if len(apart) else 1.0


def all_pairs(K: Similarities) -> Floats:
    """The full matrix of similarities, for few rows."""
    everything = np.arange(len(K))
    return np.array(K.block(everything, everything))


def least_similarity(K: Similarities) -> float:
    """A lower bound of the similarities of two different rows.

    It is the minimum of all pairs if there are few rows, otherwise the bound of the kernel for rows of these
    lengths.
    """
    n = len(K)
    if n < 2:
        return 0.0
    if isinstance(K, StoredSimilarities) or n <= _EXACT_ROWS:
        values = all_pairs(K)
        np.fill_diagonal(values, np.inf)
        return float(values.min()) - 1e-12 * float(np.abs(values[np.isfinite(values)]).max())
    stored = K.X.data if sparse.issparse(K.X) else K.X
    no_negatives = stored.size == 0 or stored.min() >= 0
    return K.kernel.lowest(0.0 if no_negatives else -float(K.squares.max()))


def check_size(X: Rows) -> None:
    """Raise a ValueError if squares of values overflow."""
    largest = float(abs(X).max()) if min(X.shape) else 0.0
    if largest > _MAX_VALUE:
        raise ValueError(f"X has a value of {largest:.3g}, whose square overflows: scale the features.")


def small_indices(X: Any) -> Any:
    """A CSR matrix with 32-bit indices, if they suffice."""
    if X.indices.dtype == np.int32 or X.nnz >= 2**31 or X.shape[1] >= 2**31:
        return X
    return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
