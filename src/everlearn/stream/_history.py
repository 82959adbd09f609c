"""What a report shows of a learner, taken from its state and its log."""

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import numpy as np

from ..store.log import Log
from ._asking import Question
from ._fold import Fold
from .settings import Settings

_SCORES = ("accuracy", "g_means", "mcc", "auc")
_Z = 1.96  # of a normal distribution: 95 %


def report_of(
    fold: Fold,
    settings: Settings,
    log: Log,
    status: dict[str, Any],
    named: Callable[[list[Question]], list[Question]],
    about: dict[str, Any],
) -> dict[str, Any]:
    """The report data of a stream, as `everlearn.report` takes it."""
    columns = fold.trace.columns
    meters = log.meters()
    shown = ("rows", "labels", "asked", "support_vectors", *_SCORES, *(f"fading_{name}" for name in _SCORES))
    curves: dict[str, Any] = {name: columns[name] for name in shown if name in columns}
    for name in ("no_change", "majority"):
        if name in columns:
            curves[f"{name}_accuracy"] = columns[name]
    questions = named([*fold.asking.answered, *fold.asking.open.values()])
    total = float(meters[:, 1].sum())
    if "rows" in curves and len(meters):
        curves["seconds"] = np.interp(curves["rows"], meters[:, 0], meters[:, 1].cumsum()).tolist()
        curves["memory_mb"] = np.interp(curves["rows"], meters[:, 0], meters[:, 2]).tolist()
    data: dict[str, Any] = {
        "title": "everlearn",
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "learner": repr(settings.learner),
        "store": str(log.place),
        "classes": [str(label) for label in fold.classes],
        "totals": {
            "rows": fold.n_rows,
            "labels": fold.n_labels,
            "open_questions": len(fold.asking.open),
            "asked": fold.asking.n_asked,
            "budget": settings.label_budget,
            "support_vectors": fold.n_support,
            "memory_mb": status["memory_mb"],
            "seconds": total,
            "rows_per_second": fold.n_rows / total if total > 0 else None,
            "drift_alarms": len(fold.alarms),
        },
        "curves": curves,
        "drift": [dict(alarm) for alarm in fold.alarms],
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
        "confusion": [_square(entry, fold.classes) for entry in fold.trace.matrices],
        "window": settings.window,
        "notes": [f"The learner could not learn labels {fold.n_failures} times, and left them out."]
        if fold.n_failures
        else [],
    }
    if "audit" in columns:
        data["audit"] = {"rows": columns["rows"], **_with_bounds(columns["audit"], columns["audit_n"])}
    return data | about


def _with_bounds(shares: list[float], counts: list[float]) -> dict[str, list[float]]:
    """Wilson's interval about a share of so many rows."""
    p, n = np.array(shares), np.maximum(np.array(counts), 1)
    middle = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    return {"accuracy": p.tolist(), "lower": (middle - half).tolist(), "upper": (middle + half).tolist()}


def _square(entry: dict[str, Any], classes: list[Any]) -> dict[str, Any]:
    """A confusion matrix over all classes, those that came later included."""
    size, places = len(classes), [classes.index(label) for label in entry["classes"]]
    matrix = np.zeros((size, size))
    matrix[np.ix_(places, places)] = entry["matrix"]
    return {"row_from": entry["row_from"], "row_to": entry["row_to"], "matrix": matrix.tolist()}
