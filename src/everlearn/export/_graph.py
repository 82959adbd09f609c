"""A predictor as a chain of steps on rows, and how each step is written in ONNX.

Every predictor here is scores = phi(x) W + b, where phi is a chain of steps: shift and divide the features,
bring rows to length 1, take kernel values against kept rows, multiply by a matrix. Only the vote of a
perceptron differs: it takes the signs of partial sums of kernel values. The vote of an `AdaptiveSVM` is a
step as well (`everlearn.export._vote`).

Rounding. With single precision and features near 1e4 the shift itself is rounded by as much as 5e-4, so it is
subtracted in two parts, the second being what the first lost. Squared distances come from norms and products,
|x|^2 - 2 <x, z> + |z|^2, which cancel far from the origin: rows are first shifted by the median of the kept
ones where the kernel allows it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .._base.kernels import Kernel

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]

OPSET, IR_VERSION = 17, 8  # both of ONNX 1.12 (2022): every operator used here has been the same since then
LARGEST_FILE = 2**31 - 2**20  # protobuf's limit, less some room for names


class Graph:
    """Nodes and constants of a graph that computes in one precision."""

    def __init__(self, onnx: Any, dtype: str) -> None:
        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def rounded(self, values: Any) -> Array:
        """Numbers in the precision of the graph; too large ones become infinite, which the check finds."""
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(self.dtype)

    def constant(self, values: Any) -> str:
        """Store an array, floats in the precision of the graph, and return its name."""
        array = np.asarray(values)
        array = self.rounded(array) if array.dtype.kind == "f" else array
        if array.dtype.kind in "UO":
            array = array.astype(object)
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}" if output is None else output
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def cast(self, x: str, dtype: Any, output: str | None = None) -> str:
        """Add a conversion to another type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", x, to=to, output=output)

    def sums(self, x: str) -> str:
        """Add up each row."""
        return self.node("ReduceSum", x, self.constant(np.array([1], dtype=np.int64)), keepdims=1)

    def unit_rows(self, x: str) -> str:
        """Scale rows to length 1; a row of zeros stays one.

        They are divided by their largest entry first, so that squares neither overflow nor vanish.
        """
        least = self.constant(np.array([[np.finfo(np.float32).tiny]]))
        largest = self.node("ReduceMax", self.node("Abs", x), axes=[1], keepdims=1)
        x = self.node("Div", x, self.node("Max", largest, least))
        length = self.node("Sqrt", self.sums(self.node("Mul", x, x)))
        return self.node("Div", x, self.node("Max", length, least))


class Step(Protocol):
    """Something done to rows."""

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""

    def constants(self) -> int:
        """Count the numbers stored."""


@dataclass(frozen=True)
class Affine:
    """(x - shift) / scale, feature by feature."""

    shift: Floats
    scale: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Subtract the shift in two parts, then divide; what changes nothing is left out."""
        first = graph.rounded(self.shift)
        with np.errstate(invalid="ignore"):  # a shift that became infinite
            rest = graph.rounded(self.shift - first)
        for part in (first, rest):
            if part.any():
                x = graph.node("Sub", x, graph.constant(part))
        return x if (self.scale == 1).all() else graph.node("Div", x, graph.constant(self.scale))

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""
        return (X - self.shift) / self.scale

    def constants(self) -> int:
        """Count the numbers stored."""
        return 3 * len(self.shift)


@dataclass(frozen=True)
class Unit:
    """Rows brought to length 1; a row of zeros stays one."""

    def write(self, graph: Graph, x: str) -> str:
        """Divide by the lengths."""
        return graph.unit_rows(x)

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return X / np.where(length > 0, length, 1.0)

    def constants(self) -> int:
        """Count the numbers stored."""
        return 0


@dataclass(frozen=True)
class Matrix:
    """Rows times a matrix."""

    values: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Multiply."""
        return graph.node("MatMul", x, graph.constant(self.values))

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""
        return np.asarray(X @ self.values)

    def constants(self) -> int:
        """Count the numbers stored."""
        return self.values.size


