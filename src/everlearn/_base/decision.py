"""The decision function of a fitted classifier as data: a chain of steps on rows, weights and a bias.

scores = phi(x) W + b, where phi is a chain of steps: shift and scale the features, normalize rows, take
kernel values against kept rows, multiply by a matrix. Only a voted perceptron differs: it counts the signs of
partial sums of kernel values (`Ballot`).

A learner describes itself by a method ``describe_decision()`` that returns a `Decision`. A step computes with
NumPy (`apply`) and writes itself to a graph (`write`), so that `everlearn.export` depends on no learner.

Rounding. In single precision and with features near 1e4, the shift itself is rounded by up to 5e-4; so it is
subtracted in two parts, the second being what the first lost. Squared distances are computed from norms and
products, |x|^2 - 2 <x, z> + |z|^2, which cancel far from the origin; so rows are first shifted to the center
of the kept rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .kernels import NAMES, Kernel, is_built_in, kernel_named
from .machine import Expansion

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]


class Graph(Protocol):
    """What a step writes to; values are named by strings."""

    def rounded(self, values: Any) -> Array:
        """Numbers in the precision of the graph."""

    def constant(self, values: Any) -> str:
        """Store an array and return its name."""

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator of ONNX and return the name of its output."""

    def sums(self, x: str) -> str:
        """Sum each row."""

    def unit_rows(self, x: str) -> str:
        """Scale rows to length 1."""

    def through(self, x: str, dtype: Any) -> str:
        """Round to another type and back."""


class Step(Protocol):
    """A function of rows."""

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""


@dataclass(frozen=True)
class Standardize:
    """(x - mean) / scale, feature by feature."""

    mean: Floats
    scale: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Subtract the mean in two parts, then divide; operations without effect are left out."""
        first = graph.rounded(self.mean)
        with np.errstate(invalid="ignore"):  # a mean that became infinite
            rest = graph.rounded(self.mean - first)
        for part in (first, rest):
            if part.any():
                x = graph.node("Sub", x, graph.constant(part))
        return x if (self.scale == 1).all() else graph.node("Div", x, graph.constant(self.scale))

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return (X - self.mean) / self.scale


@dataclass(frozen=True)
class InHalves:
    """x rounded to 16 bits, as a learner with ``row_dtype="float16"`` does."""

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.through(x, np.float16)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return X.astype(np.float16).astype(np.float64)


@dataclass(frozen=True)
class UnitLength:
    """x / |x|; a row of zeros stays as it is."""

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.unit_rows(x)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        length = np.linalg.norm(X, axis=1, keepdims=True)
        return X / np.where(length > 0, length, 1.0)


@dataclass(frozen=True)
class MatrixProduct:
    """Rows times a matrix."""

    values: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph."""
        return graph.node("MatMul", x, graph.constant(self.values))

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return np.asarray(X @ self.values)


@dataclass(frozen=True)
class KernelValues:
    """Kernel values against kept rows."""

    kernel: Kernel
    rows: Floats

    def write(self, graph: Graph, x: str) -> str:
        """Add it to a graph, as the kernel says."""
        rows = graph.rounded(self.rows).astype(np.float64)  # as the graph has them, also for their norms
        measure = self.kernel.write_measure(graph, x, graph.constant(rows.T), rows)
        return self.kernel.write_map(graph, measure)

    def apply(self, X: Floats) -> Floats:
        """Compute it in double precision."""
        return self.kernel.values(X, self.rows)


def kernel_steps(kernel: Kernel, rows: Floats) -> list[Step]:
    """Kernel values against rows.

    If the kernel is shift invariant, the origin is moved to the median of the rows, which a single distant
    row does not move.
    """
    if not kernel.shift_invariant:
        return [KernelValues(kernel, rows)]
    middle = np.median(rows, axis=0)
    return [Standardize(middle, np.ones(len(middle))), KernelValues(kernel, rows - middle)]


