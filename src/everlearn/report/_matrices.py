"""Confusion over time: small matrices side by side, and a table of the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _text
from ._parts import card, cards, table

PERIODS = 6
CLASSES = 10
CLASSES_LISTED = 100
_FEW = 6  # classes whose matrices fit three abreast
_SIDE, _LEFT = 300, 78
DARKEST = 0.5  # of the shade, so that the numbers stay readable on it in light and in dark

Matrix = NDArray[np.float64]
Period = tuple[float, float, Matrix]


def confusion_section(data: Mapping[str, Any]) -> str:
    """The section, or nothing without matrices."""
    told = [
        (float(part["row_from"]), float(part["row_to"]), np.array(part["matrix"], dtype=np.float64))
        for part in _text.items(data.get("confusion"))
    ]
    periods = merge(told, PERIODS)
    if not periods or not periods[0][2].size or not any(matrix.any() for _, _, matrix in periods):
        return ""
    names = [str(name) for name in _text.items(data.get("classes"))]
    names = names or [str(number) for number in range(len(periods[0][2]))]
    total = np.sum([matrix for _, _, matrix in periods], axis=0)
    order = frequent(total, CLASSES)
    shown = [names[place] for place in order]
    if len(order) < len(names):
        shown.append(f"{len(names) - len(order)} others")
    drawings = "".join(
        _card(low, high, gathered(matrix, order), shown, number)
        for number, (low, high, matrix) in enumerate(periods)
    )
    many = " many" if len(shown) > _FEW else ""
    says = (
        "Rows are the true classes, columns what was predicted before the label was known. Numbers count "
        "rows; the shade is the share of the true class. What lies off the diagonal are the mistakes."
    )
    return (
        f'<p class="says">{says}</p>\n<div class="matrices{many}">{drawings}</div>\n'
        f"{cards(_class_card(total, periods[-1], names))}"
    )


def merge(periods: Sequence[Period], limit: int) -> list[Period]:
    """At most `limit` periods: neighbors are added up, so that no row is lost."""
    if not periods:
        return []
    edges = np.linspace(0, len(periods), min(limit, len(periods)) + 1).round().astype(int)
    groups = [periods[begin:end] for begin, end in pairwise(edges)]
    return [(g[0][0], g[-1][1], np.sum([matrix for _, _, matrix in g], axis=0)) for g in groups]


def frequent(matrix: Matrix, limit: int) -> list[int]:
    """The classes that occur most, in their own order; all of them if there are no more than `limit`."""
    occur = matrix.sum(axis=0) + matrix.sum(axis=1)
    return sorted(np.argsort(-occur, kind="stable")[:limit].tolist())


def gathered(matrix: Matrix, order: Sequence[int]) -> Matrix:
    """The matrix of these classes, and of all others as one more if there are any."""
    others = [place for place in range(len(matrix)) if place not in set(order)]
    groups = [[place] for place in order] + ([others] if others else [])
    pick = np.zeros((len(groups), len(matrix)))
    for row, group in enumerate(groups):
        pick[row, group] = 1.0
    return np.asarray(pick @ matrix @ pick.T, dtype=np.float64)


def _card(low: float, high: float, matrix: Matrix, names: Sequence[str], number: int) -> str:
    total = float(matrix.sum())
    right = f"{_text.percent(float(np.trace(matrix)), total)} right" if total else "no label"
    title = f"Rows {_text.count(low)} to {_text.count(high)}"
    return card(
        title, f"{_text.plural(total, 'label')}, {right}", _svg(matrix, names, title, f"matrix-{number}")
    )


def _svg(matrix: Matrix, names: Sequence[str], title: str, name: str) -> str:
    """A shaded matrix with its counts; names that do not fit above their column stand upright."""
    cell = _SIDE / len(matrix)
    names = [_text.clipped(class_name, 11) for class_name in names]
    longest = max(map(len, names))
    upright = longest > cell / 6.6
    top = 34 + 6 * longest if upright else 44
    told = "; ".join(
        f"true {names[i]}: {_text.count(matrix[i, i])} of {_text.count(matrix[i].sum())} right"
        for i in range(len(matrix))
    )
    parts = [
        f'<svg class="matrix {"large" if cell >= 45 else "small"}" role="img" '
        f'viewBox="0 0 {_LEFT + _SIDE + 4} {top + _SIDE + 4}" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">Confusion matrix, {_text.escaped(title)}</title>'
        f'<desc id="{name}-d">{_text.escaped(_text.clipped(told, 600))}</desc>'
        f'<text class="unit" x="{_LEFT}" y="13">predicted →</text>'
        f'<text class="unit" x="{_LEFT - 8}" y="{top - 8}" text-anchor="end">true ↓</text>',
    ]
    for i, row in enumerate(matrix):
        middle, center = top + (i + 0.5) * cell, _LEFT + (i + 0.5) * cell
        parts.append(_label(_LEFT - 8, middle, names[i], "end"))
        if upright:
            turn = f' transform="rotate(-90 {center:.1f} {top - 8})"'
            parts.append(_label(center, top - 8, names[i], "start", turn))
        else:
            parts.append(_label(center, top - 12, names[i], "middle"))
        for j, value in enumerate(row):
            shade = DARKEST * value / row.sum() if value > 0 else 0.0
            parts.append(
                f'<rect class="{"right" if i == j else "wrong"}" x="{_LEFT + j * cell:.1f}" '
                f'y="{top + i * cell:.1f}" width="{cell:.1f}" height="{cell:.1f}" '
                f'fill-opacity="{shade:.2f}"/>'
            )
            if value:
                parts.append(_label(_LEFT + (j + 0.5) * cell, middle, brief(float(value)), "middle"))
    steps = [f"{step * cell:.1f}" for step in range(1, len(matrix))]
    rules = "".join(f"M{_LEFT},{top}m{step},0v{_SIDE}M{_LEFT},{top}m0,{step}h{_SIDE}" for step in steps)
    parts.append(f'<path class="grid" d="{rules}"/>' if rules else "")
    frame = f'<rect class="frame" x="{_LEFT}" y="{top}" width="{_SIDE}" height="{_SIDE}"/>'
    return "".join(parts) + frame + "</svg>"


def _label(x: float, y: float, text: str, anchor: str, turn: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" dy=".35em" text-anchor="{anchor}"'
    return f"<text {place}{turn}>{_text.escaped(text)}</text>"


def brief(value: float) -> str:
    """A count in at most four characters or so: 999, 1.2k, 45k, 1.2M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit * 0.9995:
            part = value / unit
            return (
                f"{part:.1f}{name}" if part < 9.95 else f"{part:.0f}{name}" if part < 9999 else f"{value:.0e}"
            )
    return f"{value:.3g}"


