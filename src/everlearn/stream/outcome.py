"""The result of a batch."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .._base.validate import Array
from ..evaluate.window_scores import WindowScores
from ..store.lookup import Id
from ._questions import Question


@dataclass(frozen=True)
class Outcome:
    """The result of `NeverEndingLearner.step`; the batch is durable by then.

    Attributes
    ----------
    ids : list
        The ids of the rows.
    predictions : ndarray of shape (n_rows,)
        The predictions, made before any label of the batch was learned; None until two classes are known.
    decision_values : ndarray or None
        The decision values.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Calibrated probabilities of the classes, in the order of ``classes`` in `status`.
    prediction_sets : list of list or None
        For each row the classes in its prediction set, if ``coverage`` was set.
    questions : list of Question
        The rows to ask about, each with its ``id`` and a ``reason``.
    drift_detected : bool
        Whether the labels of this batch raised a drift alarm.
    measured : WindowScores or None
        The last labels as of this batch, from which ``scores`` is computed; None before the first label.
    scores : dict
        Accuracy, g_means, mcc and auc over the last labels, as of this batch. Computed when first read.
    """

    ids: list[Id]
    predictions: Array
    decision_values: Any
    probabilities: Any
    prediction_sets: Any
    questions: list[Question]
    drift_detected: bool
    measured: WindowScores | None = field(default=None, repr=False, compare=False)

    @cached_property
    def scores(self) -> dict[str, Any]:
        """The scores over the last labels; empty before the first one."""
        return {} if self.measured is None else self.measured.measures()
