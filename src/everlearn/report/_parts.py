"""Building blocks of a page: tables, legends, and figures with their numbers in a fold-out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from . import _text
from ._curves import Chart, Line, svg

_NUMBERS = 12  # rows of the table below a chart


class Html(str):
    """Text that is already HTML and must not be escaped."""

    __slots__ = ()


def table(
    heads: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str = "", numbers: str = ""
) -> Html:
    """A table with row headers; `numbers` has an "n" for each column of numbers and a "t" for text."""
    kinds = numbers.ljust(len(heads), "t")
    head = "".join(f'<th scope="col" class="{k}">{_cell(h)}</th>' for k, h in zip(kinds, heads, strict=True))
    body = []
    for row in rows:
        first, *rest = row
        cells = [f'<th scope="row" class="{kinds[0]}">{_cell(first)}</th>']
        cells += [f'<td class="{k}">{_cell(value)}</td>' for k, value in zip(kinds[1:], rest, strict=True)]
        body.append(f"<tr>{''.join(cells)}</tr>")
    title = f"<caption>{_text.escaped(caption)}</caption>" if caption else ""
    label = _text.escaped(caption or f"Table of {', '.join(heads)}")
    return Html(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>{title}'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(body)}</tbody></table></div>"
    )


def fold_out(summary: str, inside: str) -> str:
    """A fold-out."""
    return f"<details><summary>{_text.escaped(summary)}</summary>{inside}</details>\n"


def with_bar(text: str, fraction: float, style: str = "c2") -> Html:
    """A number in a table, followed by a bar for a fraction if there is room."""
    return Html(
        f'<span class="measured">{_text.escaped(text)}'
        '<svg class="bar" viewBox="0 0 84 9" aria-hidden="true"><rect width="84" height="9" rx="2"/>'
        f'<rect class="{style}" width="{84 * fraction:.1f}" height="9" rx="2"/></svg></span>'
    )


def section(name: str, heading: str, inside: str) -> str:
    """A section of the page with its heading."""
    title = f'<h2 id="{name}">{_text.escaped(heading)}</h2>'
    return f'<section aria-labelledby="{name}">{title}\n{inside}</section>\n'


def cards(*inside: str, three: bool = False) -> str:
    """Figures side by side, in two or three columns if there is room."""
    return f'<div class="cards{" three" if three else ""}">{"".join(inside)}</div>\n' if any(inside) else ""


def card(title: str, caption: str, inside: str, *, wide: bool = False) -> str:
    """A figure with its title and caption."""
    return (
        f'<figure class="card{" whole" if wide else ""}"><figcaption><h3>{_text.escaped(title)}</h3>'
        f'<p class="caption">{_text.escaped(caption)}</p></figcaption>\n{inside}</figure>\n'
    )


def figure(chart: Chart, name: str, *, wide: bool = False) -> str:
    """A chart as a card with legend and numbers; a wide one is also drawn for narrow screens."""
    if not chart.has_data():
        return ""
    if not chart.has_curve():
        text = f"{chart.caption} A curve appears as more rows arrive."
        return card(chart.title, text, legend(chart), wide=wide)
    if wide:
        drawn = svg(chart, f"{name}-wide", width=1060, height=330, style="wide")
        drawn += svg(chart, f"{name}-narrow", height=320, style="narrow")
    else:
        drawn = svg(chart, name)
    return card(chart.title, chart.caption, legend(chart) + drawn + numbers(chart), wide=wide)


def legend(chart: Chart) -> str:
    """Names, line styles and last values of the curves."""
    entries = []
    for number, line in enumerate(chart.lines):
        seen = line.y[np.isfinite(line.y)]
        if len(seen):
            value = _text.escaped(chart.value(seen[-1]))
            entries.append(_entry(f"line {line.style}", line.name, f'<b data-of="{number}">{value}</b>'))
    for band in chart.bands:
        shape = f'<rect class="band {band.style}" y="1" width="26" height="10"/>'
        entries.append(_entry("", band.name, shape=shape))
    if chart.level is not None:
        entries.append(_entry("line level", chart.level[0], f"<b>{chart.value(chart.level[1])}</b>"))
    if chart.marks:
        shape = '<g class="drift"><path d="M9,0V12"/><path class="flag" d="M9,0h8l-2.5,3.5l2.5,3.5h-8z"/></g>'
        entries.append(_entry("", "drift alarm", shape=shape))
    return f'<ul class="legend">{"".join(entries)}<li class="at"></li></ul>'


def _entry(style: str, name: str, value: str = "", shape: str = "") -> str:
    shape = shape or f'<path class="{style}" d="M1,6H25"/>'
    key = f'<svg class="key" viewBox="0 0 26 12" aria-hidden="true">{shape}</svg>'
    return f"<li>{key}<span>{_text.escaped(_text.clipped(name, 48))}</span>{value}</li>"


def numbers(chart: Chart) -> str:
    """The values of the curves at a dozen rows spread over the stream."""
    lines = [line for line in chart.lines if np.isfinite(line.y).any()]
    places = np.unique(np.concatenate([line.x[np.isfinite(line.x) & np.isfinite(line.y)] for line in lines]))
    chosen = places[np.unique(np.linspace(0, len(places) - 1, _NUMBERS).round().astype(np.int64))]
    heads = [chart.x_label, *(_text.clipped(line.name, 32) for line in lines)]
    rows = [[_text.count(row), *(chart.value(_latest(line, row)) for line in lines)] for row in chosen]
    return fold_out("Numbers", table(heads, rows, caption=chart.y_label, numbers="n" * len(heads)))


def _latest(line: Line, row: float) -> float | None:
    """The latest value of the curve up to a row."""
    seen = np.flatnonzero(np.isfinite(line.y) & (line.x <= row))
    return float(line.y[seen[-1]]) if len(seen) else None


def _cell(value: Any) -> str:
    return value if isinstance(value, Html) else _text.escaped(value)
