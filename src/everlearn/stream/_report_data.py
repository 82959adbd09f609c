"""Collect the data of a report from the state and the log of a learner."""

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np

from ..store.log import Log
from ._learner_state import LearnerState
from ._questions import Question
from ._settings import StreamSettings

_SCORES = ("accuracy", "g_means", "mcc", "auc")
_Z = 1.96  # 95 % confidence


def report_data_of(
    state: LearnerState,
    settings: StreamSettings,
    log: Log,
    status: dict[str, Any],
    named: Callable[[list[Question]], list[Question]],
    about: dict[str, Any],
) -> dict[str, Any]:
    """The data of a report, for `everlearn.report`."""
    columns = state.history.columns
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
        "confusion": [_square(entry, state.classes) for entry in state.history.matrices],
        "window": min(settings.window, state.scores.n_seen),
        "notes": [f"The learner failed to learn labels {state.n_failures} times; these labels were skipped."]
        if state.n_failures
        else [],
    }
    if "audit" in columns:
        data["audit"] = {"rows": columns["rows"], **_with_bounds(columns["audit"], columns["audit_n"])}
    return data | about


def _utc(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):  # not seconds since 1970
        return str(seconds)


def _with_bounds(fractions: list[float], counts: list[float]) -> dict[str, list[float]]:
    """Accuracies with their Wilson confidence intervals."""
    p, n = np.array(fractions), np.maximum(np.array(counts), 1)
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    return {"accuracy": p.tolist(), "lower": (middle - half).tolist(), "upper": (middle + half).tolist()}


def _square(entry: dict[str, Any], classes: list[Any]) -> dict[str, Any]:
    """A confusion matrix over all classes, including those that appeared later."""
    size, at = len(classes), [classes.index(label) for label in entry["classes"]]
    matrix = np.zeros((size, size))
    matrix[np.ix_(at, at)] = entry["matrix"]
    return {"row_from": entry["row_from"], "row_to": entry["row_to"], "matrix": matrix.tolist()}
