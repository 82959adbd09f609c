"""Cells: conversion of what a source holds to numbers, times, strings and labels.

A column is a list of cells (strings from CSV; strings, numbers, booleans or None from JSON and Parquet) or an
array of numbers. `numbers`, `times`, `strings` and `labels` convert a whole column at once, and cell by cell
only if that fails. They return the values and, for each row with a bad cell, the reason.
"""

import datetime
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T")
BadCells = dict[int, str]  # row of the block -> reason

INFINITE = "infinite"  # or too large to be squared
LARGEST = 1e150
NUL = "a NUL character"
# Missing values in fields of any kind, after stripping whitespace.
MISSING = frozenset({"", "?", "NA", "N/A", "null", "NULL", "nan", "NaN"})

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?"
    r"\s*(?:([Zz])|([+-])(\d\d):?(\d\d)?)?",
    re.ASCII,
)
# yes and no, on and off, in several languages; no word means both.
TRUE_WORDS = frozenset(
    ["yes", "y", "true", "t", "on", "ja", "j", "oui", "o", "si", "sí", "s", "sim", "tak", "ano", "igen", "да"]
)
FALSE_WORDS = frozenset(
    ["no", "n", "false", "f", "off", "nein", "non", "não", "nao", "nie", "ne", "nem", "nee", "nej", "нет"]
)
_EPOCH = datetime.datetime(1970, 1, 1)
_INTEGER = re.compile(r"[+-]?\d+(?:\.0*)?", re.ASCII)


def is_missing(cell: Any) -> bool:
    """Whether a cell is a missing value."""
    if isinstance(cell, str):
        return cell.strip() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def string(cell: Any) -> str:
    """A cell as a stripped string, "" if it is missing; ValueError if it is nested.

    NUL characters are an error, too: databases cannot store them, and they indicate a damaged file.
    """
    if isinstance(cell, str):
        cell = cell.strip()
        if "\0" in cell:
            raise ValueError(NUL)
        return "" if cell in MISSING else cell
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if is_missing(cell):
        return ""
    if isinstance(cell, bytes):
        return string(cell.decode())  # UnicodeDecodeError is a ValueError
    if isinstance(cell, list | dict | tuple | set):
        raise ValueError("nested value")
    return str(cell)


def number(cell: Any) -> float:
    """A cell as a float, NaN if it is missing; ValueError if it is not a finite number."""
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in MISSING:
            return math.nan
        if "_" in cell:  # float("1_000") is valid in Python, but not in data
            raise ValueError("not a number")
    elif cell is None:
        return math.nan
    elif isinstance(cell, bool):
        raise ValueError("not a number")
    try:
        value = float(cell)
    except OverflowError:
        raise ValueError(INFINITE) from None
    except (ValueError, TypeError):
        raise ValueError("not a number") from None
    if abs(value) > LARGEST:
        raise ValueError(INFINITE)
    return value


def seconds(cell: Any) -> float:
    """A time as seconds since 1970; from epoch seconds or ISO 8601 (UTC unless it has an offset)."""
    if isinstance(cell, str):
        match = _ISO.fullmatch(cell.strip())
        if match is None:
            return _epoch_seconds(cell)
        year, month, day, hour, minute, second, fraction, _, sign, off_hours, off_minutes = match.groups()
        if hour is None and (match[8] or sign):
            raise ValueError("malformed time")
        try:
            moment = datetime.datetime(
                int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
            )
            offset = datetime.timedelta(hours=int(off_hours or 0), minutes=int(off_minutes or 0))
        except ValueError:
            raise ValueError("malformed time") from None
        whole = (moment - _EPOCH) + (offset if sign == "-" else -offset)
        return whole.total_seconds() + (float(f"0.{fraction}") if fraction else 0.0)
    if isinstance(cell, datetime.datetime):
        zone = cell.tzinfo or datetime.timezone.utc
        return cell.replace(tzinfo=zone).timestamp()
    if isinstance(cell, datetime.date):
        return float((cell - _EPOCH.date()).days * 86400)
    return _epoch_seconds(cell)


