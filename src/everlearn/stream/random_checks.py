"""Random checks: how good the model was, and how good one is that only learns rows drawn at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..store.lookup import Id
from ._held_out import HeldOut
from ._learner_state import LearnerState
from ._questions import Question
from ._row_buffer import RowBuffer
from ._scoring import AFTER_DRIFT
from ._training import predict_scored, train, train_new

__all__ = [
    "AFTER_DRIFT",
    "BaselinePoint",
    "RandomBaseline",
    "RandomCheck",
    "SelectedCheck",
    "SelectedRows",
    "answered_checks",
]

_SIZES = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960)  # labels of the baseline
_LEAST_TESTED = 10  # later rows on which it is tested
_STATISTICS = 1000  # unlabeled rows from which feature statistics are computed


@dataclass(frozen=True)
class RandomCheck:
    """A row that was drawn at random and labeled.

    Attributes
    ----------
    labels : int
        The number of labels that the model had learned before.
    label : label
        The label.
    predicted : label
        The prediction of that model.
    share : float, default=1.0
        The fraction of all rows so far from which it was drawn: the strategy had selected the others before.
    id : int or str, default=None
        The id of the row.
    """

    labels: int
    label: Any
    predicted: Any
    share: float = 1.0
    id: Id | None = None

    @property
    def right(self) -> bool:
        """Whether the prediction was right."""
        return bool(self.predicted == self.label)


@dataclass(frozen=True)
class BaselinePoint:
    """A model trained on the first random rows only.

    Attributes
    ----------
    labels : int
        How many labels it was trained on.
    tested : int
        How many later random rows it was tested on.
    right : int
        How many of them it predicted correctly.
    """

    labels: int
    tested: int
    right: int


@dataclass(frozen=True)
class SelectedCheck:
    """A labeled row that the query strategy selected, predicted by a model that has not learned it.

    Attributes
    ----------
    id : int or str
        The id of the row.
    label : label
        The label.
    predicted : label
        The prediction; None if nothing else of its class was learned.
    """

    id: Id
    label: Any
    predicted: Any

    @property
    def right(self) -> bool:
        """Whether the prediction was right."""
        return bool(self.predicted == self.label)


def answered_checks(state: LearnerState) -> list[Question]:
    """The answered questions about random rows; those without a prediction are left out."""
    return [
        question
        for question in state.questions.answered
        if question.share is not None
        and question.answered_labels is not None
        and question.predicted_last is not None
    ]


class SelectedRows:
    """Some labeled rows that the strategy selected, of those that the learner has learned.

    What it needs is copied, so that `checks` needs no lock.
    """

    def __init__(self, state: LearnerState, n: int) -> None:
        self.numbers: list[int] = []
        if state.learner is None or not len(state.labeled):
            return
        asked = [q.number for q in state.questions.answered if q.share is None]
        places = [int(at) for at in state.labeled.find(np.array(asked, dtype=np.int64)) if at >= 0]
        first = len(state.labeled) - state.n_trained
        learned = [at for at in places if at >= first]
        if len(learned) > n:  # every time the same ones, as far as they are still there
            spread = np.linspace(0, len(learned) - 1, n).astype(int)
            learned = [learned[at] for at in spread]
        if learned:
            self.numbers = state.labeled.numbers[learned].tolist()
            self._rows = HeldOut(state, learned)

    def predictions(self) -> list[tuple[Any, Any]]:
        """The label of each row, and the prediction of a copy of the learner that has forgotten the row."""
        return [(self._rows.labels[at], self._rows.without(at)[0]) for at in range(len(self.numbers))]


class RandomBaseline:
    """A learner of the same kind that is fed the random checks alone.

    What it needs is copied, so that `points` needs no lock.
    """

    def __init__(self, state: LearnerState) -> None:
        kept = state.labeled
        drawn = np.array([q.number for q in state.questions.answered if q.share is not None], dtype=np.int64)
        places = [int(at) for at in kept.find(drawn) if at >= 0] if len(kept) and len(drawn) else []
        self.pattern, self.classes = state.settings.learner, list(state.classes)
        self.rows = kept.X[places] if places else None
        self.numbers = kept.numbers[places]
        self.labels = [kept.labels[at] for at in places]
        self.unlabeled = RowBuffer()
        if len(state.pool):
            last = np.arange(max(0, len(state.pool) - _STATISTICS), len(state.pool))
            self.unlabeled = RowBuffer(state.pool.X[last], state.pool.numbers[last])

    def points(self) -> list[BaselinePoint]:
        """Its learning curve: after the first 10, 15, 20, ... random rows, tested on all later ones."""
        found: list[BaselinePoint] = []
        learner: Any = None
        start = 0
        for size in _SIZES:
            if size + _LEAST_TESTED > len(self.labels) or self.rows is None:
                break
            if learner is None:
                if len(set(self.labels[:size])) < 2:
                    continue
                first = self._n_first()
                rows = RowBuffer(self.rows[:first], self.numbers[:first], self.labels[:first])
                learner = train_new(self.pattern, rows, self.unlabeled, self.classes, None)
                if learner is None or not self._train(learner, first, size):
                    break
            elif not self._train(learner, start, size):
                break
            start = size
            predicted = predict_scored(learner, self.rows[size:])[0]
            right = sum(a == b for a, b in zip(predicted, self.labels[size:], strict=True))
            found.append(BaselinePoint(size, len(predicted), int(right)))
        return found

    def _n_first(self) -> int:
        """The number of rows up to the first one of a second class."""
        return 1 + next(at for at, label in enumerate(self.labels) if label != self.labels[0])

    def _train(self, learner: Any, start: int, end: int) -> bool:
        """Train on rows one by one, as people answer: an adaptive learner depends on it."""
        assert self.rows is not None
        return all(
            train(learner, self.rows[at : at + 1], self.labels[at : at + 1], self.numbers[at : at + 1])
            for at in range(start, end)
        )
