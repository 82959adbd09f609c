"""Unlearning: remove withdrawn labels and removed rows from a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from .._base.forget import stored_ids
from ..store.events import Ints
from ._row_buffer import RowBuffer
from ._running_moments import RunningMoments

if TYPE_CHECKING:
    from ._learner_state import LearnerState


def unlearn_labels(state: LearnerState, numbers: Ints) -> None:
    """Remove labels from a learner that forgets exactly; a ValueError if that does not give the right state.

    It does not if the learner was retrained on the newest labels: without the removed ones, it would have
    been retrained on others. Nor if a class would be left without a label.
    """
    if len(stored_ids(state.learner)) != state.n_labels:
        raise ValueError("The learner has not learned all labels.")
    if not _has_all_classes(state, numbers):
        raise ValueError("A class would be left without a label.")
    state.learner.forget(numbers)
    state.labeled.remove(numbers)
    state.n_labels -= len(numbers)
    state.n_trained -= len(numbers)
    state.n_withdrawn += len(numbers)


def drop_rows(state: LearnerState, numbers: Ints, n_labels: int) -> None:
    """Remove rows and their labels from everything that contains rows.

    A learner that forgets exactly forgets them. Any other is retrained on the remaining labeled rows, so that
    no coefficient comes from a removed row. Aggregates over many rows remain: feature means and scales,
    expert weights, and the scores unless a class disappears.

    Parameters
    ----------
    state : LearnerState
        The state; it is changed in place.
    numbers : ndarray
        The numbers of the rows.
    n_labels : int
        The number of labeled ones among them.
    """
    state.questions.drop(numbers)
    state.pending.take(numbers.tolist())
    for kept in (state.pool, state.late):
        kept.remove(numbers)
    if state.moments.n == 1:  # the mean of a single row is that row
        state.moments = RunningMoments()
        if state.mean is not None and state.scale is not None:
            state.mean, state.scale = np.zeros_like(state.mean), np.ones_like(state.scale)
    if state.semi_supervised is not None:  # it keeps rows without their numbers
        state.semi_supervised = clone(state.settings.semi_supervised)
    forgets = state.forgets and state.learner is not None and _has_all_classes(state, numbers)
    learned = np.intersect1d(numbers, stored_ids(state.learner)) if forgets else numbers[:0]
    there = int((state.labeled.find(numbers) >= 0).sum())
    state.labeled.remove(numbers)
    state.n_labels -= n_labels
    if n_labels:
        _drop_classes(state)
    if forgets:
        if len(learned):
            state.learner.forget(learned)
        state.n_trained -= len(learned)
    elif state.learner is not None and n_labels:
        state.learner, before = None, state.learner
        state.retrain(max(1, state.n_trained - there), before)


def _drop_classes(state: LearnerState) -> None:
    """Remove classes without a label, and the scores, probabilities and questions that name them."""
    left = [label for label in state.classes if label in set(state.labeled.labels)]
    if state.settings.classes is None and left != state.classes:
        state.questions.drop_classes(set(state.classes) - set(left))
        state.classes = left
        state.reset_scores()


def _has_all_classes(state: LearnerState, without: Ints) -> bool:
    """Whether each class has a label among the rows in memory, without some of them."""
    left = RowBuffer(state.labeled.X, state.labeled.numbers, state.labeled.labels)
    left.remove(without)
    return len(left) > 0 and (state.settings.classes is not None or not set(state.classes) - set(left.labels))
