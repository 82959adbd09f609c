"""What the learner would predict for labeled rows if it had not learned them: copies of it forget them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.validate import Array, Rows
from ..store.events import Ints
from ._training import has_row_numbers, predict_scored

if TYPE_CHECKING:
    from ._learner_state import LearnerState


def learner_ids(state: LearnerState) -> Ints:
    """The ids by which the learner knows the labeled rows in memory; negative if it has not learned them.

    Most learners number the rows that they learn from 0, beginning anew when they are retrained. If learning
    has failed, the numbers cannot be told.
    """
    if has_row_numbers(state.learner):
        return state.labeled.numbers
    n = len(state.labeled)
    return np.full(n, -1) if state.n_failures else np.arange(n) - n + state.n_trained


class HeldOut:
    """Labeled rows, and a copy of the learner from which each can be left out; it needs no lock.

    Parameters
    ----------
    state : LearnerState
        The state, with a learner.
    places : array-like of int
        The places of the rows among the labeled rows in memory.
    """

    def __init__(self, state: LearnerState, places: Any) -> None:
        kept = state.labeled
        chosen = np.asarray(places, dtype=np.intp)
        self.X: Rows = kept.X[chosen]
        self.ids: list[int] = learner_ids(state)[chosen].tolist()
        self.labels = [kept.labels[at] for at in chosen]
        self._learner = copy.deepcopy(state.learner)
        trained = kept.labels[max(0, len(kept) - state.n_trained) :]
        self._alone = {label for label in self.labels if trained.count(label) < 2}

    def without(self, at: int) -> tuple[Any, Array | None]:
        """The prediction and the decision values for a row by a learner that has forgotten it.

        They are None if nothing is left of the row's class. A row that the learner does not keep is predicted
        by the learner as it is.
        """
        if self.labels[at] in self._alone:
            return None, None
        learner = self._learner
        if hasattr(learner, "forget"):
            learner = copy.deepcopy(learner)
            try:
                learner.forget([self.ids[at]])
            except (ValueError, KeyError):  # it was dropped
                learner = self._learner
        labels, scores = predict_scored(learner, self.X[at : at + 1])
        return labels[0], (scores if learner.classes_.tolist() == self._learner.classes_.tolist() else None)
