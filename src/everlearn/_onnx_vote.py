"""A weighted vote as a step of a predictor: what an `AdaptiveSVM` computes from a row, in ONNX.

Every voter gives the softmax of logits, which are linear in the features or in RBF kernel values. Voters
share the support vectors, so that the file has each of them once, and the squared distances to them, so that
each is computed once; a voter takes those that it needs and applies its own gamma. Voters whose probabilities
do not depend on the row are one constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ._onnx_graph import Floats, Graph, squared_distances, write_squared_distances

Places = npt.NDArray[np.int32]


def decision_values(votes: Floats, least: float) -> Floats:
    """log(p) / 2 for each class, or for two classes half the difference in one column."""
    scores = np.log(np.maximum(votes, least)) / 2
    return np.asarray((scores[:, 1:] - scores[:, :1]) / 2 if scores.shape[1] == 2 else scores)


@dataclass(frozen=True)
class Voter:
    """One softmax of a vote.

    Parameters
    ----------
    weight : float
        How much it counts.
    weights : ndarray of shape (n_values, n_columns)
        By what values are multiplied to give logits. One column f stands for the logits (-f, f).
    bias : ndarray of shape (n_columns,)
        What is added.
    gamma : float, default=None
        Of an RBF kernel; None takes the features themselves as values.
    places : ndarray of int32
        At which of the shared rows the kernel is evaluated.
    """

    weight: float
    weights: Floats
    bias: Floats
    gamma: float | None = None
    places: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def smallest(self) -> "Voter":
        """The same, as it takes the least room in a file.

        A range of places needs no list of them, but a weight of 0 for each place that was not meant.
        """
        if self.gamma is None or len(self.places) == 0:
            return self
        first, last = int(self.places.min()), int(self.places.max())
        columns = self.weights.shape[1]
        if (last - first + 1) * columns > len(self.places) * (columns + 1):
            return self
        weights = np.zeros((last - first + 1, columns))
        weights[self.places - first] = self.weights
        places = np.arange(first, last + 1, dtype=np.int32)
        return Voter(self.weight, weights, self.bias, self.gamma, places)

    def write(self, graph: Graph, x: str, distances: str, n_rows: int) -> str:
        """Write its probabilities times its weight."""
        values = x
        if self.gamma is not None:
            apart = self._pick(graph, distances, n_rows)
            values = graph.node("Exp", graph.node("Mul", apart, graph.constant(np.float64(-self.gamma))))
        logits = graph.node("MatMul", values, graph.constant(self.weights))
        logits = graph.node("Add", logits, graph.constant(self.bias))
        if len(self.bias) == 1:
            logits = graph.node("Concat", graph.node("Neg", logits), logits, axis=1)
        shares = graph.node("Softmax", logits, axis=1)
        return graph.node("Mul", shares, graph.constant(np.float64(self.weight)))

    def _pick(self, graph: Graph, distances: str, n_rows: int) -> str:
        if len(self.places) == n_rows and (np.diff(self.places) == 1).all():
            return distances
        if (np.diff(self.places) == 1).all():
            ends = (int(self.places[0]), int(self.places[-1]) + 1, 1)
            return graph.node("Slice", distances, *(graph.constant(np.array([end])) for end in ends))
        return graph.node("Gather", distances, graph.constant(self.places), axis=1)

    def apply(self, X: Floats, distances: Floats) -> Floats:
        """Compute the same, in double precision."""
        values = X if self.gamma is None else np.exp(-self.gamma * distances[:, self.places])
        logits = values @ self.weights + self.bias
        if len(self.bias) == 1:
            logits = np.hstack([-logits, logits])
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(self.weight * shares / shares.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Vote:
    """The decision values of a vote.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Support vectors of the voters with an RBF kernel.
    voters : sequence of Voter
        At least one.
    constant : ndarray of shape (n_classes,)
        What voters add that give the same probabilities to every row, times their weights.
    least : float
        Below which a probability does not go before its logarithm is taken.
    """

    rows: Floats
    voters: Sequence[Voter]
    constant: Floats
    least: float

    def write(self, graph: Graph, x: str) -> str:
        """Write distances, the probabilities of each voter, their sum, and its logarithm."""
        distances = write_squared_distances(graph, x, self.rows) if len(self.rows) else ""
        shares = [voter.write(graph, x, distances, len(self.rows)) for voter in self.voters]
        votes = graph.node("Sum", *shares, graph.constant(self.constant))
        scores = graph.node("Log", graph.node("Max", votes, graph.constant(np.float64(self.least))))
        if len(self.constant) == 2:
            return graph.node("MatMul", scores, graph.constant(np.array([[-0.25], [0.25]])))
        return graph.node("Mul", scores, graph.constant(np.float64(0.5)))

    def apply(self, X: Floats) -> Floats:
        """Do it to rows, in double precision."""
        distances = squared_distances(X, self.rows)
        votes = sum((voter.apply(X, distances) for voter in self.voters), start=self.constant)
        return decision_values(np.asarray(votes), self.least)

    def constants(self) -> int:
        """Count the numbers stored."""
        own = sum(voter.weights.size + len(voter.places) + len(voter.bias) + 2 for voter in self.voters)
        return self.rows.size + len(self.rows) + own + len(self.constant)
