"""The state of a fold in values that a file can hold, and back."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .._base import checked, persist
from ..evaluate.drift import DriftDetector
from ..evaluate.prequential import Prequential, Remembered
from ..evaluate.trace import Trace
from ._asking import Asking
from ._kept import Kept
from ._moments import Moments
from ._probabilities import Probabilities

if TYPE_CHECKING:
    from ._fold import Fold

_COUNTS = ("n_rows", "n_labels", "n_withdrawn", "n_erased", "n_failures", "scaled_at", "taught")
_PARTS = (
    "pool",
    "labeled",
    "late",
    "moments",
    "remembered",
    "scores",
    "audit",
    "asking",
    "trace",
    "probabilities",
)
_VALUES = ("mean", "scale", "schema", "classes", "alarms")


def state_of(fold: Fold) -> dict[str, Any]:
    """All of a fold, as a snapshot holds it."""
    found: dict[str, Any] = {name: getattr(fold, name) for name in (*_COUNTS, *_VALUES)}
    found["classes"] = list(fold.classes)
    for name in ("learner", "semi_supervised"):
        thing = getattr(fold, name)
        found[name] = None if thing is None else persist.describe(thing)
    for name in _PARTS:
        found[name] = getattr(fold, name).state()
    found["drift"] = None if fold.drift is None else fold.drift.state()
    found["random"] = copy.deepcopy(fold.random.bit_generator.state)
    return found


def restore(fold: Fold, state: dict[str, Any]) -> None:
    """Bring a new fold to the state that `state_of` described."""
    state = {"n_erased": 0} | state  # not in states of before rows could be erased
    _check(state)
    for name in (*_COUNTS, *_VALUES):
        setattr(fold, name, state[name])
    for name in ("learner", "semi_supervised"):
        setattr(fold, name, None if state[name] is None else persist.revive(state[name]))
    for name in ("pool", "labeled", "late"):
        setattr(fold, name, Kept.from_state(state[name]))
    fold.moments = Moments.from_state(state["moments"])
    fold.remembered = Remembered.from_state(state["remembered"])
    fold.scores, fold.audit = (Prequential.from_state(state[name]) for name in ("scores", "audit"))
    fold.asking = Asking.from_state(state["asking"], fold.settings)
    fold.probabilities = Probabilities.from_state(state["probabilities"])
    fold.trace = Trace.from_state(state["trace"])
    fold.drift = None if state["drift"] is None else DriftDetector.from_state(state["drift"])
    fold.random.bit_generator.state = state["random"]


def _check(state: dict[str, Any]) -> None:
    """Refuse counts and values that a fold could not go on with."""
    for name in _COUNTS:
        checked.integer(name, state[name])
    if (state["mean"] is None) != (state["scale"] is None):
        raise ValueError("mean and scale must be there together")
    if state["mean"] is not None:
        width = len(checked.floats("mean", state["mean"], (None,)))
        checked.floats("scale", state["scale"], (width,), least=0.0)
    if state["schema"] is not None:
        checked.table("schema", state["schema"])
    checked.items("classes", state["classes"])
    for alarm in checked.items("alarms", state["alarms"]):
        checked.table("alarm", alarm)
