"""What was asked: when, why, how many were answered, and in how many the learner had been wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from . import _text
from ._axis import Axis, Floats
from ._parts import Html, card, fold, table
from .curves import BOTTOM, LEFT, RIGHT, time_axis

LATEST = 50
REASONS = 20
LANES = 4

_LANE, _GAP, _TOP = 26, 10, 10
_LOOKS = {"strategy": "c1", "audit": "c3"}

QuestionEntry = Mapping[str, Any]


def question_cards(questions: Sequence[QuestionEntry], time: tuple[float, float]) -> list[str]:
    """The strip of questions, the table of reasons and the latest questions; nothing without any."""
    return (
        [_strip_card(questions, time), _reason_card(questions), _latest_card(questions)] if questions else []
    )


def answered(question: QuestionEntry) -> bool:
    """Whether there is an answer."""
    return _text.known(question.get("label"))


def was_wrong(question: QuestionEntry) -> bool | None:
    """Whether the answer was another than the prediction; None as long as one of the two is missing."""
    if not answered(question) or not _text.known(question.get("predicted")):
        return None
    return bool(question["label"] != question["predicted"])


def _strip_card(questions: Sequence[QuestionEntry], time: tuple[float, float]) -> str:
    lanes = _lanes(questions)
    done = sum(map(answered, questions))
    judged = [wrong for q in questions if (wrong := was_wrong(q)) is not None]
    says = (
        f"{_text.plural(len(questions), 'question')}, {_text.percent(done, len(questions))} of them answered"
    )
    if judged:
        says += f"; the learner had been wrong in {_text.percent(sum(judged), len(judged))} of those"
    says += ". A line is a question, a darker one several at the same place. Who is sure asks less and less."
    entries = "".join(
        f'<li><svg class="key" viewBox="0 0 26 12" aria-hidden="true"><path class="line {_look(kind, n)}" '
        f'd="M5,1v10M11,1v10M14,1v10M22,1v10"/></svg><span>{_text.escaped(_meaning(kind))}</span><b>{len(places):,}</b></li>'
        for n, (kind, places) in enumerate(lanes.items())
    )
    drawn = rug(lanes, time, "asked-wide", 1060, "wide") + rug(lanes, time, "asked-narrow", 520, "narrow")
    return card("When it asked", says, f'<ul class="legend">{entries}</ul>{drawn}', whole=True)


def _lanes(questions: Sequence[QuestionEntry]) -> dict[str, Floats]:
    """The rows of the questions by kind: strategy, audit, then others as they come, the rarest together."""
    rows: dict[str, list[float]] = {}
    for question in questions:
        kind = str(question.get("kind") or "other")
        kind = kind if kind in rows or kind in _LOOKS or len(rows) < LANES - 1 else "other"
        row = _text.real(question.get("asked_row"))
        rows.setdefault(kind, []).append(np.nan if row is None else row)
    order = sorted(rows, key=lambda kind: list(_LOOKS).index(kind) if kind in _LOOKS else len(_LOOKS))
    return {kind: np.array(rows[kind]) for kind in order}


def _meaning(kind: str) -> str:
    return {"strategy": "strategy: chosen by the query strategy", "audit": "audit: chosen by chance"}.get(
        kind, _text.clipped(kind, 30)
    )


def _look(kind: str, number: int) -> str:
    return _LOOKS.get(kind, ("c5", "c2", "base")[number % 3])


def rug(lanes: Mapping[str, Floats], time: tuple[float, float], name: str, width: int, look: str) -> str:
    """A strip with a lane for each kind; of however many questions, at most two lines a unit of width."""
    bottom = _TOP + len(lanes) * (_LANE + _GAP)
    height = bottom + BOTTOM
    across = Axis(*time, LEFT, width - RIGHT)
    told = ". ".join(f"{_meaning(kind)}: {len(rows)}" for kind, rows in lanes.items())
    parts = [
        f'<svg class="chart rug {look}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-t {name}-d"><title id="{name}-t">When questions were asked</title>'
        f'<desc id="{name}-d">{_text.escaped(told)}</desc>'
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
                parts.append(f'<path class="line {_look(kind, number)} a{level}" d="{lines}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{top + _LANE / 2}" dy=".35em" text-anchor="end">'
            f"{_text.escaped(_text.clipped(kind, 7))}</text>"
        )
    parts.append(time_axis(across, bottom, width))
    return "".join(parts) + "</svg>"


def _reason_card(questions: Sequence[QuestionEntry]) -> str:
    groups: dict[tuple[str, str], list[QuestionEntry]] = {}
    for question in questions:
        kind = str(question.get("kind") or "other")
        groups.setdefault((kind, _text.clipped(question.get("reason") or "no reason given", 80)), []).append(
            question
        )
    ranked = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = []
    for (kind, reason), group in ranked[:REASONS]:
        judged = [wrong for q in group if (wrong := was_wrong(q)) is not None]
        waits = [wait for q in group if (wait := _wait(q)) is not None]
        rows.append(
            [
                reason,
                _text.clipped(kind, 20),
                f"{len(group):,}",
                _text.percent(sum(judged), len(judged)),
                _bar(sum(judged) / len(judged)) if judged else "",
                f"{sum(map(answered, group)):,}",
                f"{median(waits):,.0f}" if waits else _text.UNKNOWN,
            ]
        )
    if len(ranked) > REASONS:
        rest = sum(len(group) for _, group in ranked[REASONS:])
        rows.append([f"{len(ranked) - REASONS} other reasons", "", f"{rest:,}", "", "", "", ""])
    says = (
        "Wrong: the share of answered questions in which the answer was another than the prediction. A rule "
        "asks where it expects to be wrong: its share should be high and says nothing about accuracy; "
        "that of the audit does."
    )
    heads = ["reason", "kind", "asked", "wrong", "", "answered", "rows waited (median)"]
    return card("Why it asked", says, table(heads, rows, numbers="ttnnnnn"), whole=True)


def _wait(question: QuestionEntry) -> float | None:
    asked, back = _text.real(question.get("asked_row")), _text.real(question.get("answered_row"))
    return None if asked is None or back is None else back - asked


def _bar(share: float) -> Html:
    return Html(
        '<svg class="bar" viewBox="0 0 84 9" aria-hidden="true"><rect width="84" height="9" rx="2"/>'
        f'<rect width="{84 * share:.1f}" height="9" rx="2"/></svg>'
    )


def _latest_card(questions: Sequence[QuestionEntry]) -> str:
    rows = []
    for question in reversed(questions[-LATEST:]):
        wrong = was_wrong(question)
        verdict = (
            ""
            if wrong is None
            else Html(f'<span class="{"no" if wrong else "yes"}">{"wrong" if wrong else "right"}</span>')
        )
        rows.append(
            [
                _text.count(question.get("asked_row")),
                _shown(question.get("id"), 40),
                _shown(question.get("kind"), 20),
                _shown(question.get("reason"), 80),
                _utility(question.get("utility")),
                _shown(question.get("predicted"), 30),
                _shown(question.get("label"), 30) if answered(question) else "open",
                verdict,
                _text.count(question.get("answered_row")),
            ]
        )
    heads = ["row", "id", "kind", "reason", "utility", "predicted", "answer", "it was", "answered at row"]
    count = (
        f"the latest {LATEST} of {len(questions):,}" if len(questions) > LATEST else f"all {len(questions):,}"
    )
    says = "The newest question first; “open” waits for its answer."
    inside = fold(f"Show {count} questions", table(heads, rows, numbers="ntttntttn"))
    return card("Latest questions", says, inside, whole=True)


def _shown(value: Any, length: int) -> str:
    return _text.clipped(value, length) if _text.known(value) else _text.UNKNOWN


def _utility(value: Any) -> str:
    number = _text.real(value)
    if number is None:
        return _text.UNKNOWN
    return f"{number:.4f}" if number == 0 or 1e-4 <= abs(number) < 1e5 else f"{number:.3g}"
