"""What drives the predictions of a stream: the fields of a row, and single labeled rows."""

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .._base.validate import Array, Rows
from ..read import Schema
from ..store.events import Floats
from ._held_out import learner_ids
from ._row_buffer import RowBuffer
from ._training import predict_scored

if TYPE_CHECKING:
    from ._learner_state import LearnerState

_SAMPLE = 200  # rows on which the change is measured
_MOST_FIELDS = 60
_CANDIDATES, _MOST_ROWS = 30, 10
_CLEAR = 0.2  # correlation from which the direction of a field is named


def influence_of(state: "LearnerState") -> dict[str, Any]:
    """The fields and the labeled rows that influence the predictions most; empty without a model.

    The influence of a field is measured by permutation: its values are shuffled between recent rows. The
    change is the root mean square of the difference of the decision values, relative to that of shuffled
    rows, so it is 0 for a field that is not used and about 1 for one that decides alone. If the learner is
    linear, the difference is computed from its coefficients. The influence of a row is the change after the
    learner has forgotten it.
    """
    sample = _recent(state)
    if state.learner is None or sample is None or sample.shape[0] < 2:
        return {}
    model = _Measured(state.learner, sample)
    return {"sample": sample.shape[0], "fields": _fields(state, model), "rows": _rows(state, model)}


class _Measured:
    """A learner on a sample: how predictions change with the learner or with the rows."""

    def __init__(self, learner: Any, X: Rows) -> None:
        self.learner, self.X = learner, X
        self.labels, self.values = self._predict(learner, X)
        n = len(self.labels)
        self.order = np.random.default_rng(0).permutation(n)
        # The expected squared difference of two independent rows.
        self._whole = np.sqrt(2 * self.values.var(axis=0).sum())

    @staticmethod
    def _predict(learner: Any, X: Rows) -> tuple[Array, Floats]:
        labels, scores = predict_scored(learner, X)
        return np.array(labels, dtype=object), np.asarray(scores, dtype=np.float64).reshape(X.shape[0], -1)

    def change(self, learner: Any, X: Rows) -> dict[str, float]:
        """The change of the decision values, and the fraction of rows whose prediction changes."""
        labels, values = self._predict(learner, X)
        size = np.sqrt(np.square(values - self.values).sum(axis=1).mean())
        return {"change": self._relative(size), "flips": float(np.mean(labels != self.labels))}

    def change_without(self, columns: slice) -> dict[str, float]:
        """The change if some columns are shuffled; for a linear learner, the mean over all permutations."""
        found = self.change(self.learner, self.shuffled(columns))
        weights = getattr(self.learner, "coef_", None)
        if weights is not None:
            part = np.asarray(self.X[:, columns] @ weights[:, columns].T)
            found["change"] = self._relative(np.sqrt(2 * part.var(axis=0).sum()))
        return found

    def _relative(self, size: Any) -> float:
        return float(size / self._whole) if self._whole > 0 else 0.0

    def shuffled(self, columns: slice) -> Rows:
        """The sample with some columns shuffled between rows."""
        if not sparse.issparse(self.X):
            X = self.X.copy()
            X[:, columns] = X[self.order, columns]
            return X
        mask = np.zeros(self.X.shape[1])
        mask[columns] = 1.0
        inside = sparse.csr_matrix(self.X @ sparse.diags(mask))
        return sparse.csr_matrix(self.X - inside + inside[self.order])

    def direction(self, columns: slice) -> str | None:
        """The class that a higher value speaks for, if a single column has a clear direction."""
        classes = getattr(self.learner, "classes_", ())
        if columns.stop - columns.start != 1 or self.values.shape[1] != 1 or len(classes) != 2:
            return None
        column = self.X[:, columns]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        if values.std() == 0 or self.values.std() == 0:
            return None
        correlation = float(np.corrcoef(values, self.values[:, 0])[0, 1])
        return str(classes[int(correlation > 0)]) if abs(correlation) >= _CLEAR else None


