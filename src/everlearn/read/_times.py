"""Times as people write them: ISO 8601, seconds since 1970, and local forms that are detected or given."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _cells

TICKS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # time formats: ticks since 1970
MALFORMED = "malformed time"
_EPOCH = datetime.datetime(1970, 1, 1)
_COMPACT = "%Y%m%d"
_DAYS = (  # a pattern of a day, and the formats that it may have; {1} is its separator
    (re.compile(r"\d{4}([./-])\d{1,2}\1\d{1,2}"), ("%Y{1}%m{1}%d",)),
    (re.compile(r"\d{1,2}(\. ?|[/-])\d{1,2}\1\d{4}"), ("%d{1}%m{1}%Y", "%m{1}%d{1}%Y")),
    (re.compile(r"\d{1,2}(\. ?|[/-])\d{1,2}\1\d{2}"), ("%d{1}%m{1}%y", "%m{1}%d{1}%y")),
    (
        re.compile(r"\d{1,2}(\. |[ ./-])[A-Za-z]{3,9}([ ./-])\d{4}"),
        ("%d{1}%b{2}%Y", "%d{1}%B{2}%Y"),
    ),
    (re.compile(r"\d{1,2}([ ./-])[A-Za-z]{3,9}([ ./-])\d{2}"), ("%d{1}%b{2}%y", "%d{1}%B{2}%y")),
    (re.compile(r"[A-Za-z]{3,9}( )\d{1,2}(, ?| )\d{4}"), ("%b{1}%d{2}%Y", "%B{1}%d{2}%Y")),
    (re.compile(r"\d{8}(?=T| \d)()"), (_COMPACT,)),
)
_CLOCK = re.compile(
    r"(?P<gap>, ?| +|T|:)(?P<hour>\d{1,2})(?P<colon>[:.]?)\d{2}(?P<second>(?P=colon)\d{2})?"
    r"(?P<fraction>[.,]\d{1,6})?(?P<half> ?[AaPp][Mm])?(?P<word> Uhr)?"
    r"(?P<zone> ?(?:Z|[+-]\d{2}:?\d{2})| (?:GMT|UTC))?"
)
_WEEKDAY = re.compile(r"[A-Z][a-z]{2}, ")
_UNIX = re.compile(
    r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d{2}:\d{2}:\d{2} (?P<zone>[+-]\d{4} |UTC |GMT )?\d{4}"
)
_MIN_STEPS = 10  # between times in order, so that it is no accident
_YEAR_RANGE = range(1900, 2101)


def seconds(cell: Any, time_format: str = "") -> float:
    """A time as seconds since 1970, UTC unless it has an offset; NaN if it is missing.

    Parameters
    ----------
    cell : object
        A string, a number, or a date or datetime.
    time_format : str, default=""
        A format of `datetime.datetime.strptime`; "ms", "us" or "ns" for such ticks since 1970; "" for ISO
        8601 or seconds since 1970.

    Returns
    -------
    float
        The seconds.
    """
    if not time_format or isinstance(cell, datetime.date):
        return _cells.seconds(cell)
    if time_format in TICKS:
        return _cells.number(cell) / TICKS[time_format]
    if _cells.is_missing(cell):
        return math.nan
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)  # 20250103 in a table that stores it as a float
    try:
        moment = datetime.datetime.strptime(str(cell).strip(), time_format)
    except ValueError:
        raise ValueError(MALFORMED) from None
    if moment.tzinfo is not None:
        return moment.timestamp()
    return (moment - _EPOCH).total_seconds()


def times(cells: Any, time_format: str = "") -> tuple[NDArray[np.float64], _cells.BadCells]:
    """A column as seconds since 1970, with NaN for missing and bad cells, and the reason for each bad row."""
    if not time_format:
        return _cells.times(cells)
    values, bad = _cells.each(lambda cell: seconds(cell, time_format), cells, math.nan)
    return np.array(values, dtype=np.float64), dict.fromkeys(bad, MALFORMED)


def check_format(time_format: str) -> str:
    """The format itself; ValueError if no time can be written in it."""
    if time_format in TICKS:
        return time_format
    try:
        probe = datetime.datetime(2025, 3, 28, 17, 45, 59, tzinfo=datetime.timezone.utc).strftime(time_format)
        datetime.datetime.strptime(probe, time_format)
        good = "%" in time_format
    except ValueError:
        good = False
    if not good:
        raise ValueError(
            f"time_format={time_format!r} is not a time format: use the codes of Python's strptime, such as "
            "'%d.%m.%Y %H:%M', or ms, us or ns for ticks since 1970."
        )
    return time_format


# ------------------------------------------------------------------------------------------------ detection


def detect_format(cells: Sequence[Any], min_fraction: float, decimal: str | None) -> tuple[str, str] | None:
    """The format of a field of times in a local form, and a note; None if it is not one.

    Day and month are told apart by all cells together. If all fit both ways, points and hyphens mean day
    first; then the order in which rows are sorted by time decides, then a decimal comma. Otherwise the day is
    first, and the note says so.
    """
    values = [cell for cell in cells if not _cells.is_missing(cell)]
    if not values or not all(isinstance(cell, str) for cell in values):
        return None
    distinct = dict.fromkeys(cell.strip() for cell in values)
    candidates = _candidates(next(iter(distinct)))
    left = []
    for text in candidates:
        n_bad = sum(not _fits(cell, text) for cell in distinct)
        if n_bad <= (1 - min_fraction) * len(distinct):
            left.append((n_bad, text))
    if not left:
        return None
    fewest = min(n for n, _ in left)
    best = [text for n, text in left if n == fewest]
    by_month = [text for text in best if text.startswith("%m")]
    by_day = [text for text in best if text.startswith("%d")]
    if not by_month or not by_day:
        return best[0], ""
    return _day_or_month(by_day[0], by_month[0], values, decimal)


def _candidates(text: str) -> list[str]:
    """The formats in which a time may be written."""
    if unix := _UNIX.fullmatch(text):
        zone = unix["zone"] or ""
        return [f"%a %b %d %H:%M:%S {'%z ' if zone[:1] in tuple('+-') else '%Z ' if zone else ''}%Y"]
    week = _WEEKDAY.match(text)
    start = "" if week is None else "%a, "
    rest = text if week is None else text[week.end() :]
    found = []
    for pattern, formats in _DAYS:
        day = pattern.match(rest)
        clock = None if day is None else _clock_format(rest[day.end() :])
        if day is not None and clock is not None:
            found += [start + one.format(day[0], *day.groups()) + clock for one in formats]
    return [one for one in found if _fits(text, one)]


def _clock_format(text: str) -> str | None:
    """The format of the time of day after a day; "" without one, None if it is something else."""
    if not text:
        return ""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    zone = match["zone"] or ""
    code = "" if not zone else "%Z" if zone.strip().isalpha() and zone.strip() != "Z" else "%z"
    return "".join(
        [
            match["gap"] if match["gap"] != " " * len(match["gap"]) else " ",
            "%I" if match["half"] else "%H",
            match["colon"],
            "%M",
            f"{match['colon']}%S" if match["second"] else "",
            f"{match['fraction'][0]}%f" if match["fraction"] else "",
            (" " if (match["half"] or "").startswith(" ") else "") + "%p" if match["half"] else "",
            match["word"] or "",
            (" " if zone.startswith(" ") else "") + code,
        ]
    )


def _day_or_month(by_day: str, by_month: str, values: list[str], decimal: str | None) -> tuple[str, str]:
    if by_day[2] in ".-":
        return by_day, ""
    sorted_so = [text for text in (by_day, by_month) if _is_sorted(times(values, text)[0])]
    if len(sorted_so) == 1:
        return sorted_so[0], "by the order of the rows"
    other = f"--time-format {by_month!r} reads the month first"
    return by_day, "day first" if decimal == "," else f"day first (assumed; {other})"


def _is_sorted(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values[~np.isnan(values)])
    in_order = np.all(steps >= 0) or np.all(steps <= 0)
    return bool(in_order and np.count_nonzero(steps) >= _MIN_STEPS)


def _fits(cell: str, time_format: str) -> bool:
    try:
        moment = datetime.datetime.strptime(cell, time_format)
    except ValueError:
        return False
    return moment.year in _YEAR_RANGE


def detect_number_format(values: Sequence[float], compact: bool) -> str:
    """The format of numeric times: ticks by their size, 20250103 if all are such dates; "" for seconds."""
    known = np.array([value for value in values if not math.isnan(value)])
    if not len(known):
        return ""
    if compact and all(_is_compact(value) for value in known.tolist()):
        return _COMPACT
    middle = float(np.median(known))
    return "" if middle < 1e11 else "ms" if middle < 1e14 else "us" if middle < 1e17 else "ns"


def _is_compact(value: float) -> bool:
    return value.is_integer() and 19_000_101 <= value <= 21_001_231 and _fits(str(int(value)), _COMPACT)


def suggest_time_format(text: str) -> str:
    """The format in which a single time may be written; "" if none is known."""
    found = detect_format([text], 1.0, None)
    return "" if found is None else found[0]
