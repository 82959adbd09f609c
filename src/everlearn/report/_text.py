"""Values as text for a page: escaped strings and formatted numbers."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from typing import Any

UNKNOWN = "–"  # noqa: RUF001

# Not allowed or discouraged in XML 1.0, even escaped: control characters, surrogates, noncharacters.
_NOT_XML = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Bidirectional marks, with which a label could change the order of the text around it.
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def items(values: Sequence[Any] | None) -> Sequence[Any]:
    """The sequence, or an empty one for None."""
    return () if values is None else values


def escaped(value: Any) -> str:
    """Text from data, safe inside elements and quoted attributes of HTML and SVG."""
    return html.escape(_DIRECTION.sub("\ufffd", _NOT_XML.sub("\ufffd", str(value))))


def clipped(value: Any, length: int = 60) -> str:
    """Text shortened to a length; not escaped."""
    text = " ".join(str(value).split())
    return text if len(text) <= length else text[: length - 1] + "…"


def is_known(value: Any) -> bool:
    """Whether there is a value: neither None nor NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value)) and value == value


def real(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def count(value: Any) -> str:
    """A number with thousands separators: 100,000, 12.5, 0.031."""
    number = real(value)
    if number is None:
        return UNKNOWN
    size = abs(number)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{number:.3g}"
    if number == int(number) or size >= 1000:
        return f"{number:,.0f}"
    return f"{number:.1f}" if size >= 10 else f"{number:.3g}"


def score(value: Any, digits: int = 3) -> str:
    """A score or fraction with a fixed number of digits, so that columns align: 0.913."""
    number = real(value)
    return UNKNOWN if number is None else f"{number:.{digits}f}" if abs(number) < 1e6 else f"{number:.3g}"


def percent(part: float, whole: float) -> str:
    """A fraction as a percentage, with one decimal near 0 and 100: 51%, 0.5%, 99.7%; 100% only if exact."""
    if not whole:
        return UNKNOWN
    value = 100 * part / whole
    if 99.45 <= value < 100:
        return f"{value:.1f}%" if value < 99.95 else ">99.9%"
    return f"{value:.0f}%" if value >= 9.95 or value == 0 else f"{value:.1f}%" if value >= 0.1 else "<0.1%"


def duration(seconds: Any) -> str:
    """A duration in its two largest units: 41 s, 3 min 20 s, 2 h 5 min, 4 d 7 h."""
    number = real(seconds)
    if number is None or number < 0:
        return UNKNOWN
    if number < 60:
        return f"{number:.3g} s"
    whole = round(min(number, 1e12))
    for large, small, size, part in (("min", "s", 60, 1), ("h", "min", 3600, 60)):
        if whole < size * (60 if large == "min" else 24):
            return f"{whole // size} {large} {whole % size // part} {small}"
    return f"{whole // 86400:,} d {whole % 86400 // 3600} h"


def memory(megabytes: Any) -> str:
    """An amount of memory: 12.5 MB, 3.1 GB."""
    number = real(megabytes)
    if number is None:
        return UNKNOWN
    return f"{count(number)} MB" if abs(number) < 1024 else f"{count(number / 1024)} GB"


def plural(number: Any, noun: str) -> str:
    """1 label, 2 labels."""
    return f"{count(number)} {noun if real(number) == 1 else noun + 's'}"


def tick_labels(ticks: Sequence[float]) -> list[str]:
    """Tick labels, all in the unit that fits the largest tick: 0, 20k, 40k."""
    size = max((abs(tick) for tick in ticks), default=0.0)
    if size >= 1e15 or 0 < size < 1e-3:
        return [f"{tick:.3g}" for tick in ticks]
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            unit = 1e3 if name == "k" else unit
            return [f"{tick / unit:.6g}{name}" if tick else "0" for tick in ticks]
    digits = max((len(f"{tick:.6g}".partition(".")[2]) for tick in ticks), default=0)
    return [f"{tick:,.{digits}f}" if tick else "0" for tick in ticks]
