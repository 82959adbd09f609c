"""The candidate rows for questions, with decision values that are computed once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.validate import Array, Rows
from ._row_buffer import RowBuffer

Places = npt.NDArray[np.intp]


def labels_of(model: Any, scores: Any, X: Rows) -> list[Any]:
    """The predicted labels of rows whose decision values are known."""
    if hasattr(model, "labels_of"):
        return list(model.labels_of(scores).tolist())
    return list(model.predict(X).tolist())


class Candidates:
    """The rows to select questions from: those of the batch, and recent earlier ones.

    Parameters
    ----------
    rows : RowBuffer
        The unlabeled rows, those of the batch last.
    n_fresh : int
        The number of rows from the batch.
    model : classifier or None
        The current model; None if there is none yet.
    fresh_scores : ndarray or None, default=None
        The decision values of the rows of the batch, if this model has already computed them.
    """

    def __init__(self, rows: RowBuffer, n_fresh: int, model: Any, fresh_scores: Any = None) -> None:
        self.rows, self.model, self.n_older = rows, model, len(rows) - n_fresh
        self._fresh_scores = fresh_scores
        self._scores = fresh_scores if self.n_older == 0 else None

    def scores(self) -> Array:
        """The decision values of all rows."""
        if self._scores is None:
            if self._fresh_scores is None:
                self._scores = np.asarray(self.model.decision_function(self.rows.X))
            else:
                older = self.model.decision_function(self.rows.X[: self.n_older])
                self._scores = np.concatenate([older, self._fresh_scores])
        return self._scores

    def scores_at(self, places: Places) -> Array:
        """The decision values of some rows; other rows are not scored."""
        if self._scores is not None:
            return np.asarray(self._scores[places])
        if self._fresh_scores is not None and (places >= self.n_older).all():
            return np.asarray(self._fresh_scores[places - self.n_older])
        return np.asarray(self.model.decision_function(self.rows.X[places]))

    def predictions_at(self, places: Places) -> list[Any]:
        """The predictions for some rows; None for each if there is no model yet."""
        if self.model is None:
            return [None] * len(places)
        return labels_of(self.model, self.scores_at(places), self.rows.X[places])


class KnownScores:
    """A stand-in for the model, for strategies that use decision values only: its rows are positions."""

    def __init__(self, scores: Array, classes: Array) -> None:
        self._scores, self.classes_ = scores, classes

    def rows(self) -> Places:
        """A column with the position of each row, to be passed as X."""
        return np.arange(len(self._scores))[:, np.newaxis]

    def decision_function(self, X: Places) -> Array:
        """The decision values at some positions."""
        return np.asarray(self._scores[X[:, 0]])