def _class_card(total: Matrix, latest: Period, names: Sequence[str]) -> str:
    """Recall, precision and support of every class, over all periods and over the latest."""
    rows = []
    low, high, last = latest
    for i, name in enumerate(names):
        rows.append(
            [
                _text.clipped(name, 40),
                _text.count(total[i].sum()),
                *_scores(total, i),
                _text.count(last[i].sum()),
                *_scores(last, i),
            ]
        )
    heads = ["class", "support", "recall", "precision", "latest support", "latest recall", "latest precision"]
    says = (
        "Recall: the share of a class that was found. Precision: the share of what was called so that is so. "
        f"Support: labeled rows of the class. Latest: rows {_text.count(low)} to {_text.count(high)}."
    )
    shown: str = table(heads, rows[:CLASSES_LISTED], numbers="tnnnnnn")
    if len(rows) > CLASSES_LISTED:
        shown += f'<p class="says">The first {CLASSES_LISTED} of {len(rows):,} classes.</p>'
    return card("Class by class", says, shown, whole=True)


def _scores(matrix: Matrix, i: int) -> tuple[str, str]:
    found, called = matrix[i].sum(), matrix[:, i].sum()
    recall = matrix[i, i] / found if found > 0 else None
    precision = matrix[i, i] / called if called > 0 else None
    return _text.share(recall), _text.share(precision)
