"""What comes of a batch."""

from dataclasses import dataclass
from typing import Any

from .._base.validate import Array
from ..store.lookup import Id
from ._asking import Question


@dataclass(frozen=True)
class Outcome:
    """What `NeverEndingLearner.step` returns, once the batch is durable.

    Attributes
    ----------
    ids : list
        The ids of the rows.
    predictions : ndarray of shape (n_rows,)
        What the learner held them for when they came; None as long as it has not seen two classes.
    decision_values : ndarray or None
        Its decision values.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Calibrated probabilities of the classes, in the order of ``classes`` in `status`.
    prediction_sets : list of list or None
        For each row the classes that may be true, if ``coverage`` was promised.
    questions : list of Question
        Rows that it asks about: the ``id``, and the ``reason`` for each.
    scores : dict
        How it fares: accuracy, g_means, mcc and auc over the last labels.
    drift_detected : bool
        Whether labels in this batch have raised an alarm.
    """

    ids: list[Id]
    predictions: Array
    decision_values: Any
    probabilities: Any
    prediction_sets: Any
    questions: list[Question]
    scores: dict[str, float]
    drift_detected: bool
