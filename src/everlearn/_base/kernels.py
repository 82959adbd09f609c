"""The built-in kernels: one class each, asked by everything that depends on the kernel.

A kernel knows its parameters, its values, the value of a row with itself, bounds of its values, whether it is
positive semi-definite, which changes of the rows leave it as it is, and how it is written in ONNX. Messages,
documentation and checks of parameters read `KERNELS`. The core has the same table in ``core/kernel.hpp``, and
the arithmetic in ``core/arch/map.hpp``: a new kernel is a class here, and a line and an expression there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances, pairwise_kernels

from . import constraints
from .device_table import DeviceTable

Floats = npt.NDArray[np.float64]
Rows = Any  # a two-dimensional array or a CSR matrix

_ROUNDING = 1e-12  # by which bounds are wider than what they bound


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Parameters
    ----------
    gamma, coef0, degree : float, float, int
        The parameters. A kernel ignores those that are not in ``uses``.
    """

    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3

    name: ClassVar[str]
    formula: ClassVar[str]
    uses: ClassVar[tuple[str, ...]] = ()
    # K(x + c, z + c) = K(x, z): rows may be shifted.
    shift_invariant: ClassVar[bool] = False
    # K(a x, b z) = K(x, z) for a, b > 0: the lengths of rows do not count.
    scale_invariant: ClassVar[bool] = False
    # The decision function is linear in the features.
    is_linear: ClassVar[bool] = False
    # K(x, x) = 1 for every row.
    unit_diagonal: ClassVar[bool] = False
    # What `write_measure` writes: kernels with the same word can share it.
    measure: ClassVar[str] = "product"

    @property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite, whatever the rows."""
        return True

    @property
    def options(self) -> dict[str, Any]:
        """The parameters that the kernel uses, as scikit-learn names them."""
        return {name: getattr(self, name) for name in self.uses}

    def values(self, X: Rows, Z: Rows) -> Floats:
        """K between the rows of X and those of Z, as a matrix."""
        return np.asarray(pairwise_kernels(X, Z, metric=self.name, **self.options))

    def diagonal(self, squares: Floats) -> Floats:
        """K(x, x) of rows of these squared lengths."""
        return np.ones(len(squares))

    def lowest(self, product: float) -> float:
        """No value is below this for rows whose inner products are ``product`` at least."""
        return 0.0

    def highest(self, longest: float) -> float:
        """No value is above this for rows whose squared lengths are ``longest`` at most."""
        return 1.0

    def largest_step(self, longest: float) -> float:
        """The largest number that is computed on the way, for squared lengths of ``longest`` at most."""
        return longest

    def distances(self, X: Rows) -> Floats:
        """The distances, between all pairs of rows, that a shift-invariant kernel is a function of."""
        raise NotImplementedError

    def measured(self, X: Rows, Z: Rows) -> Floats:
        """What the kernel is a function of, between rows of X and of Z, whatever the parameters."""
        products = X @ Z.T
        return np.asarray(products.toarray() if sparse.issparse(products) else products)

    def mapped(self, measure: Floats) -> Floats:
        """Kernel values from what `measured` returns."""
        return measure

    def write_measure(self, graph: Any, x: str, columns: str, rows: Floats) -> str:
        """Write what the kernel is a function of: by default the inner products of ``x`` and some rows.

        ``columns`` is the transposed matrix of these rows in the graph, and ``rows`` has their values there.
        """
        return str(graph.node("MatMul", x, columns))

    def write_map(self, graph: Any, measure: str) -> str:
        """Write the way from there to kernel values."""
        return measure


class Linear(Kernel):
    """The inner product."""

    name = "linear"
    formula = "<x, z>"
    is_linear = True

    def diagonal(self, squares: Floats) -> Floats:
        """K(x, x) of rows of these squared lengths."""
        return squares

    def lowest(self, product: float) -> float:
        """No value is below this for rows whose inner products are ``product`` at least."""
        return product * (1 + _ROUNDING)

    def highest(self, longest: float) -> float:
        """No value is above this for rows whose squared lengths are ``longest`` at most."""
        return longest


class _OfProducts(Kernel):
    """A function of gamma <x, z> + coef0."""

    def _inner(self, products: Any) -> Any:
        return self.gamma * products + self.coef0

    def largest_step(self, longest: float) -> float:
        """The largest number that is computed on the way, for squared lengths of ``longest`` at most."""
        return self.gamma * longest + abs(self.coef0)

    def write_map(self, graph: Any, measure: str) -> str:
        """Write the way from there to kernel values."""
        value = graph.node("Mul", measure, graph.constant(np.float64(self.gamma)))
        return str(graph.node("Add", value, graph.constant(np.float64(self.coef0))))


class Polynomial(_OfProducts):
    """The polynomial kernel."""

    name = "poly"
    formula = "(gamma <x, z> + coef0)^degree"
    uses = ("degree", "gamma", "coef0")

    @property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite, whatever the rows."""
        return self.gamma >= 0 and self.coef0 >= 0

    def diagonal(self, squares: Floats) -> Floats:
        """K(x, x) of rows of these squared lengths."""
        return np.asarray(self._inner(squares) ** self.degree)

    def lowest(self, product: float) -> float:
        """No value is below this for rows whose inner products are ``product`` at least."""
        if self.degree % 2 == 0:
            return 0.0
        least = float(np.float64(self._inner(product)) ** self.degree)
        return least - _ROUNDING * abs(least)

    def highest(self, longest: float) -> float:
        """No value is above this for rows whose squared lengths are ``longest`` at most."""
        return float(np.float64(self.largest_step(longest)) ** self.degree)

    def mapped(self, measure: Floats) -> Floats:
        """Kernel values from inner products."""
        return np.asarray(self._inner(measure) ** self.degree)

    def write_map(self, graph: Any, measure: str) -> str:
        """Write the way from there to kernel values."""
        value = super().write_map(graph, measure)
        return str(graph.node("Pow", value, graph.constant(np.float64(self.degree))))


