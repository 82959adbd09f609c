"""What newly labeled rows say about the predictions that were made for them: scores, checks, drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.validate import Rows
from ..store.events import Ints

if TYPE_CHECKING:
    from ._learner_state import LearnerState

AFTER_DRIFT = 100  # labeled rows on which the learner is retrained after drift
_MAX_ALARMS = 1000


def score_predictions(state: LearnerState, numbers: Ints, X: Rows, labels: list[Any], time: float) -> bool:
    """Score the predictions of newly labeled rows, close their questions; returns whether there is drift."""
    found, predicted, scores = state.pending.take(numbers.tolist())
    checks = [at for at, number in enumerate(numbers.tolist()) if state.questions.is_check(number)]
    last = dict(zip(checks, state.predict_scored(X[checks])[0], strict=True)) if checks else {}
    now = {"answered_row": state.n_rows, "answered_labels": state.n_labels}
    answers = [
        state.questions.answer(number, label=label, predicted_last=last.get(at), **now)
        for at, (number, label) in enumerate(zip(numbers.tolist(), labels, strict=True))
    ]
    for i, question in enumerate(answers):
        if found[i] and predicted[i] is None and question is not None:
            predicted[i] = question.predicted  # the row came before there was a model
    if found.any():
        truth = [label for label, there in zip(labels, found.tolist(), strict=True) if there]
        state.scores.update(truth, predicted[found], scores[found])
    fair = np.array([q is None or q.kind == "audit" for q in answers], dtype=bool)
    if state.learner is not None:
        state.probabilities.update(scores, labels, fair, state.learner.classes_.tolist())
    audits = fair & found & [q is not None for q in answers]
    if audits.any():
        truth = [label for label, there in zip(labels, audits.tolist(), strict=True) if there]
        state.audit.update(truth, predicted[audits], scores[audits])
    if state.drift is None:
        return False
    errors = [
        float(guess != label)
        for guess, label, there in zip(predicted.tolist(), labels, found.tolist(), strict=True)
        if there and guess is not None
    ]
    alarms = state.drift.update(errors) if errors else []
    for _ in alarms:
        alarm = {"row": state.n_rows, "labels": state.n_labels, "time": time, "policy": state.drift.policy}
        state.alarms = [*state.alarms, alarm | {"note": _action(state, state.drift.policy)}][-_MAX_ALARMS:]
    return bool(alarms)


def _action(state: LearnerState, policy: str) -> str:
    """The action taken after a drift alarm, as text."""
    if policy == "alarm":
        return "reported only"
    count = min(state.n_restart_rows(), len(state.labeled) or AFTER_DRIFT)
    action = f"learner restarted on the last {count} labels"
    return action + ("; older rows dropped" if policy == "forget" else "")
