"""Random checks: how good the model was, and how good one is that only learns rows drawn at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._learner_state import LearnerState
from ._row_buffer import RowBuffer
from ._training import predict_scored, train, train_new

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
    """

    labels: int
    label: Any
    predicted: Any

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


def random_checks(state: LearnerState) -> list[RandomCheck]:
    """The random checks in the order of their answers; those without a prediction are left out."""
    return [
        RandomCheck(question.answered_labels, question.label, question.predicted_last)
        for question in state.questions.answered
        if question.kind == "audit"
        and question.answered_labels is not None
        and question.predicted_last is not None
    ]


class RandomBaseline:
    """A learner of the same kind that is fed the random checks alone.

    What it needs is copied, so that `points` needs no lock.
    """

    def __init__(self, state: LearnerState) -> None:
        kept = state.labeled
        drawn = np.array([q.number for q in state.questions.answered if q.kind == "audit"], dtype=np.int64)
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
                rows = RowBuffer(self.rows[:size], self.numbers[:size], self.labels[:size])
                learner = train_new(self.pattern, rows, self.unlabeled, self.classes, None)
                if learner is None:
                    break
            elif not train(learner, self.rows[start:size], self.labels[start:size], self.numbers[start:size]):
                break
            start = size
            predicted = predict_scored(learner, self.rows[size:])[0]
            right = sum(a == b for a, b in zip(predicted, self.labels[size:], strict=True))
            found.append(BaselinePoint(size, len(predicted), int(right)))
        return found