@dataclass(frozen=True)
class Ballot:
    """The vote of all models that a perceptron has had, one after each mistake.

    The score is sum_e lasts_e sign(f_e) / total, where ``lasts`` is how many rows each model lasted, and f_e
    is f of the model before plus ``coefficients`` times the kernel value at ``places``. The sum is
    over integers, so that ties remain ties.
    """

    places: npt.NDArray[np.int64]
    coefficients: Floats
    lasts: Floats
    total: float

    def write(self, graph: Graph, x: str) -> str:
        """Write partial sums, their signs and the weighted mean of the signs."""
        if len(self.places) == 0:
            return graph.node("Mul", graph.sums(x), graph.constant(np.float64(0.0)))
        chosen = graph.node("Gather", x, graph.constant(self.places), axis=1)
        added = graph.node("Mul", chosen, graph.constant(self.coefficients))
        f = graph.node("CumSum", added, graph.constant(np.array(1, dtype=np.int64)))
        votes = graph.node("MatMul", graph.node("Sign", f), graph.constant(self.lasts[:, np.newaxis]))
        return graph.node("Div", votes, graph.constant(np.float64(self.total)))

    def doubtful(self, values: Floats) -> Floats:
        """How much of the score of each row depends on models whose f is 0 up to rounding."""
        added = values[:, self.places] * self.coefficients
        size = np.cumsum(np.abs(added), axis=1)
        least = float(np.finfo(np.float32).tiny)
        doubt = np.abs(np.cumsum(added, axis=1)) <= 1e-5 * size + least
        return np.asarray(2 * (doubt @ self.lasts) / self.total)

    def mean_weights(self, n_rows: int) -> Floats:
        """The weights of the mean of all models: each coefficient counts for as long as it has been there."""
        weights = np.zeros(n_rows)
        np.add.at(weights, self.places, self.coefficients * np.cumsum(self.lasts[::-1])[::-1])
        return weights / self.total


@dataclass(frozen=True)
class Decision:
    """What a fitted classifier computes from rows.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels.
    steps : sequence of steps
        The functions of rows that come first.
    weights : ndarray of shape (n_values, n_columns)
        What the outcome is multiplied by; not used if there are ballots.
    bias : ndarray of shape (n_columns,)
        What is added to the scores: one column for two classes, otherwise one for each class.
    examples : ndarray of shape (n_rows, n_features)
        Typical rows, if some are known.
    n_kept : int
        The number of rows that the classifier keeps.
    ballots : sequence of Ballot
        One for each column, if scores are votes.
    left_out : sequence of str
        The names of parts that are not included because their weight is negligible.
    discrete : bool
        Whether features are codes, so that rows near the examples may be refused.
    """

    classes: Array
    steps: Sequence[Step]
    weights: Floats
    bias: Floats
    examples: Floats
    n_kept: int
    ballots: Sequence[Ballot] = ()
    left_out: Sequence[str] = ()
    discrete: bool = False

    def after(self, steps: Sequence[Step], examples: Floats) -> "Decision":
        """The same after other steps; ``examples`` are rows for these."""
        return replace(self, steps=(*steps, *self.steps), examples=examples)

    def simplified(self) -> "Decision":
        """The same with consecutive `Standardize` steps joined, and final matrices part of the weights."""
        steps: list[Step] = []
        for step in self.steps:
            before = steps[-1] if steps else None
            if isinstance(step, Standardize) and isinstance(before, Standardize):
                mean = before.mean + step.mean * before.scale
                steps[-1] = Standardize(mean, before.scale * step.scale)
            else:
                steps.append(step)
        weights = self.weights
        while steps and isinstance(steps[-1], MatrixProduct) and not self.ballots:
            weights = steps[-1].values @ weights
            steps.pop()
        return replace(self, steps=steps, weights=weights)

    def doubtful(self, X: Floats) -> Floats:
        """By how much rounding alone may change the score of each row: 0, except for votes."""
        if not self.ballots:
            return np.zeros((len(X), self.weights.shape[1]))
        for step in self.steps:
            X = step.apply(X)
        return np.column_stack([ballot.doubtful(X) for ballot in self.ballots])

    def with_classes(self, classes: Array) -> "Decision":
        """The same for more classes; a class that the classifier does not know scores minus infinity."""
        if len(self.classes) == len(classes):
            return self
        weights, bias, ballots = self.weights, self.bias, self.ballots
        if len(bias) == 1:
            weights, bias = np.hstack([-weights, weights]), np.concatenate([-bias, bias])
            ballots = [replace(b, coefficients=sign * b.coefficients) for b in ballots for sign in (-1, 1)]
        places = np.searchsorted(classes, self.classes)
        more = np.zeros((len(weights), len(classes)))
        more[:, places] = weights
        lowest = np.full(len(classes), -np.inf)
        lowest[places] = bias
        empty = Ballot(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), 1.0)
        every = [empty] * len(classes) if ballots else []
        for place, ballot in zip(places, ballots, strict=False):
            every[place] = ballot
        return Decision(classes, self.steps, more, lowest, self.examples, self.n_kept, every)


# ----------------------------------------------------------------------------------------------- constructors


