"""Confusion matrices over time, and recall and precision of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _text
from ._parts import card, fold_out, table, with_bar

PERIODS = 6
CLASSES = 10
CLASSES_LISTED = 100
_LEAST_ROWS = 50  # of a period over time
_FEW = 6  # classes; smaller matrices fit three in a row
_SIDE, _LEFT = 300, 78
DARKEST = 0.5  # opacity of the darkest shade: numbers stay readable on it in light and dark mode

Matrix = NDArray[np.float64]
Period = tuple[float, float, Matrix]


def confusion_section(data: Mapping[str, Any]) -> str:
    """The section; "" without matrices."""
    given = [
        (float(part["row_from"]), float(part["row_to"]), np.array(part["matrix"], dtype=np.float64))
        for part in _text.items(data.get("confusion"))
    ]
    given = [period for period in given if period[2].any()]
    if not given:
        return ""
    names = [str(name) for name in _text.items(data.get("classes"))]
    names = names or [str(number) for number in range(len(given[0][2]))]
    total = np.sum([matrix for _, _, matrix in given], axis=0)
    order = frequent(total, CLASSES)
    shown = [names[place] for place in order]
    if len(order) < len(names):
        shown.append(f"{len(names) - len(order)} others")
    many = " many" if len(shown) > _FEW else ""
    drawn = _random_sample(data, total)
    whole = (
        [("All scored rows", total)]
        if drawn is None
        else [("Random rows", drawn), ("All scored rows", total)]
    )
    periods = merge(given, max(1, min(PERIODS, int(total.sum()) // _LEAST_ROWS)))

    def drawings(matrices: Sequence[tuple[str, Matrix]], name: str) -> str:
        inside = "".join(
            _card(title, combined(matrix, order), shown, f"{name}-{number}")
            for number, (title, matrix) in enumerate(matrices)
        )
        return f'<div class="matrices{many}">{inside}</div>\n'

    caption = (
        "Every row was predicted before its label was learned. Cells count rows; the shade is the fraction "
        "of the true class. Errors are off the diagonal."
    )
    if drawn is not None:
        caption += " Among all scored rows are those that the learner chose to ask about, which are harder."
    over_time, one = "", " one" if drawn is None and not many else ""
    if len(periods) > 1:
        by_period = [(f"Rows {_text.count(a)} to {_text.count(b)}", matrix) for a, b, matrix in periods]
        over_time = fold_out("Show the matrices over time", drawings(by_period, "period"))
    return (
        f'<p class="caption">{caption}</p>\n<div class="beside{one}">{drawings(whole, "matrix")}'
        f"{_class_card(total, drawn, periods, names)}</div>\n{over_time}"
    )


def _random_sample(data: Mapping[str, Any], total: Matrix) -> Matrix | None:
    """The matrix of rows asked at random; None if there is none, or if all rows are unselected."""
    found = data.get("random_rows") or {}
    if found.get("drawn") != "audit":
        return None
    matrix = np.array(found["matrix"], dtype=np.float64)
    return matrix if matrix.shape == total.shape and matrix.any() else None


def merge(periods: Sequence[Period], limit: int) -> list[Period]:
    """At most `limit` periods, by adding up neighboring ones."""
    if not periods:
        return []
    edges = np.linspace(0, len(periods), min(limit, len(periods)) + 1).round().astype(int)
    groups = [periods[begin:end] for begin, end in pairwise(edges)]
    return [(g[0][0], g[-1][1], np.sum([matrix for _, _, matrix in g], axis=0)) for g in groups]


def frequent(matrix: Matrix, limit: int) -> list[int]:
    """The `limit` most frequent classes, in their original order."""
    occur = matrix.sum(axis=0) + matrix.sum(axis=1)
    return sorted(np.argsort(-occur, kind="stable")[:limit].tolist())


def combined(matrix: Matrix, order: Sequence[int]) -> Matrix:
    """The matrix of these classes, with all others combined into one more class."""
    others = [place for place in range(len(matrix)) if place not in set(order)]
    groups = [[place] for place in order] + ([others] if others else [])
    pick = np.zeros((len(groups), len(matrix)))
    for row, group in enumerate(groups):
        pick[row, group] = 1.0
    return np.asarray(pick @ matrix @ pick.T, dtype=np.float64)


def _card(title: str, matrix: Matrix, names: Sequence[str], name: str) -> str:
    total = float(matrix.sum())
    accuracy = f"{_text.percent(float(np.trace(matrix)), total)} correct" if total else "no accuracy"
    return card(title, f"{_text.plural(total, 'row')}, {accuracy}", _svg(matrix, names, title, name))


def _svg(matrix: Matrix, names: Sequence[str], title: str, name: str) -> str:
    """A shaded matrix of counts; class names that are too long for their column are rotated."""
    cell = _SIDE / len(matrix)
    names = [_text.clipped(class_name, 11) for class_name in names]
    longest = max(map(len, names))
    upright = longest > cell / 6.6
    top = 34 + 6 * longest if upright else 44
    description = "; ".join(
        f"true {names[i]}: {_text.count(matrix[i, i])} of {_text.count(matrix[i].sum())} correct"
        for i in range(len(matrix))
    )
    parts = [
        f'<svg class="matrix {"large" if cell >= 45 else "small"}" role="img" '
        f'viewBox="0 0 {_LEFT + _SIDE + 4} {top + _SIDE + 4}" aria-labelledby="{name}-t {name}-d">'
        f'<title id="{name}-t">Confusion matrix, {_text.escaped(title)}</title>'
        f'<desc id="{name}-d">{_text.escaped(_text.clipped(description, 600))}</desc>'
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
    """A count in about four characters: 999, 1.2k, 45k, 1.2M."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit * 0.9995:
            part = value / unit
            return (
                f"{part:.1f}{name}" if part < 9.95 else f"{part:.0f}{name}" if part < 9999 else f"{value:.0e}"
            )
    return f"{value:.3g}"


