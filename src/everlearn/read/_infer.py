"""The kinds of fields, inferred from the first rows by the rules in the docstring of `Schema`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from . import _cells
from .field import KINDS, MAX_CATEGORIES, UNNAMED, Field

_LABEL_NAMES = ("label", "class", "target", "y")
_ID_NAMES = ("id", "row_id", "uid", "uuid")
_TIME_NAMES = ("time", "timestamp", "datetime", "date", "ts")
_MAX_LABELS = 100
_MAX_STRAY_FRACTION = 0.01  # of the cells of a numeric field that need not be numbers
_MIN_TEXT_WORDS = 3


def infer_fields(
    columns: Mapping[str, Any], given: Mapping[str, str], label_type: str | None
) -> tuple[list[Field], str]:
    """The fields, in their order, and the type of labels."""
    for name, kind in given.items():
        if name not in columns:
            raise ValueError(f"No field {name!r}; the fields are {list(columns)}.")
        if kind not in KINDS:
            raise ValueError(f"Field {name!r} has kind={kind!r}; it must be one of {list(KINDS)}.")
    cells = {
        name: column.tolist() if isinstance(column, np.ndarray) else list(column)
        for name, column in columns.items()
    }
    roles = _roles(cells, given)
    fields = []
    for name, column in cells.items():
        if name in given:
            field = Field(name, given[name])
        elif name in roles:
            field = Field(name, roles[name], inferred=True)
        else:
            kind, note = _feature(name, column)
            field = Field(name, kind, inferred=True, note=note)
        fields.append(_with_statistics(field, column))
    label = next((field.name for field in fields if field.kind == "label"), None)
    known = [] if label is None else [cell for cell in cells[label] if not _cells.is_missing(cell)]
    if label_type is None:
        label_type = "int" if known and all(map(_cells.looks_like_integer, known)) else "string"
    if label is not None and not known:
        fields = [replace(f, note="no label in the first rows") if f.name == label else f for f in fields]
    return fields, label_type


def _roles(cells: Mapping[str, list[Any]], given: Mapping[str, str]) -> dict[str, str]:
    """The label, id and time fields that are not given, found by name and contents."""
    roles: dict[str, str] = {}
    by_name: dict[str, list[str]] = {}
    for field in cells:
        by_name.setdefault(field.lower(), []).append(field)

    def free(fields: Iterable[str]) -> list[str]:
        return [field for field in fields if field not in given and field not in roles]

    def named(names: Iterable[str]) -> list[str]:
        return free(field for name in names for field in by_name.get(name, ()))

    if "label" not in given.values():
        labels = [name for name in named(_LABEL_NAMES) if 1 <= _distinct(cells[name]) <= _MAX_LABELS]
        roles |= dict.fromkeys(labels[:1], "label")
    if "id" not in given.values():
        ids = [*named(_ID_NAMES), *free(field for field in cells if field.lower().endswith("_id"))]
        roles |= dict.fromkeys([name for name in ids if _is_id(cells[name])][:1], "id")
    if "time" not in given.values():
        iso = [field for field in free(cells) if _is_iso(cells[field])]
        times = [
            name
            for name in named(_TIME_NAMES)
            if _fraction(_cells.seconds, cells[name]) >= 1 - _MAX_STRAY_FRACTION
        ]
        roles |= dict.fromkeys([*times, *iso][:1], "time")
    return roles


def _feature(name: str, column: list[Any]) -> tuple[str, str]:
    """The kind of a field that is neither label, id nor time, and a note."""
    values = [cell for cell in column if not _cells.is_missing(cell)]
    if not values:
        return "ignore", "no value in the first rows"
    if any(isinstance(cell, list | dict) for cell in values):
        return "ignore", "nested values"
    if name.startswith(UNNAMED):
        return "ignore", "no name"
    if _is_iso(column):
        return "ignore", "another time field"
    if _fraction(_cells.number, column) >= 1 - _MAX_STRAY_FRACTION:
        return "numeric", _warning(name, column)
    words = [len(_cells.try_convert(_cells.string, cell, "")[0].split()) for cell in values]
    if sum(words) >= _MIN_TEXT_WORDS * len(words) and 2 * _distinct(values) > len(values):
        return "text", ""
    return "categorical", _warning(name, column)


def _warning(name: str, column: list[Any]) -> str:
    """A note on a feature whose name suggests a label, an id or a time."""
    if name.lower() in _LABEL_NAMES:
        return f"named like a label, but has {_distinct(column)} values"
    if name.lower() in _ID_NAMES or name.lower().endswith("_id"):
        return "named like an id"
    return "named like a time" if name.lower() in _TIME_NAMES else ""


def _with_statistics(field: Field, column: list[Any]) -> Field:
    """The field with the median or the categories of the first rows."""
    if field.kind == "numeric":
        values, bad = _cells.numbers(column)
        gaps = np.isnan(values)
        median = _median(values[~gaps].tolist())
        return replace(field, median=median, missing=bool(np.count_nonzero(gaps) > len(bad)))
    if field.kind == "categorical":
        texts, bad = _cells.strings(column)
        counts = Counter(text for row, text in enumerate(texts) if row not in bad)
        if len(counts) > MAX_CATEGORIES:
            return replace(field, categories=None)
        return replace(field, categories=tuple(sorted(counts, key=lambda text: (-counts[text], text))))
    return field


def _median(values: list[float]) -> float:
    """The same as `numpy.median`, ten times as fast for few values; 0 without values."""
    values.sort()
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2 if values else 0.0


def _distinct(column: list[Any]) -> int:
    return len({str(cell) for cell in column if not _cells.is_missing(cell)})


def _is_id(column: list[Any]) -> bool:
    """Whether the cells can be row ids: none missing, all distinct, none fractional."""
    if not column or any(map(_cells.is_missing, column)) or any(map(_is_fraction, column)):
        return False
    return len({str(cell) for cell in column}) == len(column)


def _is_fraction(cell: Any) -> bool:
    return not _cells.try_convert(_cells.number, cell, 0.0)[0].is_integer()


def _is_iso(column: list[Any]) -> bool:
    """Whether the cells are times and not numbers."""
    return (
        _fraction(_cells.seconds, column) >= 1 - _MAX_STRAY_FRACTION and _fraction(_cells.number, column) == 0
    )


def _fraction(convert: Any, column: list[Any]) -> float:
    """The fraction of non-missing cells that can be converted; 0 if all are missing."""
    values = [cell for cell in column if not _cells.is_missing(cell)]
    reasons = [_cells.try_convert(convert, cell, 0.0)[1] for cell in values]
    good = sum(reason in ("", _cells.INFINITE) for reason in reasons)  # an infinite value is a number
    return good / len(values) if values else 0.0
