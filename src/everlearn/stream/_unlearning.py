"""Taking things back from a state: labels that are no longer true, rows that may no longer be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from .._base.forget import stored_ids
from ..store.events import Ints
from ._kept import Kept
from ._moments import Moments

if TYPE_CHECKING:
    from ._fold import Fold


def unlearn_labels(fold: Fold, numbers: Ints) -> None:
    """Take labels back from a learner that forgets exactly; a ValueError where it cannot.

    It cannot if it has not learned all labels, since it once began anew with the newest: without those taken
    back it would have begun with others. Nor can it if a class would be left without a label.
    """
    if len(stored_ids(fold.learner)) != fold.n_labels:
        raise ValueError("The learner has not learned all labels.")
    if not _has_all_classes(fold, numbers):
        raise ValueError("A class would be left without a label.")
    fold.learner.forget(numbers)
    fold.labeled.remove(numbers)
    fold.n_labels -= len(numbers)
    fold.taught -= len(numbers)
    fold.n_withdrawn += len(numbers)


def drop_rows(fold: Fold, numbers: Ints, n_labels: int) -> None:
    """Remove rows, and their labels, from everything that keeps rows.

    A learner that forgets exactly forgets them. Any other begins anew with the labeled rows that are left, so
    that none of its coefficients comes from a row that is gone. What is counted over many rows stays: means
    and spreads, the weights of experts, and scores unless a class is gone, too.

    Parameters
    ----------
    fold : Fold
        The state; it is changed.
    numbers : ndarray
        The rows.
    n_labels : int
        How many of them have a label.
    """
    fold.asking.drop(numbers)
    fold.remembered.take(numbers.tolist())
    for kept in (fold.pool, fold.late):
        kept.remove(numbers)
    if fold.moments.n == 1:  # the mean of a single row is that row
        fold.moments = Moments()
        if fold.mean is not None and fold.scale is not None:
            fold.mean, fold.scale = np.zeros_like(fold.mean), np.ones_like(fold.scale)
    if fold.semi_supervised is not None:  # it keeps rows by no number
        fold.semi_supervised = clone(fold.settings.semi_supervised)
    forgets = fold.forgets and fold.learner is not None and _has_all_classes(fold, numbers)
    learned = np.intersect1d(numbers, stored_ids(fold.learner)) if forgets else numbers[:0]
    there = int((fold.labeled.find(numbers) >= 0).sum())
    fold.labeled.remove(numbers)
    fold.n_labels -= n_labels
    if n_labels:
        _drop_classes(fold)
    if forgets:
        if len(learned):
            fold.learner.forget(learned)
        fold.taught -= len(learned)
    elif fold.learner is not None and n_labels:
        fold.learner, before = None, fold.learner
        fold.begin_anew(max(1, fold.taught - there), before)


def _drop_classes(fold: Fold) -> None:
    """Drop classes of which no label is left, with the scores, probabilities and questions that name them."""
    left = [label for label in fold.classes if label in set(fold.labeled.labels)]
    if fold.settings.classes is None and left != fold.classes:
        fold.asking.drop_classes(set(fold.classes) - set(left))
        fold.classes = left
        fold.begin_scores()


def _has_all_classes(fold: Fold, without: Ints) -> bool:
    """Whether each class has a label among the rows that are kept, but for some."""
    left = Kept(fold.labeled.X, fold.labeled.numbers, fold.labeled.labels)
    left.remove(without)
    return len(left) > 0 and (fold.settings.classes is not None or not set(fold.classes) - set(left.labels))
