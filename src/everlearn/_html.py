"""Small tables in HTML, for notebooks."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from ._visible import visible


def escaped(text: Any) -> str:
    """A text that shows as it is, with unsafe characters written out."""
    return html.escape(visible(text))


def table(lines: Iterable[Sequence[Any]], heads: Sequence[Any] = ()) -> str:
    """A table; without heads, the first cell of each line is its head.

    Parameters
    ----------
    lines : iterable of sequence
        The cells.
    heads : sequence, default=()
        The names of the columns.

    Returns
    -------
    str
        HTML.
    """
    rows = []
    if heads:
        rows.append("".join(f"<th>{escaped(head)}</th>" for head in heads))
    for first, *rest in lines:
        begin = (
            f"<td>{escaped(first)}</td>" if heads else f'<th style="text-align:left">{escaped(first)}</th>'
        )
        style = "" if heads else ' style="text-align:left"'
        rows.append(begin + "".join(f"<td{style}>{escaped(cell)}</td>" for cell in rest))
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
