"""A `PairwiseLinker` as plain values, and from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base import checked, persist
from . import _describe
from .blocking import Pairs

Label = tuple[int, int, bool]


def parameters_state(learner: Any, features: Any, blocking: Any) -> dict[str, Any]:
    """The parameters that are objects."""
    return {
        "learner": None if learner is None else persist.describe(learner),
        "features": None if features is None else _describe.features_state(features),
        "blocking": None if blocking is None else _describe.blocking_state(blocking),
    }


def parameters_from_state(state: Any) -> dict[str, Any]:
    """All parameters of a linker."""
    given = dict(checked.table("params", state))
    for name, read in (
        ("learner", persist.revive),
        ("features", _describe.features_from_state),
        ("blocking", _describe.blocking_from_state),
    ):
        given[name] = None if given[name] is None else read(given[name])
    return given


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