@dataclass(frozen=True)
class KernelValues:
    """Kernel values against kept rows."""

    kernel: Kernel
    rows: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Write them as the kernel says."""
        rows = graph.rounded(self.rows).astype(np.float64)  # as the graph has them, norms included
        measure = self.kernel.write_measure(graph, x, graph.constant(rows.T), rows)
        return self.kernel.write_map(graph, measure)

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""
        return self.kernel.values(X, self.rows)

    def constants(self) -> int:
        """Count the numbers stored."""
        return self.rows.size + len(self.rows)


@dataclass(frozen=True)
class Ballot:
    """The rules that a perceptron has had, one after each of its mistakes, and for how many rows each lasted.

    The score is sum_e lasts_e sign(f_e) / total, where f_e adds ``coefficients`` times the kernel value at
    ``places`` to the f of the rule before. The sum is one of whole numbers, so that what is tied stays tied.
    """

    places: npt.NDArray[np.int64]
    coefficients: Floats
    lasts: Floats
    total: float

    def write(self, graph: Graph, x: str) -> str:
        """Write partial sums, their signs and the mean of these."""
        if len(self.places) == 0:
            return graph.node("Mul", graph.sums(x), graph.constant(np.float64(0.0)))
        chosen = graph.node("Gather", x, graph.constant(self.places), axis=1)
        added = graph.node("Mul", chosen, graph.constant(self.coefficients))
        f = graph.node("CumSum", added, graph.constant(np.array(1, dtype=np.int64)))
        votes = graph.node("MatMul", graph.node("Sign", f), graph.constant(self.lasts[:, np.newaxis]))
        return graph.node("Div", votes, graph.constant(np.float64(self.total)))

    def doubtful(self, values: Floats) -> Floats:
        """How much of the score of each row hangs on rules whose f is 0 but for rounding."""
        added = values[:, self.places] * self.coefficients
        size = np.cumsum(np.abs(added), axis=1)
        least = float(np.finfo(np.float32).tiny)
        doubt = np.abs(np.cumsum(added, axis=1)) <= 1e-5 * size + least
        return np.asarray(2 * (doubt @ self.lasts) / self.total)


@dataclass(frozen=True)
class Predictor:
    """What a fitted learner computes from rows: scores and labels.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    steps : sequence of steps
        What is done to rows first.
    weights : ndarray of shape (n_values, n_columns)
        By what the outcome is multiplied; not used where there are ballots.
    bias : ndarray of shape (n_columns,)
        What is added to the scores: one column for two classes, else one for each class.
    examples : ndarray of shape (n_rows, n_features)
        Rows such as the predictor may meet; none where it has kept none.
    kept : int
        Rows that the learner keeps.
    ballots : sequence of Ballot
        One for each column, where scores are votes.
    left_out : sequence of str
        Parts of the learner that count for next to nothing and are not here, by their names.
    """

    classes: Array
    steps: Sequence[Step]
    weights: Floats
    bias: Floats
    examples: Floats
    kept: int
    ballots: Sequence[Ballot] = ()
    left_out: Sequence[str] = ()

    def after(self, steps: Sequence[Step], examples: Floats) -> "Predictor":
        """The same behind other steps; examples are rows as these take them."""
        return replace(self, steps=(*steps, *self.steps), examples=examples)

    def tidied(self) -> "Predictor":
        """The same with neighboring shifts joined, and matrices at the end made part of the weights."""
        steps: list[Step] = []
        for step in self.steps:
            before = steps[-1] if steps else None
            if isinstance(step, Affine) and isinstance(before, Affine):
                shift = before.shift + step.shift * before.scale
                steps[-1] = Affine(shift, before.scale * step.scale)
            else:
                steps.append(step)
        weights = self.weights
        while steps and isinstance(steps[-1], Matrix) and not self.ballots:
            weights = steps[-1].values @ weights
            steps.pop()
        return replace(self, steps=steps, weights=weights)

    def doubtful(self, X: Floats) -> Floats:
        """How far the score of each row may jump for rounding alone: 0, but for votes."""
        if not self.ballots:
            return np.zeros((len(X), self.weights.shape[1]))
        for step in self.steps:
            X = step.apply(X)
        return np.column_stack([ballot.doubtful(X) for ballot in self.ballots])

    def numbers_stored(self) -> int:
        """How many numbers a graph of it holds."""
        return sum(step.constants() for step in self.steps) + self.weights.size


def model(predictor: Predictor, labels: Array, width: int, dtype: str, inner: str, onnx: Any) -> Any:
    """Write a predictor as a model of ONNX with the input "X" and the outputs "label" and "scores".

    ``dtype`` is the type of the input and of the scores, ``inner`` that of what is between, ``labels`` what
    to say for each class: 64-bit integers or strings.
    """
    graph = Graph(onnx, inner)
    x = "X" if dtype == inner else graph.cast("X", inner)
    for step in predictor.steps:
        x = step.write(graph, x)
    if predictor.ballots:
        x = graph.cast(graph.cast(x, "float32"), inner)  # the values that the learner has taken the signs of
        parts = [ballot.write(graph, x) for ballot in predictor.ballots]
        scores = graph.node("Concat", *parts, axis=1)
    elif _changes_nothing(predictor.weights):
        scores = x
    else:
        scores = graph.node("MatMul", x, graph.constant(predictor.weights))
    scores = graph.node("Add", scores, graph.constant(predictor.bias))
    two = len(predictor.bias) == 1
    if two:
        scores = graph.node("Squeeze", scores, graph.constant(np.array([1], dtype=np.int64)))
        number = graph.cast(graph.node("Greater", scores, graph.constant(np.float64(0.0))), np.int64)
    else:
        number = graph.node("ArgMax", scores, axis=1, keepdims=0)
    graph.node("Gather", graph.constant(labels), number, axis=0, output="label")
    graph.cast(scores, dtype, output="scores")

    helper, kinds = onnx.helper, onnx.TensorProto
    real = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    kind = kinds.INT64 if labels.dtype.kind == "i" else kinds.STRING
    shape = ["rows"] if two else ["rows", len(predictor.bias)]
    drawn = helper.make_graph(
        graph.nodes,
        "everlearn",
        [helper.make_tensor_value_info("X", real, ["rows", width])],
        [
            helper.make_tensor_value_info("label", kind, ["rows"]),
            helper.make_tensor_value_info("scores", real, shape),
        ],
        graph.constants,
    )
    return helper.make_model(drawn, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _changes_nothing(weights: Floats) -> bool:
    """Whether these are the weights of a step that gives decision values already."""
    rows, columns = weights.shape
    return rows == columns and np.array_equal(weights, np.eye(rows))


def parts_of(rows: Array, size: int) -> Iterator[Array]:
    """Rows, some at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
