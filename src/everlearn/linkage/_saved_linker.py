"""A `PairwiseLinker` as plain values, and from them."""

from __future__ import annotations

from typing import Any

from .._base import checked, persist
from . import _describe


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
