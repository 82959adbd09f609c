"""The questions: when and why they were asked, how many are answered, how often the learner was wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from . import _text
from ._axis import Axis, Floats
from ._curves import BOTTOM, LEFT, RIGHT, time_axis
from ._parts import Html, card, fold_out, table, with_bar

LATEST = 50
REASONS = 20
LANES = 5

_LANE, _GAP, _TOP = 26, 26, 22  # the name of a lane is above it, at the font size of a phone
# Style and meaning of each kind of question.
_KINDS = {
    "strategy": ("c1", "strategy: chosen by the query strategy"),
    "warm-up": ("c5", "random warm-up: drawn before there was a model"),
    "far": ("c4", "far rows: unlike every labeled row, to find all classes"),
    "audit": ("c3", "random sample: to measure the learner"),
}

_SHORT = {"warm-up": "random warm-up", "far": "far rows", "audit": "random sample"}

QuestionEntry = Mapping[str, Any]
_PARENTHESES = re.compile(r"\s*\([^()]*\)$")  # numbers at the end of a reason, such as "(margin 0.13)"


def question_cards(questions: Sequence[QuestionEntry], time: tuple[float, float]) -> list[str]:
    """When, why and what was asked; nothing without questions."""
    return (
        [_strip_card(questions, time), _reason_card(questions), _latest_card(questions)] if questions else []
    )


def kind_of(question: QuestionEntry) -> str:
    """The kind as it is shown: a question of the cold start is random, or about a row far from the others."""
    kind = str(question.get("kind") or "other")
    if kind != "cold_start":
        return kind
    return "far" if str(question.get("reason") or "").startswith("far") else "warm-up"


def answered(question: QuestionEntry) -> bool:
    """Whether the question is answered."""
    return _text.is_known(question.get("label"))


def was_wrong(question: QuestionEntry) -> bool | None:
    """Whether answer and prediction differ; None if one of them is missing."""
    if not answered(question) or not _text.is_known(question.get("predicted")):
        return None
    return bool(question["label"] != question["predicted"])


def _strip_card(questions: Sequence[QuestionEntry], time: tuple[float, float]) -> str:
    lanes = _lanes(questions)
    done = sum(map(answered, questions))
    compared = [wrong for q in questions if (wrong := was_wrong(q)) is not None]
    caption = f"{_text.plural(len(questions), 'question')}, {_text.percent(done, len(questions))} answered"
    if compared:
        caption += (
            f"; {_text.percent(sum(compared), len(compared))} of the answers differ from the prediction"
        )
    caption += ". Each line is a question; darker lines are several questions."
    entries = "".join(
        '<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true">'
        f'<path class="line {_style_of(kind, n)}" d="M5,1v10M11,1v10M14,1v10M22,1v10"/></svg>'
        f"<span>{_text.escaped(_meaning(kind))}</span><b>{len(places):,}</b></li>"
        for n, (kind, places) in enumerate(lanes.items())
    )
    drawn = rug(lanes, time, "asked-wide", 1060, "wide") + rug(lanes, time, "asked-narrow", 520, "narrow")
    return card("Questions over time", caption, f'<ul class="legend">{entries}</ul>{drawn}', wide=True)


def _lanes(questions: Sequence[QuestionEntry]) -> dict[str, Floats]:
    """The rows of the questions by kind; kinds beyond the first few are combined as "other"."""
    rows: dict[str, list[float]] = {}
    for question in questions:
        kind = kind_of(question)
        kind = kind if kind in rows or kind in _KINDS or len(rows) < LANES - 1 else "other"
        row = _text.real(question.get("asked_row"))
        rows.setdefault(kind, []).append(np.nan if row is None else row)
    order = sorted(rows, key=lambda kind: list(_KINDS).index(kind) if kind in _KINDS else len(_KINDS))
    return {kind: np.array(rows[kind]) for kind in order}


def _meaning(kind: str) -> str:
    return _KINDS[kind][1] if kind in _KINDS else _text.clipped(kind, 30)


def _style_of(kind: str, number: int) -> str:
    return _KINDS[kind][0] if kind in _KINDS else ("c2", "c4", "base")[number % 3]


def rug(lanes: Mapping[str, Floats], time: tuple[float, float], name: str, width: int, style: str) -> str:
    """A strip with a lane for each kind, with at most two lines per unit of width."""
    bottom = _TOP + len(lanes) * (_LANE + _GAP)
    height = bottom + BOTTOM
    across = Axis(*time, LEFT, width - RIGHT)
    description = ". ".join(f"{_meaning(kind)}: {len(rows)}" for kind, rows in lanes.items())
    parts = [
        f'<svg class="chart rug {style}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">Questions over time</title>'
        f'<desc id="{name}-d">{_text.escaped(description)}</desc>'
    ]
    for number, (kind, rows) in enumerate(lanes.items()):
        top = _TOP + number * (_LANE + _GAP)
        places = np.round(across.place(rows[np.isfinite(rows)]) * 2) / 2
        where, many = np.unique(places, return_counts=True)
        levels = np.ceil(4 * np.sqrt(many / max(1, int(many.max(initial=1))))).astype(int)
        levels = levels if len(many) and many.max() > 1 else np.full(len(many), 4)
        for level in (1, 2, 3, 4):
            lines = "".join(f"M{place:.1f},{top}v{_LANE}" for place in where[levels == level])
            if lines:
                parts.append(f'<path class="line {_style_of(kind, number)} a{level}" d="{lines}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT}" y="{top - 5}">'
            f"{_text.escaped(_text.clipped(_SHORT.get(kind, kind.replace('_', ' ')), 20))}</text>"
        )
    parts.append(time_axis(across, bottom, width))
    return "".join(parts) + "</svg>"


def _reason_card(questions: Sequence[QuestionEntry]) -> str:
    groups: dict[tuple[str, str], list[QuestionEntry]] = {}
    for question in questions:
        kind = kind_of(question)
        reason = _PARENTHESES.sub("", str(question.get("reason") or "no reason given"))
        groups.setdefault((kind, _text.clipped(reason, 80)), []).append(question)
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = []
    for (kind, reason), group in ranked[:REASONS]:
        compared = [wrong for q in group if (wrong := was_wrong(q)) is not None]
        delays = [delay for q in group if (delay := _delay(q)) is not None]
        rows.append(
            [
                reason,
                _text.clipped(_SHORT.get(kind, kind.replace("_", " ")), 20),
                f"{len(group):,}",
                _wrong(sum(compared), len(compared)),
                f"{sum(map(answered, group)):,}",
                f"{median(delays):,.0f}" if delays else _text.UNKNOWN,
            ]
        )
    if len(ranked) > REASONS:
        rest = sum(len(group) for _, group in ranked[REASONS:])
        rows.append([f"{len(ranked) - REASONS} other reasons", "", f"{rest:,}", "", "", ""])
    caption = (
        "Wrong: the fraction of answered questions whose answer differs from the prediction. A query "
        "strategy selects rows that the learner is likely to get wrong: its fraction is high and does not "
        "estimate the error rate. The fraction of the random sample does."
    )
    heads = ["reason", "kind", "asked", "wrong", "answered", "median delay in rows"]
    return card("Reasons", caption, table(heads, rows, numbers="ttnnnn"), wide=True)


def _wrong(wrong: int, compared: int) -> str:
    shown = _text.percent(wrong, compared)
    return with_bar(shown, wrong / compared) if compared else shown


def _delay(question: QuestionEntry) -> float | None:
    asked, back = _text.real(question.get("asked_row")), _text.real(question.get("answered_row"))
    return None if asked is None or back is None else back - asked


def _latest_card(questions: Sequence[QuestionEntry]) -> str:
    rows = []
    for question in reversed(questions[-LATEST:]):
        wrong = was_wrong(question)
        outcome = (
            ""
            if wrong is None
            else Html(f'<span class="{"no" if wrong else "yes"}">{"wrong" if wrong else "correct"}</span>')
        )
        rows.append(
            [
                _text.count(question.get("asked_row")),
                _shown(question.get("id"), 40),
                _text.clipped(_SHORT.get(kind_of(question), kind_of(question).replace("_", " ")), 20),
                _shown(question.get("reason"), 80),
                _utility(question.get("utility")),
                _shown(question.get("predicted"), 30),
                _shown(question.get("label"), 30) if answered(question) else "open",
                outcome,
                _text.count(question.get("answered_row")),
            ]
        )
    heads = ["row", "id", "kind", "reason", "utility", "predicted", "answer", "result", "answered at row"]
    count = (
        f"the latest {LATEST} of {len(questions):,}" if len(questions) > LATEST else f"all {len(questions):,}"
    )
    caption = "Newest first. Open: not answered yet."
    inside = fold_out(f"Show {count} questions", table(heads, rows, numbers="ntttntttn"))
    return card("Latest questions", caption, inside, wide=True)


def _shown(value: Any, length: int) -> str:
    return _text.clipped(value, length) if _text.is_known(value) else _text.UNKNOWN


def _utility(value: Any) -> str:
    number = _text.real(value)
    if number is None:
        return _text.UNKNOWN
    return f"{number:.4f}" if number == 0 or 1e-4 <= abs(number) < 1e5 else f"{number:.3g}"