class _OfDistances(Kernel):
    """exp(-gamma d), where d is a distance."""

    uses = ("gamma",)
    shift_invariant = True
    unit_diagonal = True

    def mapped(self, measure: Floats) -> Floats:
        """Kernel values from distances."""
        return np.asarray(np.exp(-self.gamma * measure))

    def write_map(self, graph: Any, measure: str) -> str:
        """Write the way from there to kernel values."""
        return str(graph.node("Exp", graph.node("Mul", measure, graph.constant(np.float64(-self.gamma)))))


class RBF(_OfDistances):
    """The Gaussian kernel, a radial basis function."""

    name = "rbf"
    formula = "exp(-gamma |x - z|^2)"
    measure = "squared distance"

    def distances(self, X: Rows) -> Floats:
        """The squared distances between all pairs of rows."""
        return np.asarray(euclidean_distances(X, squared=True))

    def measured(self, X: Rows, Z: Rows) -> Floats:
        """The squared distances between the rows of X and those of Z."""
        return np.asarray(euclidean_distances(X, Z, squared=True))

    def write_measure(self, graph: Any, x: str, columns: str, rows: Floats) -> str:
        """Write the squared distances, from norms and products."""
        products = graph.node("MatMul", graph.node("Mul", x, graph.constant(np.float64(-2.0))), columns)
        kept = graph.node("Add", products, graph.constant(np.square(rows).sum(axis=1)))
        apart = graph.node("Add", kept, graph.sums(graph.node("Mul", x, x)))
        return str(graph.node("Max", apart, graph.constant(np.float64(0.0))))


class Sigmoid(_OfProducts):
    """The sigmoid kernel."""

    name = "sigmoid"
    formula = "tanh(gamma <x, z> + coef0)"
    uses = ("gamma", "coef0")

    @property
    def definite(self) -> bool:
        """Whether the kernel is positive semi-definite, whatever the rows."""
        return False

    def diagonal(self, squares: Floats) -> Floats:
        """K(x, x) of rows of these squared lengths."""
        return np.asarray(np.tanh(self._inner(squares)))

    def lowest(self, product: float) -> float:
        """No value is below this for rows whose inner products are ``product`` at least."""
        return float(np.tanh(self._inner(product))) - _ROUNDING

    def mapped(self, measure: Floats) -> Floats:
        """Kernel values from inner products."""
        return np.asarray(np.tanh(self._inner(measure)))

    def write_map(self, graph: Any, measure: str) -> str:
        """Write the way from there to kernel values."""
        return str(graph.node("Tanh", super().write_map(graph, measure)))


