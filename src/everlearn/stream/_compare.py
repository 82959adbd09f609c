"""Compare rows with those in memory: unusual values, similar rows, evidence, contradicted labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from .._base.kernels import kernel_named
from .._base.validate import Rows
from ..store.events import Floats
from ._held_out import HeldOut, learner_ids
from ._learner_state import LearnerState
from ._row_buffer import RowBuffer

_MAX_LEFT_OUT = 20  # labeled rows that are left out, one after another
OUTLIER = -1.0  # the margin below which a ramp loss is flat
LEFT_OUT = -0.5  # the margin of a row for a model without it, below which its label is suspected
_SAME = 1e-9  # relative difference of values that are equal but for rounding


@dataclass(frozen=True)
class FeatureRanks:
    """How the values of a row compare with the rows in memory.

    Attributes
    ----------
    n_rows : int
        The number of rows in memory.
    below : ndarray of shape (n_columns,)
        The fraction of them that have a smaller value.
    equal : ndarray of shape (n_columns,)
        The fraction of them that have the same value.
    """

    n_rows: int
    below: Floats
    equal: Floats


@dataclass(frozen=True)
class SimilarRow:
    """A labeled row that is similar to another row.

    Attributes
    ----------
    number : int
        Its number in the stream.
    label : label
        Its label.
    distance : float
        The Euclidean distance of the scaled rows.
    id : int or str, default=None
        Its id.
    """

    number: int
    label: Any
    distance: float
    id: Any = None


@dataclass(frozen=True)
class SupportFor:
    """A support vector that contributes to the decision about another row.

    Attributes
    ----------
    number : int
        Its number in the stream.
    label : label
        Its label.
    speaks : {"for", "against"}
        Whether it speaks for or against the class ``of``.
    of : label
        The predicted class.
    share : float
        Its share of all contributions.
    id : int or str, default=None
        Its id.
    """

    number: int
    label: Any
    speaks: str
    of: Any
    share: float
    id: Any = None


def feature_ranks(state: LearnerState, row: Rows, columns: Any) -> FeatureRanks:
    """Compare some features of a scaled row with all rows in memory."""
    kept = [buffer.X for buffer in (state.pool, state.labeled) if len(buffer)]
    n_rows = sum(rows.shape[0] for rows in kept)
    values = _dense(row[:, columns])
    below, equal = np.zeros(len(columns)), np.zeros(len(columns))
    for rows in kept:
        others = _dense(rows[:, columns])
        same = np.abs(others - values) <= _SAME * np.maximum(1.0, np.abs(values))
        below += ((others < values) & ~same).sum(axis=0)
        equal += same.sum(axis=0)
    return FeatureRanks(n_rows, below / max(n_rows, 1), equal / max(n_rows, 1))


def similar_labeled(state: LearnerState, row: Rows, n: int) -> list[SimilarRow]:
    """The labeled rows in memory that are nearest to a scaled row, nearest first."""
    kept: RowBuffer = state.labeled
    if not len(kept):
        return []
    X = kept.X
    if sparse.issparse(X):
        row = sparse.csr_matrix(row)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() + float(row.multiply(row).sum())
        distances = np.sqrt(np.maximum(squares - 2 * _dense(X @ row.T).ravel(), 0.0))
    else:
        distances = np.sqrt(np.square(X - _dense(row)).sum(axis=1))
    order = np.argsort(distances, kind="stable")[:n]
    return [SimilarRow(int(kept.numbers[at]), kept.labels[at], float(distances[at])) for at in order]


def similarities(rows: Rows, row: Rows) -> Floats:
    """Kernel values between scaled rows and one row: RBF with gamma 1 / n_features, cosine if sparse."""
    if sparse.issparse(rows):
        return np.asarray(cosine_similarity(rows, sparse.csr_matrix(row))).ravel()
    return np.asarray(np.exp(-np.square(rows - _dense(row)).sum(axis=1) / rows.shape[1]))


def near_rows(state: LearnerState, row: Rows, similarity: float) -> list[int]:
    """The numbers of the unlabeled rows in memory that are at least this similar, the most similar first."""
    if not len(state.pool):
        return []
    values = similarities(state.pool.X, row)
    order = np.argsort(-values, kind="stable")
    return [int(state.pool.numbers[at]) for at in order[: int((values >= similarity).sum())]]


def count_near(state: LearnerState, row: Rows, similarity: float) -> int:
    """The number of unlabeled rows in memory that are at least this similar."""
    return int((similarities(state.pool.X, row) >= similarity).sum()) if len(state.pool) else 0


def support_for(state: LearnerState, row: Rows, n: int) -> list[SupportFor]:
    """The support vectors that speak most for and against the class that is predicted for a scaled row."""
    learner = state.learner
    found = None if learner is None else _contributions(learner, row)
    if found is None or not len(found[0]):
        return []
    of = state.predict_scored(row)[0][0]
    values = found[1][:, learner.classes_.tolist().index(of)]
    total = float(np.abs(values).sum()) or 1.0
    kept = state.labeled
    place_of = {name: place for place, name in enumerate(learner_ids(state).tolist())}
    pairs = zip(found[0].tolist(), values.tolist(), strict=True)
    known = [(place_of[name], value) for name, value in pairs if name in place_of]
    shown = []
    for speaks, sign in (("for", 1.0), ("against", -1.0)):
        strongest = sorted((pair for pair in known if sign * pair[1] > 0), key=lambda pair: -abs(pair[1]))
        shown += [
            SupportFor(int(kept.numbers[place]), kept.labels[place], speaks, of, abs(value) / total)
            for place, value in strongest[:n]
        ]
    return shown


def _contributions(learner: Any, row: Rows) -> Any:
    """The ids of support vectors in the learner, and what each contributes to each class; None if unknown."""
    if hasattr(learner, "contributions"):
        return learner.contributions(row)
    if not all(hasattr(learner, name) for name in ("support_", "dual_coef_", "support_vectors_", "gamma_")):
        return None
    kernel = learner.kernel
    if not isinstance(kernel, str) or kernel == "precomputed" or not len(learner.support_):
        return None
    shape = kernel_named(kernel, learner.gamma_, learner.coef0, learner.degree)
    values = shape.values(learner.support_vectors_, row).ravel()
    found = values[:, np.newaxis] * learner.dual_coef_.T
    return learner.support_, np.hstack([-found, found]) if found.shape[1] == 1 else found


class LabelMargins:
    """The labeled rows in memory, by how much the model contradicts their labels.

    The margin is y f(x); with more than two classes, half the difference to the largest other decision value.
    """

    def __init__(self, state: LearnerState) -> None:
        kept = state.labeled
        self.learner: Any = None
        self.numbers: list[int] = []
        if state.learner is None or not len(kept):
            return
        self.classes = state.learner.classes_.tolist()
        there = [at for at, label in enumerate(kept.labels) if label in self.classes]
        codes = np.array([self.classes.index(kept.labels[at]) for at in there], dtype=np.intp)
        margins = _margins(state.predict_scored(kept.X[there])[1], codes)
        lowest = [at for at in np.argsort(margins, kind="stable")[:_MAX_LEFT_OUT] if margins[at] < 0]
        self.numbers = [int(kept.numbers[there[at]]) for at in lowest]
        self.codes, self.margins = codes[lowest], margins[lowest]
        self.learner = state.learner
        self._rows = HeldOut(state, [there[at] for at in lowest])

    def suspects(self, outlier: float = OUTLIER, left_out: float = LEFT_OUT) -> list[tuple[int, float]]:
        """The rows whose margin is below ``outlier``, or ``left_out`` without them; and the margin.

        It needs no lock.
        """
        found = []
        for at, number in enumerate(self.numbers):
            margin = float(self.margins[at])
            if margin >= outlier:
                without = self._left_out(at)
                margin = without if without < left_out else 0.0
            if margin < 0:
                found.append((number, margin))
        return sorted(found, key=lambda pair: pair[1])

    def _left_out(self, at: int) -> float:
        """The margin of a row for a copy of the learner that forgets it; 0 if that is not possible."""
        scores = self._rows.without(at)[1] if hasattr(self.learner, "forget") else None
        return 0.0 if scores is None else float(_margins(scores, self.codes[at : at + 1])[0])


def _margins(scores: Any, codes: Any) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 1 or values.shape[1] == 1:
        return np.asarray(np.where(codes == 1, 1.0, -1.0) * values.ravel())
    own = values[np.arange(len(codes)), codes]
    others = values.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return np.asarray((own - others.max(axis=1)) / 2)


def _dense(rows: Rows) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
