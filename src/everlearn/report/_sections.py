"""The sections of a report with charts, and the table of drift alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _text
from ._axis import time_range
from ._curves import Band, Chart, Line, Mark, column
from ._parts import card, cards, figure, fold_out, table
from .data import MEASURES

ReportData = Mapping[str, Any]

ALARMS = 50  # rows of the table of alarms

NAMES = {
    "g_means": "G-means",
    "accuracy": "Accuracy",
    "mcc": "Matthews correlation coefficient",
    "auc": "ROC AUC",
}
_UNITS = {
    "g_means": "g-means",
    "accuracy": "accuracy on labeled rows",
    "mcc": "MCC",
    "auc": "ROC AUC",
}
_CAPTIONS = {
    "g_means": "The geometric mean of the recalls of all classes. It is 0 if one class is never recognized.",
    "accuracy": "The fraction of labeled rows that were predicted correctly.",
    "mcc": "1 is perfect, 0 is no better than chance, below 0 is worse.",
    "auc": "The probability that a positive row scores above a negative one: 1 is perfect, 0.5 is chance.",
    "auc of classes": "The probability that a row of a class scores higher for it than a row of another, "
    "averaged over the classes: 1 is perfect, 0.5 is chance.",
}
_BASELINE_CAPTION = " A useful learner is above both baselines."
_AUDIT_CAPTION = (
    " Rows that the learner chose to ask about are harder than others: only the random sample estimates the "
    "accuracy on all rows."
)
_NEAR = 0.02  # a lead over the baseline that does not count
_GOOD_AUC, _BAD_AUC = 0.75, 0.6
_RESOURCES = (
    (
        "support_vectors",
        "Support vectors",
        "support vectors",
        "own c1",
        "The cost of a prediction is proportional to their number, which should level off.",
    ),
    ("memory_mb", "Memory", "megabytes", "own c3", "Memory should stay bounded, however long the stream is."),
    (
        "seconds",
        "Time",
        "seconds",
        "own c2",
        "Straight: constant speed. Curved upward: the learner slows down.",
    ),
)
_MANY = 3  # curves that fit in a chart of half the width
_PEER_STYLES = ("c2", "c5", "c2 dash", "c5 dash", "c4 dash")


def row_range(data: ReportData) -> tuple[float, float]:
    """The range of rows, the same for all charts."""
    sources = [data.get("curves") or {}, data.get("audit") or {}, *_text.items(data.get("peers"))]
    columns = [column(source["rows"]) for source in sources if "rows" in source]
    alarms, questions = _text.items(data.get("drift")), _text.items(data.get("questions"))
    rows = [*(alarm.get("row") for alarm in alarms), *(question.get("asked_row") for question in questions)]
    return time_range(np.concatenate([*columns, column([_text.real(row) for row in rows])]))


def drift_marks(data: ReportData) -> list[Mark]:
    """The drift alarms as marks for the charts."""
    marks = []
    for alarm in _text.items(data.get("drift")):
        row = _text.real(alarm.get("row"))
        if row is not None:
            what = [str(alarm[key]) for key in ("policy", "note") if _text.is_known(alarm.get(key))]
            marks.append(
                Mark(
                    row,
                    ": ".join([f"Drift alarm at row {_text.count(row)}", ", ".join(what)][: 1 + bool(what)]),
                )
            )
    return marks


def headline(data: ReportData) -> tuple[str, float] | None:
    """The main score of a report and its last value: the first of `MEASURES` that is known."""
    curves = data.get("curves") or {}
    for measure in MEASURES:
        if (last := last_known(curves.get(measure))) is not None:
            return measure, last
    return None


def last_known(values: Any) -> float | None:
    """The last finite value of a column, or None."""
    if values is None:
        return None
    numbers = column(values)
    seen = np.flatnonzero(np.isfinite(numbers))
    return float(numbers[seen[-1]]) if len(seen) else None


def score_section(data: ReportData, time: tuple[float, float], marks: Sequence[Mark]) -> str:
    """A chart for each known score; the main score and charts with many curves are wide."""
    charts = [(m, chart) for m in MEASURES if (chart := _score_chart(data, m, time, marks)).has_data()]
    if not charts:
        return ""
    window = data.get("window")
    over = f" The last values are from {_text.plural(window, 'scored row')}." if window else ""
    caption = (
        '<p class="caption">Every row is predicted before its label is learned. The curves start with the '
        f"first row that was scored.{_text.escaped(over)} Legends show the last value, or the value under "
        "the pointer.</p>\n"
    )
    if text := disagreement(data):
        caption += f'<p class="explained">{_text.escaped(text)}</p>\n'
    wide = [chart for place, chart in enumerate(charts) if place == 0 or len(chart[1].lines) > _MANY]
    drawn = _figures(
        {f"score-{m.replace('_', '-')}": chart for m, chart in charts}, [chart for _, chart in wide]
    )
    return caption + drawn


def disagreement(data: ReportData) -> str:
    """Why the AUC and the accuracy differ, if they tell different stories; otherwise ""."""
    curves = data.get("curves") or {}
    accuracy, auc, majority = (last_known(curves.get(k)) for k in ("accuracy", "auc", "majority_accuracy"))
    if accuracy is None or auc is None or majority is None:
        return ""
    numbers = f"The AUC is {_text.score(auc, 2)} and the accuracy {_text.score(accuracy, 2)}"
    baseline = f"the majority baseline has {_text.score(majority, 2)}"
    if auc >= _GOOD_AUC and accuracy <= majority + _NEAR:
        return (
            f"{numbers}, but {baseline}. Both are right: the learner puts the rows in a good order, but few "
            "cross the decision boundary. To find more of a rare class, use the probabilities of `everlearn "
            "predict` with a lower threshold, or set class_weight."
        )
    if auc < _BAD_AUC and accuracy > majority + _NEAR:
        return (
            f"{numbers}. Both are right: predictions are mostly correct, but among rows of different classes "
            "the decision values are in a poor order. Do not rank rows by them."
        )
    if auc < _BAD_AUC and accuracy >= 0.75:
        return (
            f"{numbers}, but {baseline}. Most rows are of one class, so the accuracy is high although the "
            "learner can hardly tell the classes apart."
        )
    return ""


def _figures(charts: Mapping[str, Chart], wide: Sequence[Chart] = ()) -> str:
    """Wide charts in one column, the others in two or three; a single other chart is wide, too."""
    small = [name for name, chart in charts.items() if chart not in wide]
    small = small if len(small) > 1 else []
    drawn = cards(*(figure(chart, name, wide=True) for name, chart in charts.items() if name not in small))
    return drawn + cards(*(figure(charts[name], name) for name in small), three=len(small) % 3 == 0)


def _score_chart(data: ReportData, measure: str, time: tuple[float, float], marks: Sequence[Mark]) -> Chart:
    curves, audit = data.get("curves") or {}, data.get("audit") or {}
    lines, bands = [], []

    def step(prefix: str, name: str, style: str) -> None:
        if prefix + measure in curves:
            lines.append(Line(name, column(curves["rows"]), column(curves[prefix + measure]), style))

    step("", "this learner", "own c1")
    step("fading_", "recent rows weighted more", "fading c1")
    if measure == "accuracy" and "accuracy" in audit:
        rows = column(audit["rows"])
        lines.append(Line("random sample", rows, column(audit["accuracy"]), "c3"))
        known = bool(np.isfinite(column(audit["accuracy"])).any())
        if known and "lower" in audit and "upper" in audit:
            level = _text.real(audit.get("confidence"))
            name = "confidence interval" if level is None else f"{100 * level:.4g}% confidence interval"
            bands.append(Band(name, rows, column(audit["lower"]), column(audit["upper"]), "c3"))
    peers = [peer for peer in _text.items(data.get("peers")) if measure in peer]
    for place, peer in enumerate(peers):
        style = _PEER_STYLES[place % len(_PEER_STYLES)]
        name = str(peer.get("name", f"other learner {place + 1}"))
        lines.append(Line(name, column(peer["rows"]), column(peer[measure]), style))
    without = len(lines)
    step("no_change_", "baseline: last label repeated", "nochange")
    step("majority_", "baseline: majority class", "majority")
    caption = (
        _CAPTIONS[
            "auc of classes" if measure == "auc" and len(_text.items(data.get("classes"))) > 2 else measure
        ]
        + (_BASELINE_CAPTION if len(lines) > without else "")
        + (_AUDIT_CAPTION if bands else "")
    )
    return Chart(NAMES[measure], caption, _UNITS[measure], time, lines, bands, marks, scores=True)


def label_chart(data: ReportData, time: tuple[float, float], marks: Sequence[Mark]) -> str:
    """Cumulative labels and questions, with the budget."""
    curves, totals = data.get("curves") or {}, data.get("totals") or {}
    lines = [
        Line(name, column(curves["rows"]), column(curves[key]), style)
        for key, name, style in (("asked", "questions", "own c1"), ("labels", "labels", "c3"))
        if key in curves
    ]
    budget = _text.real(totals.get("budget"))
    caption = "Cumulative counts."
    level = ("budget", budget) if budget is not None else None
    return figure(
        Chart("Labels and questions", caption, "count", time, lines, (), marks, level),
        "labels",
        wide=True,
    )


def resource_section(data: ReportData, time: tuple[float, float], marks: Sequence[Mark]) -> str:
    """Support vectors, memory and time."""
    curves = data.get("curves") or {}
    charts: dict[str, Chart] = {}
    for key, title, unit, style, caption in _RESOURCES:
        if key in curves:
            line = Line(title.lower(), column(curves["rows"]), column(curves[key]), style)
            chart = Chart(title, caption, unit, time, [line], (), marks)
            charts |= {key.replace("_", "-"): chart} if chart.has_data() else {}
    return _figures(charts)


def drift_section(data: ReportData) -> str:
    """A table of the drift alarms, newest first."""
    alarms = list(_text.items(data.get("drift")))
    if not alarms:
        return ""
    rows = [
        [
            _text.count(alarm.get("row")),
            *(
                _text.clipped(alarm[key], 200) if _text.is_known(alarm.get(key)) else _text.UNKNOWN
                for key in ("time", "policy", "note")
            ),
        ]
        for alarm in reversed(alarms[-ALARMS:])
    ]
    caption = "When concept drift was detected, and the action taken."
    if len(alarms) > ALARMS:
        caption += f" The last {ALARMS} of {len(alarms):,}."
    listed = table(["row", "time", "action", "note"], rows, numbers="nttt")
    return cards(card("Alarms, newest first", caption, listed, wide=True))


def feature_section(data: ReportData) -> str:
    """The schema."""
    text = data.get("features")
    if not text:
        return ""
    lines = text.count("\n") + 1
    shown = f'<pre class="scroll" tabindex="0">{_text.escaped(text)}</pre>'
    inside = shown if lines <= 12 else fold_out(f"Show all {lines} lines", shown)
    return cards(card("Schema", "The fields of a row and how they are encoded.", inside, wide=True))
