"""Charts of curves over the rows of a stream, as SVG.

A `Chart` is a description, which `svg` draws at any size. Colors and line styles are classes of the page's
style sheet, so that one drawing works on light and dark screens and in print. A curve has at most `POINTS`
points: a longer one is divided into buckets, each of which keeps its minimum and its maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from . import _text
from ._axis import Axis, Floats, amount_range, score_range

POINTS = 600
FLAGS = 40

LEFT, TOP, RIGHT, BOTTOM = 54, 30, 22, 46  # room for tick labels at the font size of a phone


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; NaN in `y` is a gap. `style` holds its classes in the style sheet."""

    name: str
    x: Floats
    y: Floats
    style: str


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves, empty where either has a gap."""

    name: str
    x: Floats
    lower: Floats
    upper: Floats
    style: str


@dataclass(frozen=True, eq=False)
class Mark:
    """A vertical mark at a row, with a text."""

    x: float
    text: str


@dataclass(frozen=True, eq=False)
class Chart:
    """A description of a chart.

    `scores` selects the axis: up to 1 for scores, from 0 for amounts. `time` is the range of rows, the same
    for all charts of a page so that they align. `level` is a named horizontal line.
    """

    title: str
    caption: str
    y_label: str
    time: tuple[float, float]
    lines: Sequence[Line] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Mark] = ()
    level: tuple[str, float] | None = None
    scores: bool = False
    x_label: str = "rows"

    def has_data(self) -> bool:
        """Whether there is at least one point to draw."""
        return any(bool((np.isfinite(line.x) & np.isfinite(line.y)).any()) for line in self.lines)

    def has_curve(self) -> bool:
        """Whether there are points at different rows, so that there is something to see."""
        seen = [line.x[np.isfinite(line.x) & np.isfinite(line.y)] for line in self.lines]
        return len(np.unique(np.concatenate([*seen, np.empty(0)]))) > 1

    def value(self, number: Any) -> str:
        """A value of this chart as text."""
        return _text.score(number) if self.scores else _text.count(number)


def column(values: Any) -> Floats:
    """A column of the report data as floats; None and infinities become NaN, a gap."""
    numbers = np.array(values if len(values) else [], dtype=np.float64)
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def thin(x: Floats, y: Floats, limit: int = POINTS) -> list[Floats]:
    """The curve as continuous segments of points (x, y), at most `limit` points in total.

    A curve that is short enough is unchanged. A longer one is divided into limit / 2 - 1 buckets of equal
    length, each of which keeps its minimum and its maximum; the first and the last point are kept, too. A gap
    breaks the line if it is longer than a bucket: a shorter one would not be visible.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    kept = np.flatnonzero(finite)
    if not len(kept):
        return []
    widest = 1
    if len(kept) > limit:
        buckets = limit // 2 - 1
        widest = -(-len(x) // buckets)
        edges = np.searchsorted(kept, np.linspace(0, len(x), buckets + 1).astype(np.int64))
        chosen = {int(kept[0]), int(kept[-1])}
        for begin, end in pairwise(edges):
            if begin < end:
                inside = kept[begin:end]
                chosen |= {int(inside[np.argmin(y[inside])]), int(inside[np.argmax(y[inside])])}
        broken = np.flatnonzero(np.diff(kept) > widest)
        # The ends of a long gap need no point of their own: a point within one bucket of them is kept.
        after_gap = kept[broken + 1]
        kept = np.array(sorted(chosen))
        cuts = np.searchsorted(kept, after_gap)
    else:
        cuts = np.flatnonzero(np.diff(kept) > widest) + 1
    points = np.column_stack([x[kept], y[kept]])
    return [segment for segment in np.split(points, np.unique(cuts)) if len(segment)]


def svg(chart: Chart, name: str, *, width: int = 520, height: int = 280, style: str = "") -> str:
    """Draw a chart; `name` makes its ids unique on the page, `style` adds a class."""
    across = Axis(*chart.time, LEFT, width - RIGHT)
    low, high = _extent(chart)
    up = Axis(*(score_range if chart.scores else amount_range)(low, high), height - BOTTOM, TOP)
    kind = "score" if chart.scores else "amount"
    parts = [
        f'<svg class="chart {style}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-t {name}-d" data-x="{_scale(across)}" data-y="{_scale(up)}" '
        f'data-kind="{kind}">',
        f'<title id="{name}-t">{_text.escaped(chart.title)}</title>',
        f'<desc id="{name}-d">{_text.escaped(description(chart))}</desc>',
        _grid(chart, across, up, width, height),
    ]
    parts += [f'<path class="band {band.style}" d="{_band(band, across, up)}"/>' for band in chart.bands]
    if chart.level is not None:
        place = _at(up.place(chart.level[1]), 2)
        parts.append(f'<path class="line level" d="M{LEFT},{place}H{width - RIGHT}"/>')
    for number, line in reversed(list(enumerate(chart.lines))):  # the first lies on top
        for style, path in _paths(thin(line.x, line.y), across, up).items():
            parts.append(f'<path class="line {line.style}{style}" data-line="{number}" d="{path}"/>')
    # The empty title keeps the browser from showing the title of the chart as a tooltip over the cursor.
    parts.append(f'<path class="cursor" d="M{LEFT},{TOP}V{height - BOTTOM}"/>')
    parts.append(
        f'<rect class="touch" x="{LEFT}" y="{TOP}" width="{width - LEFT - RIGHT}" '
        f'height="{height - TOP - BOTTOM}"><title></title></rect>'
    )
    parts.append(_marks(chart.marks, across, height))
    return "".join(parts) + "</svg>"


def description(chart: Chart) -> str:
    """The chart as text, for screen readers."""
    parts = [f"{chart.y_label} over {chart.x_label}."]
    for line in chart.lines:
        seen = line.y[np.isfinite(line.y) & np.isfinite(line.x)]
        if len(seen):
            first, last, least, most = map(chart.value, (seen[0], seen[-1], seen.min(), seen.max()))
            parts.append(f"{line.name}: first {first}, last {last}, minimum {least}, maximum {most}.")
    if chart.level is not None:
        parts.append(f"{chart.level[0]}: {chart.value(chart.level[1])}.")
    if chart.marks:
        parts.append(f"{_text.plural(len(chart.marks), 'drift alarm')}.")
    return " ".join(parts)


def _extent(chart: Chart) -> tuple[float, float]:
    """The minimum and maximum of all values to draw."""
    columns = [line.y for line in chart.lines] + [c for b in chart.bands for c in (b.lower, b.upper)]
    columns += [np.array([chart.level[1]])] if chart.level is not None else []
    finite = [column[np.isfinite(column)] for column in columns]
    together = np.concatenate([*finite, np.empty(0)])
    return (float(together.min()), float(together.max())) if len(together) else (0.0, 1.0)


def _grid(chart: Chart, across: Axis, up: Axis, width: int, height: int) -> str:
    """Grid lines at the ticks of the values, the axis of rows, and the axis labels."""
    right, bottom = width - RIGHT, height - BOTTOM
    ticks = up.ticks(5)
    places = [_at(up.place(tick), 2) for tick in ticks]
    rules = "".join(f"M{LEFT},{place}H{right}" for place in places)
    parts = [f'<path class="grid" d="{rules}"/>']
    for place, label in zip(places, _text.tick_labels(ticks), strict=True):
        parts.append(
            f'<text class="tick" x="{LEFT - 8}" y="{place}" dy=".35em" text-anchor="end">{label}</text>'
        )
    parts.append(f'<text class="unit" x="4" y="17">{_text.escaped(chart.y_label)}</text>')
    return "".join(parts) + time_axis(across, bottom, width, chart.x_label)


def time_axis(across: Axis, bottom: int, width: int, unit: str = "rows") -> str:
    """The axis of rows below a drawing, with ticks and label; it is `BOTTOM` units high."""
    steps = across.ticks(5 if width < 700 else 10)
    places = [_at(across.place(step), 1) for step in steps]
    notches = "".join(f"M{place},{bottom}v5" for place in places)
    parts = [f'<path class="axis" d="M{LEFT},{bottom}H{width - RIGHT}{notches}"/>']
    for place, label in zip(places, _text.tick_labels(steps), strict=True):
        anchor = "end" if float(place) > width - RIGHT - 12 and len(label) > 4 else "middle"
        parts.append(
            f'<text class="tick" x="{place}" y="{bottom + 20}" text-anchor="{anchor}">{label}</text>'
        )
    place = f'x="{width - RIGHT}" y="{bottom + BOTTOM - 6}" text-anchor="end"'
    return "".join(parts) + f'<text class="unit" {place}>{_text.escaped(unit)}</text>'


def _paths(segments: list[Floats], across: Axis, up: Axis) -> dict[str, str]:
    """The paths of the segments by their additional class: lines, and dots for single points."""
    drawn = {"": "", " dots": ""}
    for segment in segments:
        points = _points(segment, across, up)
        if len(points) > 1:
            drawn[""] += "M" + " ".join(points)
        else:
            drawn[" dots"] += f"M{points[0]}h0"
    return {style: path for style, path in drawn.items() if path}


def _points(segment: Floats, across: Axis, up: Axis) -> list[str]:
    xs, ys = across.place(segment[:, 0]), up.place(segment[:, 1])
    return [f"{_at(x, 1)},{_at(y, 2)}" for x, y in zip(xs, ys, strict=True)]


def _band(band: Band, across: Axis, up: Axis) -> str:
    """Closed shapes: along the upper curve and back along the lower one."""
    gap = np.where(np.isfinite(band.lower) & np.isfinite(band.upper), 0.0, np.nan)
    above, below = thin(band.x, band.upper + gap), thin(band.x, band.lower + gap)
    shapes = []
    for upper, lower in zip(above, below, strict=True):
        shapes.append("M" + " ".join(_points(upper, across, up) + _points(lower[::-1], across, up)) + "Z")
    return "".join(shapes)


def _marks(marks: Sequence[Mark], across: Axis, height: int) -> str:
    """Vertical lines, one per coordinate; if there are few, each has a flag with the texts."""
    texts: dict[str, list[str]] = {}
    for mark in marks:
        if np.isfinite(mark.x):
            texts.setdefault(_at(np.round(across.place(mark.x)), 1), []).append(mark.text)
    lines = {place: f"M{place},{TOP - 9}V{height - BOTTOM}" for place in sorted(texts, key=float)}
    if len(lines) > FLAGS:
        return f'<g class="drift"><path d="{"".join(lines.values())}"/></g>'
    return "".join(
        f'<g class="drift"><title>{_text.escaped(_text.clipped("; ".join(texts[place]), 120))}</title>'
        f'<path d="{line}"/><path class="flag" d="M{place},{TOP - 9}h8l-2.5,3.5l2.5,3.5h-8z"/></g>'
        for place, line in lines.items()
    )


def _at(place: Any, digits: int) -> str:
    """A coordinate without trailing zeros."""
    return f"{float(place):.{digits}f}".rstrip("0").rstrip(".")


def _scale(axis: Axis) -> str:
    """An axis for the script: the values and coordinates of both ends."""
    return f"{axis.low:.12g} {axis.high:.12g} {axis.start} {axis.end}"