def _recent(state: "LearnerState") -> Rows:
    """Recent rows in memory, labeled or not."""
    newest = RowBuffer()
    for kept in (state.labeled, state.pool):
        part = RowBuffer(kept.X, kept.numbers)
        part.keep_last(_SAMPLE)
        newest.add(part.X, part.numbers)
    newest.keep(np.argsort(newest.numbers, kind="stable")[-_SAMPLE:])
    return newest.X


def _fields(state: "LearnerState", model: _Measured) -> list[dict[str, Any]]:
    columns = list(_columns(state.schema, model.X.shape[1]))
    if len(columns) > _MOST_FIELDS:  # those that vary
        spread = _spread(model.X)
        columns.sort(key=lambda field: -float(spread[field[1]].sum()))
        columns = columns[:_MOST_FIELDS]
    found = [
        {"field": name, **model.change_without(part), "toward": model.direction(part)}
        for name, part in columns
    ]
    return sorted(found, key=lambda entry: -float(entry["change"]))


def _spread(X: Rows) -> Floats:
    """The variance of each column."""
    if not sparse.issparse(X):
        return np.asarray(X.var(axis=0))
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.asarray(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2)


def _columns(description: Any, n_columns: int) -> Iterable[tuple[str, slice]]:
    """The fields of a row with their columns; each column by itself if there is no schema."""
    try:
        schema = Schema.from_state({key: value for key, value in description.items() if key != "run"})
    except (AttributeError, TypeError, ValueError):  # no schema, or a description in another format
        schema = None
    if schema is None or schema.n_sparse is not None or schema.n_features != n_columns:
        names = [f"column {number}" for number in range(n_columns)]
        if schema is not None and schema.n_features == n_columns:
            names = schema.feature_names
        yield from ((name, slice(at, at + 1)) for at, name in enumerate(names))
        return
    start = 0
    for field in schema.fields:
        if field.n_columns:
            yield field.name, slice(start, start + field.n_columns)
            start += field.n_columns


def _rows(state: "LearnerState", model: _Measured) -> list[dict[str, Any]]:
    """The labeled rows without which the predictions change most, among those that agree least with it."""
    learner, labeled = state.learner, state.labeled
    ids = learner_ids(state)
    if not hasattr(learner, "forget"):
        return []
    used = np.flatnonzero(np.isin(ids, getattr(learner, "support_", ())))
    if not len(used):
        return []
    predicted, scores = predict_scored(learner, labeled.X[used])
    learner = copy.deepcopy(learner)
    if hasattr(learner, "finish"):  # forgetting finishes, too, which must not count as a change
        learner.finish()
    model = _Measured(learner, model.X)
    margins = _margins(scores, [labeled.labels[at] for at in used.tolist()], learner.classes_.tolist())
    found = []
    for place in np.argsort(margins, kind="stable")[:_CANDIDATES].tolist():
        at, without = int(used[place]), copy.deepcopy(learner)
        try:
            without.forget([int(ids[at])])
        except ValueError:  # the last row of a class, or a row that is no longer kept
            continue
        change = model.change(without, model.X)
        found.append(
            {
                "number": int(labeled.numbers[at]),
                "label": labeled.labels[at],
                "predicted": predicted[place],
                **change,
            }
        )
    return sorted(found, key=lambda entry: -float(entry["change"]))[:_MOST_ROWS]


def _margins(scores: Any, labels: list[Any], classes: list[Any]) -> Floats:
    """The decision value of the label minus that of the best other class."""
    values = np.asarray(scores, dtype=np.float64).reshape(len(labels), -1)
    codes = np.array([classes.index(label) for label in labels])
    if values.shape[1] == 1:
        return np.where(codes == 1, values[:, 0], -values[:, 0])
    places = np.arange(len(codes))
    own = values[places, codes]
    others = values.copy()
    others[places, codes] = -np.inf
    return np.asarray(own - others.max(axis=1))
