"""Prediction, incremental training and retraining of the learner of a stream."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._base.validate import Array, Rows
from ..adaptive import AdaptiveSVM
from ..errors import CoreError
from ..store.events import Ints, as_labels
from ..svm import IDSVM, LocalSVM
from ._candidates import labels_of
from ._row_buffer import RowBuffer

_FIRST_ROWS = 1000  # rows from which feature statistics such as gamma="scale" are computed
_NUMBERED = (IDSVM, LocalSVM)  # learners that get the row numbers of the stream as ids


def predict_scored(learner: Any, X: Rows) -> tuple[list[Any], Any]:
    """Predictions and decision values of scaled rows; None for each until there is a model."""
    if learner is None or X.shape[0] == 0:
        return [None] * X.shape[0], None
    scores = np.asarray(learner.decision_function(X))
    return labels_of(learner, scores, X), scores


def has_row_numbers(learner: Any) -> bool:
    """Whether the learner knows rows by their numbers in the stream."""
    return isinstance(learner, _NUMBERED)


def train(learner: Any, X: Rows, labels: list[Any], numbers: Ints, classes: Array | None = None) -> bool:
    """Train a learner on more rows; returns whether it succeeded. A failure leaves the learner unchanged."""
    options: dict[str, Any] = {} if classes is None else {"classes": classes}
    if has_row_numbers(learner):
        options["ids"] = numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one per batch would be noise: scores show it
        try:
            learner.partial_fit(X, as_labels(labels), **options)
        except CoreError:
            return False
    return True


def train_new(pattern: Any, rows: RowBuffer, unlabeled: RowBuffer, classes: list[Any], before: Any) -> Any:
    """Train a new learner on labeled rows; returns None if that fails.

    Feature statistics, such as gamma="scale", are computed from unlabeled rows as well. An `AdaptiveSVM`
    keeps the expert weights of the learner ``before``.
    """
    learner, named = clone(pattern), as_labels(classes)
    if hasattr(learner, "prepare"):
        first = RowBuffer(rows.X, rows.numbers)
        some = RowBuffer(unlabeled.X, unlabeled.numbers)
        some.keep_last(_FIRST_ROWS)
        first.add(some.X, some.numbers)
        learner.prepare(first.X[:_FIRST_ROWS], named)
    if isinstance(learner, AdaptiveSVM):
        return learner.retrain(rows.X, as_labels(rows.labels), before)
    return learner if train(learner, rows.X, rows.labels, rows.numbers, named) else None
