"""The parts of a report that are made of curves, and the table of drift alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _text
from ._axis import time_range
from ._parts import card, cards, figure, fold, table
from .curves import Band, Chart, Line, Mark, column
from .data import MEASURES

ReportData = Mapping[str, Any]

ALARMS = 50  # lines of the table of alarms

NAMES = {
    "g_means": "G-means",
    "accuracy": "Accuracy",
    "mcc": "Matthews correlation",
    "auc": "Area under the ROC curve",
}
_UNITS = {
    "g_means": "g-means, from 0 to 1",
    "accuracy": "share of labeled rows predicted right",
    "mcc": "correlation, from −1 to 1",  # noqa: RUF001
    "auc": "area, from 0 to 1",
}
_SAYS = {
    "g_means": "The geometric mean of the recalls: 1 if every class is always found, 0 if one is given up.",
    "accuracy": "The share of predictions that were right.",
    "mcc": "1 is perfect, 0 no better than chance, below 0 worse.",
    "auc": "How often a positive row scores above a negative one: 0.5 is chance, 1 perfect ranking.",
}
_SAYS_BASELINE = " A learner is worth its labels where it runs above the baselines."
_SAYS_AUDIT = (
    " The audit asks at random, so that it alone estimates the accuracy on all rows, labeled or not."
)
_RESOURCES = (
    (
        "support_vectors",
        "Support vectors",
        "rows kept",
        "own c1",
        "The size of the decision rule. It should level off: a prediction costs in proportion.",
    ),
    ("memory_mb", "Memory", "megabytes", "own c3", "It should stay below a bound, however long the stream."),
    (
        "seconds",
        "Time spent",
        "seconds since the start",
        "own c2",
        "Straight: the speed is constant. Bent upwards: the learner slows down.",
    ),
)
_MANY = 3  # curves that a chart of half the width can hold
_PEER_LOOKS = ("c2", "c5", "c2 dash", "c5 dash", "c4 dash")


def whole_time(data: ReportData) -> tuple[float, float]:
    """The range of rows that all charts share."""
    sources = [data.get("curves") or {}, data.get("audit") or {}, *_text.items(data.get("peers"))]
    columns = [column(source["rows"]) for source in sources if "rows" in source]
    alarms, questions = _text.items(data.get("drift")), _text.items(data.get("questions"))
    rows = [*(alarm.get("row") for alarm in alarms), *(question.get("asked_row") for question in questions)]
    return time_range(np.concatenate([*columns, column([_text.real(row) for row in rows])]))


def drift_marks(data: ReportData) -> list[Mark]:
    """The alarms as marks for the charts."""
    marks = []
    for alarm in _text.items(data.get("drift")):
        row = _text.real(alarm.get("row"))
        if row is not None:
            what = [str(alarm[key]) for key in ("policy", "note") if _text.known(alarm.get(key))]
            marks.append(
                Mark(
                    row,
                    ": ".join(
                        [f"DriftAlarm alarm at row {_text.count(row)}", ", ".join(what)][: 1 + bool(what)]
                    ),
                )
            )
    return marks


def headline(data: ReportData) -> tuple[str, float] | None:
    """The score that a report leads with and its last value: the first of `MEASURES` that is known."""
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
    """A chart for each score that is known; the headline and whatever has many curves get the whole width."""
    charts = [(m, chart) for m in MEASURES if (chart := _score_chart(data, m, time, marks)).has_data()]
    if not charts:
        return ""
    window = data.get("window")
    over = (
        f"Scores look back on the last {_text.count(window)} labeled rows; legends" if window else "Legends"
    )
    says = (
        f'<p class="says">Every row is predicted before its label is learned. {_text.escaped(over)} show the '
        "last value, and under the pointer the value there.</p>\n"
    )
    wide = [chart for place, chart in enumerate(charts) if place == 0 or len(chart[1].lines) > _MANY]
    drawn = _figures(
        {f"score-{m.replace('_', '-')}": chart for m, chart in charts}, [chart for _, chart in wide]
    )
    return says + drawn


def _figures(charts: Mapping[str, Chart], wide: Sequence[Chart] = ()) -> str:
    """Wide charts one below the other, the others in two or three columns; one that is left alone is wide."""
    small = [name for name, chart in charts.items() if chart not in wide]
    small = small if len(small) > 1 else []
    drawn = cards(*(figure(chart, name, whole=True) for name, chart in charts.items() if name not in small))
    return drawn + cards(*(figure(charts[name], name) for name in small), three=len(small) % 3 == 0)


def _score_chart(data: ReportData, measure: str, time: tuple[float, float], marks: Sequence[Mark]) -> Chart:
    curves, audit = data.get("curves") or {}, data.get("audit") or {}
    lines, bands = [], []

    def step(prefix: str, name: str, look: str) -> None:
        if prefix + measure in curves:
            lines.append(Line(name, column(curves["rows"]), column(curves[prefix + measure]), look))

    step("", "this learner", "own c1")
    step("fading_", "this learner, fading memory", "fading c1")
    if measure == "accuracy" and "accuracy" in audit:
        rows = column(audit["rows"])
        lines.append(Line("audit of random rows", rows, column(audit["accuracy"]), "c3"))
        if "lower" in audit and "upper" in audit:
            level = _text.real(audit.get("confidence"))
            name = "its confidence bounds" if level is None else f"its {100 * level:.4g} % confidence bounds"
            bands.append(Band(name, rows, column(audit["lower"]), column(audit["upper"]), "c3"))
    peers = [peer for peer in _text.items(data.get("peers")) if measure in peer]
    for place, peer in enumerate(peers):
        look = _PEER_LOOKS[place % len(_PEER_LOOKS)]
        name = str(peer.get("name", f"peer {place + 1}"))
        lines.append(Line(name, column(peer["rows"]), column(peer[measure]), look))
    without = len(lines)
    step("no_change_", "baseline: label before", "nochange")
    step("majority_", "baseline: majority class", "majority")
    says = _SAYS[measure] + (_SAYS_BASELINE if len(lines) > without else "") + (_SAYS_AUDIT if bands else "")
    return Chart(NAMES[measure], says, _UNITS[measure], time, lines, bands, marks, scores=True)


def label_chart(data: ReportData, time: tuple[float, float], marks: Sequence[Mark]) -> str:
    """Labels and questions so far, beside the budget."""
    curves, totals = data.get("curves") or {}, data.get("totals") or {}
    lines = [
        Line(name, column(curves["rows"]), column(curves[key]), look)
        for key, name, look in (("asked", "asked", "own c1"), ("labels", "labels known", "c3"))
        if key in curves
    ]
    budget = _text.real(totals.get("budget"))
    says = "Steep: a time of many questions. After a drift alarm the curve should rise and then level off."
    level = ("budget", budget) if budget is not None else None
    return figure(
        Chart("Labels and questions so far", says, "count", time, lines, (), marks, level),
        "labels",
        whole=True,
    )


def resource_section(data: ReportData, time: tuple[float, float], marks: Sequence[Mark]) -> str:
    """Support vectors, memory and time."""
    curves = data.get("curves") or {}
    charts: dict[str, Chart] = {}
    for key, title, unit, look, says in _RESOURCES:
        if key in curves:
            line = Line(title.lower(), column(curves["rows"]), column(curves[key]), look)
            chart = Chart(title, says, unit, time, [line], (), marks)
            charts |= {key.replace("_", "-"): chart} if chart.has_data() else {}
    return _figures(charts)


def drift_section(data: ReportData) -> str:
    """The alarms in a table, the newest first."""
    alarms = list(_text.items(data.get("drift")))
    if not alarms:
        return ""
    rows = [
        [
            _text.count(alarm.get("row")),
            *(
                _text.clipped(alarm[key], 200) if _text.known(alarm.get(key)) else _text.UNKNOWN
                for key in ("time", "policy", "note")
            ),
        ]
        for alarm in reversed(alarms[-ALARMS:])
    ]
    says = "When the stream no longer looked like what had been learned, and what was done about it."
    if len(alarms) > ALARMS:
        says += f" The latest {ALARMS} of {len(alarms):,}."
    listed = table(["row", "time", "what was done", "note"], rows, numbers="nttt")
    return cards(card("Alarms, the newest first", says, listed, whole=True))


def feature_section(data: ReportData) -> str:
    """The schema as it was told."""
    text = data.get("features")
    if not text:
        return ""
    lines = text.count("\n") + 1
    shown = f'<pre class="scroll" tabindex="0">{_text.escaped(text)}</pre>'
    inside = shown if lines <= 12 else fold(f"Show all {lines} lines", shown)
    return cards(card("Schema", "The columns of a row and how they are read.", inside, whole=True))