class Cosine(Kernel):
    """The cosine of the angle between two rows: for embeddings."""

    name = "cosine"
    formula = "<x, z> / (|x| |z|), and 0 where a row is zero"
    scale_invariant = True
    measure = "cosine"

    def measured(self, X: Rows, Z: Rows) -> Floats:
        """The cosines between the rows of X and those of Z."""
        return self.values(X, Z)

    def diagonal(self, squares: Floats) -> Floats:
        """K(x, x) of rows of these squared lengths."""
        return np.asarray(squares > 0, dtype=np.float64)

    def lowest(self, product: float) -> float:
        """No value is below this for rows whose inner products are ``product`` at least."""
        return 0.0 if product >= 0 else -1 - _ROUNDING

    def write_measure(self, graph: Any, x: str, columns: str, rows: Floats) -> str:
        """Write the products of rows of length 1."""
        lengths = np.linalg.norm(rows, axis=1)
        products = graph.node("MatMul", graph.unit_rows(x), columns)
        return str(graph.node("Div", products, graph.constant(np.where(lengths > 0, lengths, 1.0))))


class Laplacian(_OfDistances):
    """The Laplacian kernel: less sensitive to a single feature that is far off than "rbf"."""

    name = "laplacian"
    formula = "exp(-gamma |x - z|_1)"
    measure = "absolute distance"

    def distances(self, X: Rows) -> Floats:
        """The sums of absolute differences between all pairs of rows."""
        return np.asarray(manhattan_distances(X))

    def measured(self, X: Rows, Z: Rows) -> Floats:
        """The sums of absolute differences between the rows of X and those of Z."""
        return np.asarray(manhattan_distances(X, Z))

    def write_measure(self, graph: Any, x: str, columns: str, rows: Floats) -> str:
        """Write the distances to one row after the other: all at once would take too much memory."""
        helper, kind = graph.onnx.helper, graph.onnx.helper.np_dtype_to_tensor_dtype(graph.dtype)
        axis, name = graph.constant(np.array([1], dtype=np.int64)), f"{x}_{columns}"
        body = helper.make_graph(
            [
                helper.make_node("Sub", [x, f"{name}_row"], [f"{name}_apart"]),
                helper.make_node("Abs", [f"{name}_apart"], [f"{name}_sizes"]),
                helper.make_node("ReduceSum", [f"{name}_sizes", axis], [f"{name}_sums"], keepdims=0),
            ],
            f"{name}_distances",
            [helper.make_tensor_value_info(f"{name}_row", kind, [rows.shape[1]])],
            [helper.make_tensor_value_info(f"{name}_sums", kind, [None])],
        )
        axes = {"scan_input_axes": [1], "scan_output_axes": [1]}
        return str(graph.node("Scan", columns, body=body, num_scan_inputs=1, **axes))


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, Polynomial, RBF, Sigmoid, Cosine, Laplacian)
}
NAMES = tuple(KERNELS)
BUILT_IN = constraints.one_of(*NAMES)


def kernel_named(name: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> Kernel:
    """The kernel of a name, with its parameters."""
    return KERNELS[name](float(gamma), float(coef0), int(degree))


def is_built_in(kernel: Any) -> TypeGuard[str]:
    """Whether a kernel is one of those that the core computes, and not a callable or "precomputed"."""
    return BUILT_IN.test(kernel)


def parameters_of(kernel: Kernel | None) -> dict[str, Any]:
    """The parameters of an estimator that stand for a kernel; None is a precomputed one."""
    if kernel is None:
        return {"kernel": "precomputed"}
    return {"kernel": kernel.name, "gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}


def quoted(names: Iterable[str], last: str = " and ") -> str:
    """Names as prose has them: "a", "b" and "c"."""
    words = [f'"{name}"' for name in names]
    return last.join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def users_of(parameter: str) -> str:
    """The names of the kernels that use a parameter, for documentation."""
    return quoted(kernel.name for kernel in KERNELS.values() if parameter in kernel.uses)


def resolve_gamma(gamma: Any, X: Rows) -> float:
    """Turn "scale" or "auto" into a number, as scikit-learn does."""
    if gamma == "auto":
        return 1.0 / int(X.shape[1])
    if gamma == "scale":
        variance = X.variance() if isinstance(X, DeviceTable) else _variance(X)
        return 1.0 / (int(X.shape[1]) * variance) if variance > 0 else 1.0
    return float(gamma)


def _variance(X: Rows) -> float:
    """The variance of all entries, from the non-zero ones in their order: dense and sparse rows agree."""
    stored = X.data if sparse.issparse(X) else X
    values = stored[stored != 0].astype(np.float64)
    count = X.shape[0] * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):  # such rows are refused for their size
        mean = values.sum() / count
        return float((np.square(values - mean).sum() + (count - len(values)) * mean**2) / count)
