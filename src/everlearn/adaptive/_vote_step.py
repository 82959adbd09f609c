"""A weighted vote as a step of a decision function, for the export of an `AdaptiveSVM`.

Every voter computes a softmax of logits, which are linear in the features or in kernel values. Voters share
their support vectors, so that a file contains each of them once. They also share the arguments of their
kernels, such as squared distances, unless they weight features differently. A voter selects the values it
needs and applies its own kernel. Voters whose probabilities do not depend on the row are summed to a
constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from .._base.decision import Floats, Graph
from .._base.kernels import Kernel

Places = npt.NDArray[np.int32]


def decision_values(votes: Floats, least: float) -> Floats:
    """log(p) / 2 for each class, or for two classes half the difference in one column."""
    scores = np.log(np.maximum(votes, least)) / 2
    return np.asarray((scores[:, 1:] - scores[:, :1]) / 2 if scores.shape[1] == 2 else scores)


@dataclass(frozen=True)
class Voter:
    """The softmax of one voter.

    Parameters
    ----------
    weight : float
        Weight in the vote.
    weights : ndarray of shape (n_values, n_columns)
        Coefficients of the logits. One column f means the logits (-f, f).
    bias : ndarray of shape (n_columns,)
        Bias of the logits.
    kernel : Kernel, default=None
        The kernel; None uses the features instead of kernel values.
    places : ndarray of int32
        Indices of the shared rows at which the kernel is evaluated.
    factors : ndarray of shape (n_features,), default=None
        Factors of the features, applied before the kernel.
    """

    weight: float
    weights: Floats
    bias: Floats
    kernel: Kernel | None = None
    places: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    factors: Floats | None = None

    def smallest(self) -> "Voter":
        """An equivalent voter that takes the least space in a file.

        A contiguous range of rows needs no list of indices, but a weight of 0 for each additional row.
        """
        if self.kernel is None or len(self.places) == 0:
            return self
        first, last = int(self.places.min()), int(self.places.max())
        columns = self.weights.shape[1]
        if (last - first + 1) * columns > len(self.places) * (columns + 1):
            return self
        weights = np.zeros((last - first + 1, columns))
        weights[self.places - first] = self.weights
        return replace(self, weights=weights, places=np.arange(first, last + 1, dtype=np.int32))

    def write(self, graph: Graph, values: str) -> str:
        """Write the weighted probabilities, from features or from the arguments of the kernel."""
        if self.kernel is not None:
            values = self.kernel.write_map(graph, values)
        logits = graph.node("MatMul", values, graph.constant(self.weights))
        logits = graph.node("Add", logits, graph.constant(self.bias))
        if len(self.bias) == 1:
            logits = graph.node("Concat", graph.node("Neg", logits), logits, axis=1)
        probabilities = graph.node("Softmax", logits, axis=1)
        return graph.node("Mul", probabilities, graph.constant(np.float64(self.weight)))

    def apply(self, values: Floats) -> Floats:
        """Compute the weighted probabilities from features or kernel values, in double precision."""
        logits = values @ self.weights + self.bias
        if len(self.bias) == 1:
            logits = np.hstack([-logits, logits])
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(self.weight * odds / odds.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class VoteStep:
    """The decision values of a weighted vote.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Support vectors of the voters with a kernel.
    voters : sequence of Voter
        At least one.
    constant : ndarray of shape (n_classes,)
        Weighted sum of the voters whose probabilities do not depend on the row.
    least : float
        Lower bound of a probability before the logarithm.
    """

    rows: Floats
    voters: Sequence[Voter]
    constant: Floats
    least: float

    def write(self, graph: Graph, x: str) -> str:
        """Write the probabilities of each voter, their sum, and the logarithm of the sum."""
        parts = [voter.write(graph, x) for voter in self.voters if voter.kernel is None]
        if len(self.rows):
            columns = graph.constant(graph.rounded(self.rows).T)
            for group in self._groups():
                parts += self._write_group(graph, x, columns, group)
        votes = graph.node("Sum", *parts, graph.constant(self.constant))
        scores = graph.node("Log", graph.node("Max", votes, graph.constant(np.float64(self.least))))
        if len(self.constant) == 2:
            return graph.node("MatMul", scores, graph.constant(np.array([[-0.25], [0.25]])))
        return graph.node("Mul", scores, graph.constant(np.float64(0.5)))

    def _groups(self) -> list[list[Voter]]:
        """Voters with a kernel, grouped by the arguments of their kernels."""
        groups: dict[tuple[str, bytes], list[Voter]] = {}
        for voter in self.voters:
            if voter.kernel is not None:
                factors = b"" if voter.factors is None else voter.factors.tobytes()
                groups.setdefault((voter.kernel.measure, factors), []).append(voter)
        return list(groups.values())

    def _write_group(self, graph: Graph, x: str, columns: str, group: list[Voter]) -> list[str]:
        start = min(int(voter.places.min()) for voter in group)
        stop = max(int(voter.places.max()) for voter in group) + 1
        some = _pick(graph, columns, np.arange(start, stop), len(self.rows))
        rows, kernel, factors = graph.rounded(self.rows[start:stop]), group[0].kernel, group[0].factors
        assert kernel is not None
        if factors is not None:
            rows = rows * graph.rounded(factors)
            by, axis = graph.constant(factors), graph.constant(np.array([1], dtype=np.int64))
            x = graph.node("Mul", x, by)
            some = graph.node("Mul", some, graph.node("Unsqueeze", by, axis))
        measure = kernel.write_measure(graph, x, some, rows.astype(np.float64))
        return [
            voter.write(graph, _pick(graph, measure, voter.places - start, stop - start)) for voter in group
        ]

    def apply(self, X: Floats) -> Floats:
        """Compute the decision values in double precision."""
        votes = self.constant
        for voter in self.voters:
            values = X
            if voter.kernel is not None:
                factors = np.ones(X.shape[1]) if voter.factors is None else voter.factors
                values = voter.kernel.values(X * factors, self.rows[voter.places] * factors)
            votes = votes + voter.apply(values)
        return decision_values(votes, self.least)


def _pick(graph: Graph, x: str, places: npt.NDArray[np.integer], width: int) -> str:
    """Select columns."""
    if not (np.diff(places) == 1).all():
        return graph.node("Gather", x, graph.constant(places.astype(np.int32)), axis=1)
    if len(places) == width:
        return x
    ends = (int(places[0]), int(places[-1]) + 1, 1)
    return graph.node("Slice", x, *(graph.constant(np.array([end], dtype=np.int64)) for end in ends))
