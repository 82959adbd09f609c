"""Markdown: tables, numbers, paragraphs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from .run import Data, Result

WIDTH = 118
NONE = "–"  # noqa: RUF001  (a dash for "nothing to report")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with aligned columns, the first to the left and the numbers to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def line_of(cells: Sequence[str]) -> str:
        parts = [
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(parts) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line_of(lines[0]), rule, *map(line_of, lines[1:])]) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits, without exponent where that fits a table."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def fill(text: str) -> str:
    """A paragraph, wrapped."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False) + "\n"


def fill_item(text: str) -> str:
    """An item of a list, wrapped."""
    return fill(text).rstrip("\n").replace("\n", "\n  ")


def head(title: str, data: Data) -> list[str]:
    """Title, machine, load, and whether this is a trial."""
    about = data["machine"]
    packages = ", ".join(f"{name} {v or 'not installed'}" for name, v in about["packages"].items())
    size = "" if about["memory_gb"] is None else f", {about['memory_gb']} GB"
    first = f"{about['date']} · {about['cpu']}, {about['cores']} cores{size}, {' '.join(about['simd'])}"
    threads = f"**{about['threads']} thread{'s' * (about['threads'] != 1)} for all**"
    parts = [f"# {title}\n", fill(f"{first} · {threads} · Python {about['python']}, {packages}")]
    if about["load_before"]:
        parts.append(f"Load at the start: {about['load_before'][0]:.1f} on {about['cores']} cores.\n")
    if data["settings"].get("quick"):
        parts.append("**A trial on few rows: do not quote these figures.**\n")
    return parts


def middle(entry: dict[str, Any], what: str = "fits", unit: str = "seconds") -> float | None:
    """The median of a peer's measurements."""
    values = [m[unit] for m in entry.get(what, [])]
    return median(values) if values else None


def ratio(result: Result, over: str, under: str, what: str = "fits", unit: str = "seconds") -> float | None:
    """Ratio of the medians of two peers."""
    peers = result["peers"]
    upper = middle(peers.get(over, {}), what, unit)
    lower = middle(peers.get(under, {}), what, unit)
    return None if upper is None or not lower else upper / lower


def remarks(results: list[Result]) -> str:
    """Why peers failed, and what they noted."""
    lines = []
    for r in results:
        for entry in r["peers"].values():
            lines += [
                f"- {r['title']}, {entry['label']}: {entry[k]}" for k in ("reason", "note") if entry.get(k)
            ]
        if r.get("exact_reason"):
            lines.append(f"- {r['title']}, against the optimum: {r['exact_reason']}")
    return "## Remarks\n\n" + ("\n".join(lines) if lines else "All peers ran.") + "\n"
