"""The kinds of fields, inferred from the first rows by the rules in the docstring of `Schema`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _cells, _text, _times, _vectors
from ._numbers import PLAIN, NumberForm, detect_forms, several_units
from .field import KINDS, MAX_CATEGORIES, UNNAMED, Field

_LABEL_NAMES = ("label", "class", "target", "y")
_ID_NAMES = ("id", "row_id", "uid", "uuid")
_TIME_NAMES = ("time", "timestamp", "datetime", "date", "ts")
_MAX_LABELS = 100
_MAX_STRAY_FRACTION = 0.01  # of the cells of a numeric field that need not be numbers
_MIN_TEXT_WORDS = 3
_LEADING_ZERO = re.compile(r"0\d{1,15}", re.ASCII)


@dataclass(frozen=True)
class Hints:
    """What is known about the first rows besides their cells.

    Attributes
    ----------
    given : mapping of str to str
        The kinds of some fields.
    label_type : {"int", "string"} or None
        The type of labels.
    decimal : {".", ","} or None
        The decimal separator.
    time_format : str or None
        The format of the time field.
    suggested_decimal : {".", ","} or None
        The decimal separator if no field shows another one.
    """

    given: Mapping[str, str]
    label_type: str | None = None
    decimal: str | None = None
    time_format: str | None = None
    suggested_decimal: str | None = None


def infer_fields(columns: Mapping[str, Any], hints: Hints) -> tuple[list[Field], str]:
    """The fields, in their order, and the type of labels."""
    for name, kind in hints.given.items():
        if name not in columns:
            raise ValueError(f"No field {name!r}; the fields are {list(columns)}.")
        if kind not in KINDS:
            raise ValueError(f"Field {name!r} has kind={kind!r}; it must be one of {list(KINDS)}.")
    return _Inference(columns, hints).fields()


class _Inference:
    """The cells of the first rows, and what has been found out about them."""

    def __init__(self, columns: Mapping[str, Any], hints: Hints) -> None:
        self._hints = hints
        self._cells = {
            name: column.tolist() if isinstance(column, np.ndarray) else list(column)
            for name, column in columns.items()
        }
        given = hints.given
        self._forms: dict[str, tuple[NumberForm, str]] = {}
        for fraction, names in (
            (1 - _MAX_STRAY_FRACTION, [name for name in self._cells if name not in given]),
            (0.0, [name for name, kind in given.items() if kind == "numeric"]),
        ):
            some = {name: self._cells[name] for name in names}
            self._forms |= detect_forms(some, hints.decimal, hints.suggested_decimal, fraction)
        self._time_formats: dict[str, tuple[str, str] | None] = {}

    def fields(self) -> tuple[list[Field], str]:
        """The fields, in their order, and the type of labels."""
        given, label_type = self._hints.given, self._hints.label_type
        roles = self._roles()
        fields = []
        for name, column in self._cells.items():
            if name in given:
                field = Field(name, given[name])
            elif name in roles:
                field = Field(name, roles[name], inferred=True)
            else:
                kind, note = self._feature(name, column)
                field = Field(name, kind, inferred=True, note=note)
            fields.append(self._with_details(field, column))
        label = next((field.name for field in fields if field.kind == "label"), None)
        known = [] if label is None else [cell for cell in self._cells[label] if not _cells.is_missing(cell)]
        if label_type is None:
            label_type = "int" if known and all(map(_cells.looks_like_integer, known)) else "string"
        if label is not None and not known:
            fields = [replace(f, note="no label in the first rows") if f.name == label else f for f in fields]
        return fields, label_type

    def _roles(self) -> dict[str, str]:
        """The label, id and time fields that are not given, found by name and contents."""
        cells, given = self._cells, self._hints.given
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
            times = [name for name in named(_TIME_NAMES) if self._may_be_time(name)]
            written = [field for field in free(cells) if self._is_written_time(field)]
            roles |= dict.fromkeys([*times, *written][:1], "time")
            if self._hints.time_format is not None and not times and not written:
                raise ValueError(
                    f"No field has times of the form time_format={self._hints.time_format!r} "
                    "(--time-format): name the field that has them (--time), or correct the format."
                )
        return roles

    def _feature(self, name: str, column: list[Any]) -> tuple[str, str]:
        """The kind of a field that is neither label, id nor time, and a note."""
        values = [cell for cell in column if not _cells.is_missing(cell)]
        if not values:
            return "ignore", "no value in the first rows"
        if any(isinstance(cell, list | tuple | np.ndarray) for cell in values):
            if _vectors.length_of(values):
                return "vector", ""
            return "ignore", "lists that are not numbers of one length"
        if any(isinstance(cell, dict) for cell in values):
            return "ignore", "nested values"
        if name.startswith(UNNAMED):
            return "ignore", "no name"
        if self._written_time(name) is not None:
            return "ignore", "another time field"
        if _is_boolean(values):
            return "boolean", ""
        form, note = self._forms.get(name, (None, ""))
        if form == PLAIN and any(isinstance(cell, str) and _LEADING_ZERO.fullmatch(cell) for cell in values):
            return "categorical", "codes with leading zeros"
        if form is not None:
            return "numeric", _joined(note, _warning(name, column))
        words = [_n_words(_cells.try_convert(_cells.string, cell, "")[0]) for cell in values]
        if sum(words) >= _MIN_TEXT_WORDS * len(words) and 2 * _distinct(values) > len(values):
            return "text", ""
        if len(values) > MAX_CATEGORIES and _distinct(values) == len(values):
            return "ignore", "different in every row"
        units = several_units(values)
        several = f"amounts in several currencies: {', '.join(units[:4])}" if units else ""
        return "categorical", _joined(several, _warning(name, column))

    def _with_details(self, field: Field, column: list[Any]) -> Field:
        """The field with its form, and with the median or the categories of the first rows."""
        if field.kind == "numeric":
            form, note = self._forms.get(field.name, (PLAIN, ""))
            values, bad = form.parse_column(column)
            gaps = np.isnan(values)
            return replace(
                field,
                note=field.note or note,
                median=_median(values[~gaps].tolist()),
                missing=bool(np.count_nonzero(gaps) > len(bad)),
                decimal=form.decimal,
                thousands=form.thousands,
                unit=form.unit,
            )
        if field.kind == "categorical":
            texts, bad = _cells.strings(column)
            counts = Counter(text for row, text in enumerate(texts) if row not in bad)
            if len(counts) > MAX_CATEGORIES:
                return replace(field, categories=None)
            return replace(field, categories=tuple(sorted(counts, key=lambda text: (-counts[text], text))))
        if field.kind == "vector":
            length = _vectors.length_of(column)
            if not length:
                raise ValueError(
                    f"Field {field.name!r} is given as a vector, but its first rows are not lists of numbers "
                    "of one length."
                )
            return replace(field, length=length, unit_length=_vectors.have_unit_length(column))
        if field.kind == "embed":
            return replace(field, unit_length=True)
        if field.kind == "text":
            texts, bad = _cells.strings(column)
            good = [text for row, text in enumerate(texts) if row not in bad]
            return replace(field, frequencies=_text.frequencies_of(good))
        if field.kind == "time":
            time_format, note = self._time_format(field.name)
            return replace(field, time_format=time_format, note=_joined(field.note, note))
        return field

    # ------------------------------------------------------------------------------------------------ times

    def _written_time(self, name: str) -> tuple[str, str] | None:
        """The format of a field of times that are not numbers, and a note; None if it is not one."""
        if name not in self._time_formats:
            is_number = name in self._forms and self._forms[name][0].unit == ""
            self._time_formats[name] = None if is_number else self._find_written_time(self._cells[name])
        return self._time_formats[name]

    def _find_written_time(self, column: list[Any]) -> tuple[str, str] | None:
        enough = 1 - _MAX_STRAY_FRACTION
        if self._hints.time_format is not None:
            time_format = self._hints.time_format
            fits = _fraction(lambda cell: _times.seconds(cell, time_format), column) >= enough
            if fits and _fraction(_cells.number, column) == 0:
                return time_format, ""
        if _fraction(_cells.seconds, column) >= enough and _fraction(_cells.number, column) == 0:
            return "", ""
        return _times.detect_format(column, enough, self._hints.decimal or self._decimal_of_file())

    def _decimal_of_file(self) -> str | None:
        forms = {form.decimal for form, note in self._forms.values() if note}
        return "," if forms == {","} else self._hints.suggested_decimal

    def _is_written_time(self, name: str) -> bool:
        found, wanted = self._written_time(name), self._hints.time_format
        return found is not None and wanted in (None, found[0])

    def _may_be_time(self, name: str) -> bool:
        wanted = self._hints.time_format or ""
        fraction = _fraction(lambda cell: _times.seconds(cell, wanted), self._cells[name])
        return fraction >= 1 - _MAX_STRAY_FRACTION or self._is_written_time(name)

    def _time_format(self, name: str) -> tuple[str, str]:
        """The format of the time field, and a note."""
        if self._hints.time_format is not None:
            return self._hints.time_format, ""
        if (written := self._written_time(name)) is not None:
            return written
        column = self._cells[name]
        values, bad = _cells.times(column)
        if len(bad) < len(column):
            return _times.detect_number_format(values.tolist(), compact=True), ""
        decimal = self._hints.decimal or self._decimal_of_file()
        return _times.detect_format(column, 0.5, decimal) or ("", "")


def _is_boolean(values: list[Any]) -> bool:
    """Whether all cells say yes or no, and both occur; 0 and 1 are numbers."""
    if any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in values):
        return False
    words = {cell.strip().casefold() if isinstance(cell, str) else cell for cell in values}
    if not 2 <= len(words) <= 2 or words & {"0", "1"}:
        return False
    return {_cells.boolean(word) for word in words} == {True, False}


def _warning(name: str, column: list[Any]) -> str:
    """A note on a feature whose name suggests a label, an id or a time."""
    if name.lower() in _LABEL_NAMES:
        return f"named like a label, but has {_distinct(column)} values"
    if name.lower() in _ID_NAMES or name.lower().endswith("_id"):
        return "named like an id"
    return "named like a time" if name.lower() in _TIME_NAMES else ""


def _n_words(text: str) -> int:
    """The number of words that are not numbers."""
    return sum(not word.isdigit() for word in text.split())


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


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


def _fraction(convert: Any, column: list[Any]) -> float:
    """The fraction of non-missing cells that can be converted; 0 if all are missing."""
    values = [cell for cell in column if not _cells.is_missing(cell)]
    reasons = [_cells.try_convert(convert, cell, 0.0)[1] for cell in values]
    good = sum(reason in ("", _cells.INFINITE) for reason in reasons)  # an infinite value is a number
    return good / len(values) if values else 0.0