def integer(cell: Any) -> int | None:
    """A cell as an integer label, None if it is missing."""
    if type(cell) is int:
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    text = string(cell)
    if not text:
        return None
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("bad label")
    return int(text.partition(".")[0])


def looks_like_integer(cell: Any) -> bool:
    """Whether a cell is a non-missing integer label."""
    try:
        return integer(cell) is not None
    except ValueError:
        return False


def numbers(cells: Any) -> tuple[NDArray[np.float64], BadCells]:
    """A column as float64, with NaN for missing and bad cells."""
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64)
    else:
        types = set(map(type, cells))
        if types == {str} and "_" not in "".join(cells):
            cells = [cell or "nan" for cell in cells]
        elif not types <= {int, float}:
            return _numbers_one_by_one(number, cells)
        try:
            values = np.array(list(map(float, cells)), dtype=np.float64)
        except (ValueError, OverflowError):
            return _numbers_one_by_one(number, cells)
    bad = {}
    with np.errstate(invalid="ignore"):
        large = np.abs(values) > LARGEST
    if large.any():
        bad = {int(row): INFINITE for row in np.flatnonzero(large)}
        values[list(bad)] = np.nan
    return values, bad


def boolean(cell: Any) -> bool | None:
    """Whether a cell says yes (or true, on, 1) or no; None if it says neither or is missing."""
    if not isinstance(cell, str):
        return bool(cell) if isinstance(cell, int | float | np.bool_) and cell in (0, 1) else None
    word = cell.strip().casefold()
    if word in TRUE_WORDS or word == "1":
        return True
    return False if word in FALSE_WORDS or word == "0" else None


def booleans(cells: Any) -> tuple[NDArray[np.float64], BadCells]:
    """A column of yes and no as two columns: whether it is yes, and whether it is neither."""
    found, bad = each(boolean, cells, None)
    return np.array([(word is True, word is None) for word in found], dtype=np.float64).reshape(-1, 2), bad


def times(cells: Any) -> tuple[NDArray[np.float64], BadCells]:
    """A column as seconds since 1970, with NaN for missing and bad cells."""
    if isinstance(cells, np.ndarray):
        values, bad = numbers(cells)
        return values, dict.fromkeys(bad, "malformed time")
    return _numbers_one_by_one(seconds, cells)


def strings(cells: Any) -> tuple[list[str], BadCells]:
    """A column as strings, "" for missing and bad cells."""
    values, bad = each(string, cells, "")
    return values, {row: why if why == NUL else "not a single value" for row, why in bad.items()}


def labels(cells: Any, label_type: str) -> tuple[NDArray[np.object_], BadCells]:
    """A column as an object array of int or str labels, None for missing and bad cells."""
    found, bad = each(integer if label_type == "int" else string, cells, None)
    values = np.empty(len(found), dtype=object)
    values[:] = [None if label == "" else label for label in found]
    return values, {row: why if why == NUL else "bad label" for row, why in bad.items()}


def try_convert(convert: Callable[[Any], _T], cell: Any, otherwise: _T) -> tuple[_T, str]:
    """The converted cell and ""; if conversion fails, `otherwise` and the reason."""
    try:
        return convert(cell), ""
    except ValueError as error:
        return otherwise, str(error)


def _epoch_seconds(cell: Any) -> float:
    try:
        return number(cell)
    except ValueError:
        raise ValueError("malformed time") from None


def _numbers_one_by_one(convert: Callable[[Any], float], cells: Any) -> tuple[NDArray[np.float64], BadCells]:
    values, bad = each(convert, cells, math.nan)
    return np.array(values, dtype=np.float64), bad


def each(convert: Callable[[Any], Any], cells: Any, otherwise: Any) -> tuple[list[Any], BadCells]:
    """The converted cells, each distinct string converted only once, and the reason for each bad row."""
    cells = cells.tolist() if isinstance(cells, np.ndarray) else cells
    if set(map(type, cells)) == {str}:
        known = {cell: try_convert(convert, cell, otherwise) for cell in set(cells)}
        found = [known[cell] for cell in cells]
    else:
        found = [try_convert(convert, cell, otherwise) for cell in cells]
    return [value for value, _ in found], {row: why for row, (_, why) in enumerate(found) if why}
