"""Labels of pairs: checked, as plain values, and whether they contradict each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import checked
from .answers import Contradiction, contradictions
from .blocking import Pairs
from .records import Records

Label = tuple[int, int, bool]


def checked_labels(pairs: Pairs, y: ArrayLike, left: Records, right: Records | None) -> NDArray[np.int64]:
    """Labels of pairs of these tables, 0 or 1, or an error."""
    labels = np.asarray(y)
    if labels.shape != (len(pairs),):
        raise ValueError(f"y must have a label for each of {len(pairs)} pairs, got shape {labels.shape}.")
    if len(labels) and not np.isin(labels, [0, 1]).all():
        raise ValueError(f"y must be 1 or True for a match and 0 or False otherwise, got {labels[:5]!r}.")
    for name, places, n in (
        ("left", pairs.left, len(left)),
        ("right", pairs.right, len(left if right is None else right)),
    ):
        if len(places) and not (places.min() >= 0 and places.max() < n):
            raise ValueError(f"pairs.{name} has places that are not in the table of {n} records.")
    return labels.astype(np.int64)


def contradicting(labels: list[Label]) -> list[Contradiction]:
    """The labels that contradict others."""
    return contradictions([(a, b) for a, b, _ in labels], [same for *_, same in labels])


def labels_from_state(state: Any, n_records: int) -> list[Label]:
    """Labels of pairs of so many records."""
    found = []
    for label in checked.items("labels", state):
        a, b, same = checked.items("label", label, 3)
        first, second = (checked.integer("label", end, 0, n_records - 1) for end in (a, b))
        found.append((first, second, checked.flag("label", same)))
    return found


def pairs_of_labels(labels: list[Label], offset: int) -> tuple[Pairs, Any]:
    """The pairs of labels, and the labels as numbers; records of the second table count from ``offset``."""
    ends = np.array([(a, b - offset) for a, b, _ in labels], dtype=np.intp).reshape(-1, 2)
    return Pairs(ends[:, 0], ends[:, 1]), np.array([same for *_, same in labels], dtype=np.int64)