def _class_card(total: Matrix, drawn: Matrix | None, periods: Sequence[Period], names: Sequence[str]) -> str:
    """Recall and precision of each class; recall also on random rows and in the last period."""
    heads = ["class", "recall", "precision"]
    if drawn is not None:
        heads.append("recall, random rows")
    if len(periods) > 1:
        heads.append(f"recall, rows {_text.count(periods[-1][0])} to {_text.count(periods[-1][1])}")
    rows: list[list[Any]] = []
    for i, name in enumerate(names):
        recall = total[i, i] / total[i].sum() if total[i].any() else 0.0
        cells: list[Any] = [_text.clipped(name, 40)]
        cells.append(with_bar(_part(total[i, i], total[i].sum()), recall, "c1"))
        cells.append(_part(total[i, i], total[:, i].sum()))
        if drawn is not None:
            cells.append(_part(drawn[i, i], drawn[i].sum()))
        if len(periods) > 1:
            cells.append(_part(periods[-1][2][i, i], periods[-1][2][i].sum()))
        rows.append(cells)
    caption = (
        "Recall: how many rows of the class were recognized. Precision: how many rows predicted as the class "
        "belong to it."
    )
    shown: str = table(heads, rows[:CLASSES_LISTED], numbers="t" + "n" * (len(heads) - 1))
    if len(rows) > CLASSES_LISTED:
        shown += f'<p class="caption">The first {CLASSES_LISTED} of {len(rows):,} classes.</p>'
    return card("By class", caption, shown, wide=True)


def _part(count: float, whole: float) -> str:
    """A fraction with its counts: "57%, 58 of 102"."""
    if not whole:
        return _text.UNKNOWN
    return f"{_text.percent(count, whole)}, {_text.count(count)} of {_text.count(whole)}"