def describe(model: Any) -> Decision:
    """The decision function of a learner of ours, `LinearSVC`, a binary `SVC`, or a `Pipeline` around one."""
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class: pass a fitted classifier.")
    from sklearn.svm import SVC, LinearSVC  # not at import time: learners import this module

    name = type(model).__name__
    if hasattr(model, "describe_decision"):
        check_is_fitted(model)
        if len(model.classes_) == 1:
            raise ValueError(f"This {name} has seen only one class: at least two are needed.")
        found: Decision = model.describe_decision()
        return found.simplified()
    if isinstance(model, LinearSVC | SVC):
        check_is_fitted(model)
        return (linear_decision(model) if isinstance(model, LinearSVC) else _svc_decision(model)).simplified()
    if type(model).__module__ == "sklearn.pipeline" and hasattr(model, "steps"):
        from .pipeline_decision import pipeline_decision

        check_is_fitted(model)
        return pipeline_decision(model, describe(model.steps[-1][1])).simplified()
    inside = next((part for part in ("learner_", "estimator_", "estimator") if hasattr(model, part)), None)
    remedy = f"pass its {inside}"
    if inside is None:
        remedy = "pass a classifier with one decision function, such as LASVM, IDSVM or OPAUC, or an SVC"
    raise TypeError(f"{name} has no decision function that can be exported to ONNX: {remedy}.")


def expansion_decision(classes: Array, found: Expansion, by_row: bool = False) -> Decision:
    """The decision function of a kernel expansion; with ``by_row`` the last step has a value for each row."""
    kernel, rows = found.kernel, dense(found.rows)
    center, weights, bias = found.center, found.weights, found.bias
    width, n_kept = rows.shape[1], len(rows)
    if n_kept == 0:
        return constant_decision(classes, width, bias)
    stored, ones = rows - center, np.ones(width)
    first: list[Step] = [Standardize(center, ones), *([InHalves()] if found.rounded else [])]
    if kernel.is_linear and not by_row:
        combined = stored.T @ weights
        if found.rounded:
            return Decision(classes, first, combined, bias, rows, n_kept)
        middle = np.median(stored, axis=0)
        shift = Standardize(center + middle, ones)
        return Decision(classes, [shift], combined, bias + middle @ combined, rows, n_kept)
    return Decision(classes, [*first, *kernel_steps(kernel, stored)], weights, bias, rows, n_kept)


def linear_decision(model: Any) -> Decision:
    """The decision function of a linear model with ``coef_`` and ``intercept_``."""
    weights, bias = np.asarray(model.coef_, np.float64).T, np.asarray(model.intercept_, np.float64)
    if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
        raise ValueError(f"The weights of {type(model).__name__} are not finite: scale the features.")
    bias = np.broadcast_to(bias, weights.shape[1])  # a scalar for a model without one
    return Decision(model.classes_, [], weights, bias, np.zeros((0, len(weights))), 0)


def constant_decision(classes: Array, width: int, bias: Any) -> Decision:
    """The same scores for every row."""
    bias = np.asarray(bias, dtype=np.float64)
    return Decision(classes, [], np.zeros((width, len(bias))), bias, np.zeros((0, width)), 0)


def one_class_decision(classes: Array, only: int, width: int) -> Decision:
    """The same class for every row, by its number."""
    is_it = np.arange(len(classes)) == only
    bias = np.where(is_it[1:], 1.0, -1.0) if len(classes) == 2 else np.where(is_it, 1.0, -np.inf)
    return constant_decision(classes, width, bias)


def _svc_decision(svc: Any) -> Decision:
    if not is_built_in(svc.kernel):
        refuse_kernel(svc)
    if len(svc.classes_) > 2:
        raise ValueError("An SVC with more than two classes is one-vs-one and cannot be exported: use LASVM.")
    rows, weights = svc.support_vectors_, dense(svc.dual_coef_).T
    kernel = svc_kernel(svc)
    expansion = Expansion(kernel, rows, np.zeros(rows.shape[1]), weights, np.asarray(svc.intercept_))
    return expansion_decision(svc.classes_, expansion)


def svc_kernel(svc: Any) -> Kernel:
    """The kernel of a fitted SVC; scikit-learn keeps the value of gamma in a private attribute only."""
    return kernel_named(svc.kernel, svc._gamma, svc.coef0, svc.degree)


def refuse_kernel(model: Any) -> None:
    """Raise for a kernel that is a function of the caller."""
    shown = repr(model.kernel) if isinstance(model.kernel, str) else "a function"
    raise ValueError(
        f"This {type(model).__name__} has kernel={shown}, which cannot be exported: use one of "
        f"{', '.join(map(repr, NAMES))}."
    )


def dense(rows: Any) -> Floats:
    """Rows as a dense array in double precision."""
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
