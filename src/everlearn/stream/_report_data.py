"""Collect the data of a report from the state and the log of a learner."""

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np

from ..evaluate.intervals import CONFIDENCE, wilson
from ..evaluate.report_data import Confusion, RandomRows
from ..store.log import Log
from ._learner_state import LearnerState
from ._questions import Question
from ._settings import StreamSettings

_SCORES = ("accuracy", "g_means", "mcc", "auc")


def report_data_of(
    state: LearnerState,
    settings: StreamSettings,
    log: Log,
    status: dict[str, Any],
    named: Callable[[list[Question]], list[Question]],
    about: dict[str, Any],
) -> dict[str, Any]:
    """The data of a report, for `everlearn.report`."""
    columns = state.curves()
    meters = log.meters()
    shown = ("rows", "labels", "asked", "support_vectors", *_SCORES, *(f"fading_{name}" for name in _SCORES))
    curves: dict[str, Any] = {name: columns[name] for name in shown if name in columns}
    for name in ("no_change", "majority"):
        if name in columns:
            curves[f"{name}_accuracy"] = columns[name]
    questions = named([*state.questions.answered, *state.questions.open.values()])
    total = float(meters[:, 1].sum())
    if "rows" in curves and len(meters):
        curves["seconds"] = np.interp(curves["rows"], meters[:, 0], meters[:, 1].cumsum()).tolist()
        curves["memory_mb"] = np.interp(curves["rows"], meters[:, 0], meters[:, 2]).tolist()
    data: dict[str, Any] = {
        "title": "everlearn",
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "learner": repr(settings.learner),
        "store": str(log.database),
        "classes": [str(label) for label in state.classes],
        "totals": {
            "rows": state.n_rows,
            "labels": state.n_labels,
            "open_questions": len(state.questions.open),
            "asked": state.questions.n_asked,
            "budget": settings.label_budget,
            "support_vectors": state.n_support,
            "memory_mb": status["memory_mb"],
            "seconds": total,
            "rows_per_second": state.n_rows / total if total > 0 else None,
            "drift_alarms": len(state.alarms),
        },
        "curves": curves,
        "drift": [alarm | {"time": _utc(alarm["time"])} for alarm in state.alarms],
        "questions": [
            {
                "id": q.id,
                "asked_row": q.asked_row,
                "kind": q.kind,
                "reason": q.reason,
                "utility": q.utility,
                "label": q.label,
                "predicted": q.predicted,
                "answered_row": q.answered_row,
            }
            for q in questions
        ],
        "confusion": [_square(period, state.classes) for period in _periods(state)],
        "random_rows": _random_rows(state),
        "window": state.scores.accuracy("window")[1],
        "notes": [f"The learner failed to learn labels {state.n_failures} times; these labels were skipped."]
        if state.n_failures
        else [],
    }
    if "audit" in columns:
        counts = np.array(columns["audit_n"])
        lower, upper = wilson(columns["audit"], np.where(counts > 0, counts, np.nan))
        data["audit"] = {
            "rows": columns["rows"],
            "accuracy": columns["audit"],
            "lower": lower.tolist(),
            "upper": upper.tolist(),
            "confidence": CONFIDENCE,
        }
    return data | about


def _periods(state: LearnerState) -> list[dict[str, Any]]:
    return state.history.periods(state.scores, state.n_rows)


def _random_rows(state: LearnerState) -> RandomRows:
    """The scored rows that the learner did not choose.

    These are the answers to audit questions. If most labels came without a question, they are the last
    labeled rows, among which questions are few.
    """
    asked = state.questions.n_answered
    by_audit = asked > 0 and (asked >= state.n_labels - asked or state.audit.n_seen >= state.scores.n_seen)
    scores = state.audit if by_audit else state.scores
    classes, matrix = scores.confusion("window")
    period = {"row_from": 0, "row_to": state.n_rows, "classes": classes.tolist(), "matrix": matrix}
    return {"matrix": _square(period, state.classes)["matrix"], "drawn": "audit" if by_audit else "given"}


def _utc(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # not seconds since 1970
        return str(seconds)


def _square(entry: dict[str, Any], classes: list[Any]) -> Confusion:
    """A confusion matrix over all classes."""
    size, at = len(classes), [classes.index(label) for label in entry["classes"]]
    matrix = np.zeros((size, size))
    if at:
        matrix[np.ix_(at, at)] = entry["matrix"]
    return {"row_from": entry["row_from"], "row_to": entry["row_to"], "matrix": matrix.tolist()}
