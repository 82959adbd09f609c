"""How alike two rows are when nobody says: the scaling of the rows, the kernel, its width.

Choosing rows by their similarities depends on how rows are scaled far more than an SVM does: there is no bias
that takes a common offset away, and a row of twice the length counts twice.
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

_WIDE = 50  # features from which on a linear kernel tells rows apart well enough
_MEDIAN_ROWS = 500
_WIDTH_ROWS = 2000
_LARGEST = 1e150  # of a feature: squares of larger ones overflow
_EXACT_ROWS = 1000  # up to so many rows the least similarity is looked for among all pairs

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
    """A scaling and a kernel, all numbers known.

    Parameters
    ----------
    kernel : Kernel or None
        The kernel; None if the similarities are precomputed.
    mean, scale : ndarray or None
        What is taken from every column and what it is divided by; None leaves columns as they are.
    unit : bool
        Whether rows are then brought to length 1.
    """

    kernel: Kernel | None
    mean: Floats | None
    scale: Floats | None
    unit: bool

    @classmethod
    def of(cls, X: Rows, params: Any) -> "Geometry":
        """What the parameters of an object mean for rows like these."""
        check_size(X)
        X, name, scaling = _plain(X), params.kernel, params.scaling
        if name == "auto":
            name = "linear" if X.shape[1] >= _WIDE else "rbf"
        kind = KERNELS[name]
        if scaling == "auto" and kind.scale_invariant:  # it compares directions from the origin as it is
            scaling = "none"
        # To a kernel of differences the length of a row is a feature like others.
        unit = scaling == "unit" or (scaling == "auto" and (not kind.shift_invariant or sparse.issparse(X)))
        mean = scale = None
        if scaling in ("auto", "standard") and not sparse.issparse(X):  # centering would fill it
            mean = X.mean(axis=0, dtype=np.float64)
            scale = X.std(axis=0, dtype=np.float64)
            # A constant column has a standard deviation of rounding, which must not be blown up.
            scale[scale <= 1e-12 * np.abs(X).max(axis=0, initial=0)] = 1.0
        here = cls(kernel_named(name, 1.0, params.coef0, params.degree), mean, scale, unit)
        if "gamma" not in kind.uses:
            return here
        few = X if X.shape[0] <= _WIDTH_ROWS else X[np.sort(_drawn(X.shape[0], _WIDTH_ROWS))]
        gamma = resolve_width(params.gamma, here.scaled(few), kind)
        return replace(here, kernel=kernel_named(name, gamma, params.coef0, params.degree))

    @classmethod
    def from_state(cls, state: dict[str, Any], width: int) -> "Geometry":
        """The geometry whose attributes a state holds, for rows of so many features."""
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
            raise ValueError("mean and scale must be there together")
        if here.mean is not None:
            checked.floats("mean", here.mean, (width,))
            checked.floats("scale", here.scale, (width,), least=np.finfo(np.float64).tiny)
        return here

    def scaled(self, X: Rows) -> Rows:
        """Rows as the kernel gets them, as doubles; a row of zeros stays one."""
        check_size(X)
        given, X = X, _plain(X)
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
        """Rows, drawn from scaled ones, that `features` compares with; the same every time."""
        if X.shape[0] <= count:
            return X
        return X[np.sort(_drawn(X.shape[0], count))]

    def features(self, X: Rows, landmarks: Rows) -> Floats:
        """Features F of scaled rows with F F' near K (Nystroem): exact where all rows are landmarks.

        With K_m the similarities of the landmarks, F = K_nm K_m^(-1/2); directions of no weight are left out.
        """
        K = self.similarities(landmarks)
        unit = np.eye(len(K))
        values, vectors = np.linalg.eigh(K.times(unit))
        kept = values > 1e-12 * max(float(values.max(initial=0.0)), 0.0)
        return np.asarray(K.times(unit, X) @ (vectors[:, kept] / np.sqrt(values[kept])))

    @classmethod
    def plain(cls, kernel: Kernel | None) -> "Geometry":
        """For rows that stay as they are: features, or the rows of a kernel matrix."""
        return cls(kernel, None, None, False)

    def get_state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        parts = {name: getattr(self, name) for name in ("mean", "scale", "unit")}
        return parameters_of(self.kernel) | parts

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is the linear one."""
        return self.kernel is not None and self.kernel.is_linear

    def similarities(self, X: Rows, n_jobs: int | None = None, verbose: bool = False) -> Similarities:
        """The similarities of scaled rows."""
        return Similarities(X, self.kernel, n_jobs=n_jobs, verbose=verbose)


def _plain(X: Rows) -> Rows:
    """Rows of few features as a dense array, whatever they come in."""
    return X.toarray() if sparse.issparse(X) and X.shape[1] < _WIDE else X


def _drawn(n: int, count: int) -> npt.NDArray[Any]:
    """So many of n rows, the same every time."""
    return np.random.RandomState(0).permutation(n)[:count]


def resolve_width(gamma: Any, X: Rows, kernel: type[Kernel]) -> float:
    """Turn "median", "scale" or "auto" into a number.

    "median" is 1 / (2 m), where m is the median of the distances that the kernel is a function of. For
    kernels that are not functions of a distance it is "scale".
    """
    if gamma != "median" or not kernel.shift_invariant:
        return resolve_gamma("scale" if gamma == "median" else gamma, X)
    if X.shape[0] < 2:
        return 1.0
    if X.shape[0] > _MEDIAN_ROWS:
        X = X[np.sort(_drawn(X.shape[0], _MEDIAN_ROWS))]
    apart = kernel().distances(X)[np.triu_indices(X.shape[0], 1)]
    apart = apart[apart > 0]  # duplicates say nothing about distances
    return float(1.0 / (2.0 * np.median(apart))) if len(apart) else 1.0


def all_pairs(K: Similarities) -> Floats:
    """The matrix of similarities, for few rows."""
    everything = np.arange(len(K))
    return np.array(K.block(everything, everything))


def least_similarity(K: Similarities) -> float:
    """A number that no similarity of two different rows is below.

    The least of all while there are few pairs, otherwise the bound of the kernel for rows of these lengths.
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
    """Refuse values of which squares overflow."""
    largest = float(abs(X).max()) if min(X.shape) else 0.0
    if largest > _LARGEST:
        raise ValueError(f"X has a value of {largest:.3g}, whose square overflows: scale the features.")


def small_indices(X: Any) -> Any:
    """A CSR matrix with indices of 32 bits where they suffice."""
    if X.indices.dtype == np.int32 or X.nnz >= 2**31 or X.shape[1] >= 2**31:
        return X
    return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
