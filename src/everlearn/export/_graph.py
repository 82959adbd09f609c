"""A decision function as an ONNX graph."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._base.decision import Array, Decision, Floats

OPSET, IR_VERSION = 17, 8  # both of ONNX 1.12 (2022): every operator used here has been the same since then
LARGEST_FILE = 2**31 - 2**20  # protobuf's limit, less some space for names
_MANY = 1000  # numbers from which a constant is worth packing


class Graph:
    """Nodes and constants of a graph that computes in one precision."""

    def __init__(self, onnx: Any, dtype: str) -> None:
        self.onnx, self.dtype = onnx, np.dtype(dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._size = 0

    def rounded(self, values: Any) -> Array:
        """Numbers in the precision of the graph; those too large become infinite, which the check finds."""
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(self.dtype)

    def constant(self, values: Any) -> str:
        """Store an array, floats in the precision of the graph, and return its name."""
        array = np.asarray(values)
        array = self.rounded(array) if array.dtype.kind == "f" else array
        if array.dtype.kind in "UO":
            array = array.astype(object)
        elif array.size >= _MANY:
            for fill in (0, 1):
                others = np.flatnonzero(array != fill)
                if len(others) * (array.itemsize + 4) <= array.nbytes / 2 and array.size < 2**31:
                    return self._packed(array, fill, others)
        return self._stored(array)

    def _stored(self, array: Array) -> str:
        self._size += array.nbytes
        if self._size > LARGEST_FILE:
            raise ValueError(
                f"The file would be larger than {LARGEST_FILE / 2**30:.1f} GB, the limit of ONNX: keep fewer "
                "rows or features, or use the linear kernel."
            )
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def _packed(self, array: Array, fill: int, others: Array) -> str:
        """Store only the numbers that differ from one value, and their positions."""
        size, shape = (self._stored(np.array(value, dtype=np.int64)) for value in ([array.size], array.shape))
        value = self.onnx.numpy_helper.from_array(np.array([fill], dtype=array.dtype))
        places = self.cast(self._stored(others.astype(np.int32)), np.int64)
        numbers = self._stored(array.ravel()[others])
        flat = self.node("ScatterElements", self.node("ConstantOfShape", size, value=value), places, numbers)
        return self.node("Reshape", flat, shape)

    def node(self, operator: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}" if output is None else output
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def cast(self, x: str, dtype: Any, output: str | None = None) -> str:
        """Add a conversion to another type."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.node("Cast", x, to=to, output=output)

    def through(self, x: str, dtype: Any) -> str:
        """Round to another type and back."""
        return self.cast(self.cast(x, dtype), self.dtype)

    def sums(self, x: str) -> str:
        """Sum each row."""
        return self.node("ReduceSum", x, self.constant(np.array([1], dtype=np.int64)), keepdims=1)

    def unit_rows(self, x: str) -> str:
        """Scale rows to length 1; a row of zeros is unchanged.

        Rows are divided by their largest entry first, so that squares neither overflow nor underflow.
        """
        least = self.constant(np.array([[np.finfo(np.float32).tiny]]))
        largest = self.node("ReduceMax", self.node("Abs", x), axes=[1], keepdims=1)
        x = self.node("Div", x, self.node("Max", largest, least))
        length = self.node("Sqrt", self.sums(self.node("Mul", x, x)))
        return self.node("Div", x, self.node("Max", length, least))


def model(decision: Decision, labels: Array, width: int, dtype: str, inner: str, onnx: Any) -> Any:
    """Write a decision function as an ONNX model with the input "X" and the outputs "label" and "scores".

    ``dtype`` is the type of the input and of the scores, ``inner`` that of the computation in between;
    ``labels`` has the output for each class: 64-bit integers or strings.
    """
    graph = Graph(onnx, inner)
    x = "X" if dtype == inner else graph.cast("X", inner)
    for step in decision.steps:
        x = step.write(graph, x)
    if decision.ballots:
        x = graph.cast(graph.cast(x, "float32"), inner)  # the precision in which the learner computes signs
        parts = [ballot.write(graph, x) for ballot in decision.ballots]
        scores = graph.node("Concat", *parts, axis=1)
    elif _changes_nothing(decision.weights):
        scores = x
    else:
        scores = graph.node("MatMul", x, graph.constant(decision.weights))
    scores = graph.node("Add", scores, graph.constant(decision.bias))
    two = len(decision.bias) == 1
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
    shape = ["rows"] if two else ["rows", len(decision.bias)]
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
    """Whether the weights are the identity, as after a step that gives decision values."""
    rows, columns = weights.shape
    return rows == columns and np.array_equal(weights, np.eye(rows))


def parts_of(rows: Array, size: int) -> Iterator[Array]:
    """Rows in blocks of a size."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
