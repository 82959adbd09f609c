"""Convert the state of a learner to plain values for a snapshot, and back."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from .._base import checked, persist
from ..evaluate.drift import DriftDetector
from ..evaluate.pending_predictions import PendingPredictions
from ..evaluate.prequential import Prequential
from ..evaluate.score_history import ScoreHistory
from ._probabilities import Probabilities
from ._questions import QuestionQueue
from ._row_buffer import RowBuffer
from ._running_moments import RunningMoments

if TYPE_CHECKING:
    from ._learner_state import LearnerState

_COUNTS = ("n_rows", "n_labels", "n_withdrawn", "n_erased", "n_failures", "scaled_at", "n_trained")
_PARTS = (
    "pool",
    "labeled",
    "late",
    "moments",
    "pending",
    "scores",
    "audit",
    "questions",
    "history",
    "probabilities",
)
_VALUES = ("mean", "scale", "schema", "classes", "alarms")


def state_dict(state: LearnerState) -> dict[str, Any]:
    """The complete state as plain values."""
    found: dict[str, Any] = {name: getattr(state, name) for name in (*_COUNTS, *_VALUES)}
    found["classes"] = list(state.classes)
    for name in ("learner", "semi_supervised"):
        part = getattr(state, name)
        found[name] = None if part is None else persist.describe(part)
    for name in _PARTS:
        found[name] = getattr(state, name).state()
    found["drift"] = None if state.drift is None else state.drift.state()
    found["random"] = copy.deepcopy(state.random.bit_generator.state)
    return found


def restore(state: LearnerState, saved: dict[str, Any]) -> None:
    """Set a new state to the values saved by `state_dict`."""
    _check(saved)
    for name in (*_COUNTS, *_VALUES):
        setattr(state, name, saved[name])
    for name in ("learner", "semi_supervised"):
        setattr(state, name, None if saved[name] is None else persist.revive(saved[name]))
    for name in ("pool", "labeled", "late"):
        setattr(state, name, RowBuffer.from_state(saved[name]))
    state.moments = RunningMoments.from_state(saved["moments"])
    state.pending = PendingPredictions.from_state(saved["pending"])
    state.scores, state.audit = (Prequential.from_state(saved[name]) for name in ("scores", "audit"))
    state.questions = QuestionQueue.from_state(saved["questions"], state.settings)
    state.probabilities = Probabilities.from_state(saved["probabilities"])
    state.history = ScoreHistory.from_state(saved["history"])
    state.drift = None if saved["drift"] is None else DriftDetector.from_state(saved["drift"])
    state.random.bit_generator.state = saved["random"]


def _check(state: dict[str, Any]) -> None:
    """Refuse counts and values with which a stream cannot continue."""
    for name in _COUNTS:
        checked.integer(name, state[name])
    if (state["mean"] is None) != (state["scale"] is None):
        raise ValueError("mean and scale must both be None or both be given")
    if state["mean"] is not None:
        width = len(checked.floats("mean", state["mean"], (None,)))
        checked.floats("scale", state["scale"], (width,), least=0.0)
    if state["schema"] is not None:
        checked.table("schema", state["schema"])
    checked.items("classes", state["classes"])
    for alarm in checked.items("alarms", state["alarms"]):
        checked.table("alarm", alarm)
