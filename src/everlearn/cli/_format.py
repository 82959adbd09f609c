"""Numbers and lists as text."""

import math
from typing import Any


def count(number: int) -> str:
    """12,345."""
    return f"{number:,}"


def score(value: Any) -> str:
    """0.942, or a dash if the value is unknown."""
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def rate(rows_per_second: float | None) -> str:
    """12,300, with three significant digits."""
    if rows_per_second is None or rows_per_second <= 0:
        return "-"
    digits = max(0, 2 - math.floor(math.log10(rows_per_second)))
    rounded = round(rows_per_second, -(math.floor(math.log10(rows_per_second)) - 2))
    return f"{rounded:,.{min(digits, 1)}f}" if rows_per_second < 10 else f"{rounded:,.0f}"


def duration(seconds: float) -> str:
    """1:02:03."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def plural(number: int, noun: str) -> str:
    """1 row, 2 rows."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def some(items: list[Any], most: int = 10) -> str:
    """The first items of a list."""
    shown = ", ".join(map(str, items[:most]))
    return f"{shown} and {count(len(items) - most)} more" if len(items) > most else shown
