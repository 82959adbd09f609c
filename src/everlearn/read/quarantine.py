"""Quarantine: bad rows are counted, the first ones are kept, and all can be written to a JSON-lines file."""

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO, TextIO

from .. import _atomic
from .._visible import json_visible
from ._blocks import BadRow

_SHOWN = 20
_RAW_SHOWN = 1000  # characters of a bad row kept in memory
_TOKEN = re.compile(r"[^\s,;|\t\"'{}\[\]():=]+")


def check_path(path: str, source: str, schema: str | None) -> None:
    """Raise an error if the quarantine file is the source, its schema or a store.

    Bad rows appended to their own source would be read again, endlessly.
    """
    for name, role in ((source, "the source"), (schema, "the schema")):
        if name is not None and _same_regular_file(path, 0 if name == "-" else name):
            raise ValueError(f"quarantine={path!r} is {role}: choose another file for bad rows.")
    _atomic.refuse_database(path)


def _same_regular_file(path: str, other: str | int) -> bool:
    return os.path.isfile(other) and _atomic.same_file(path, other)


def _quoted(row: BadRow) -> str:
    return f": {row.value!r}" if row.value else ""


class Quarantine:
    """The bad rows of a source."""

    def __init__(self, source: str, path: str | os.PathLike[str] | None, on_bad: str) -> None:
        self._source = source
        self._path = path
        self._on_bad = on_bad
        self._file: TextIO | None = None
        self.reasons: Counter[str] = Counter()
        self.first: list[BadRow] = []

    def add(self, rows: list[BadRow], *, already_written: bool = False) -> None:
        """Add bad rows; write them to the file unless an earlier run has done so."""
        if rows and self._on_bad == "error":
            raise ValueError(
                f"Line {rows[0].line} of {self._source} is bad: {rows[0].reason}{_quoted(rows[0])}."
            )
        self.reasons.update(row.reason for row in rows)
        kept = rows[: _SHOWN - len(self.first)]
        self.first += [replace(row, raw=row.raw[:_RAW_SHOWN]) for row in kept]
        if not rows or self._path is None or already_written:
            return
        if self._file is None:
            self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        for row in rows:
            record = {"source": self._source, "line": row.line, "reason": row.reason, "raw": row.raw}
            record |= {"field": row.field, "value": row.value} if row.field else {}
            record |= {"place": row.place} if row.place else {}
            self._file.write(json_visible(json.dumps(record, ensure_ascii=False)) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; the next bad row opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None


# ------------------------------------------------------------------------------------------- erasing rows


def check_records(path: str | os.PathLike[str]) -> None:
    """Raise an OSError if a quarantine file cannot be read or replaced."""
    with open(path, "rb+"):
        pass


def erase_records(path: str | os.PathLike[str], ids: Sequence[Any]) -> int:
    """Remove the records that mention one of these ids from a quarantine file; return their number.

    A bad row could not be parsed, so its id may be anywhere in it: a record is removed if one of its cells or
    words is an id. An id with separators is searched for in the whole text, because the delimiter of the
    source is unknown. Removing a record too many is harmless; keeping one too many is not.
    """
    name = os.fspath(path)
    wanted = {str(given) for given in ids}
    kept: list[bytes] = []
    gone = 0
    with open(name, "rb") as file:
        for line in file:
            if _mentions(line, wanted):
                gone += 1
            else:
                kept.append(line)
    if gone:

        def put(file: BinaryIO) -> None:
            file.writelines(kept)

        _atomic.replace(name, put)
    return gone


def _mentions(line: bytes, wanted: set[str]) -> bool:
    text = line.decode("utf-8", "replace")
    try:
        record = json.loads(text)
        raw = str(record["raw"])
    except (ValueError, KeyError, TypeError):
        raw = text  # incomplete because of a crash
    words = set(_TOKEN.findall(raw))
    for cells in csv.reader(raw.splitlines()[:1000]):
        words.update(cell.strip() for cell in cells)
    words.update(_values(raw))
    return not words.isdisjoint(wanted) or any(form in raw for given in wanted for form in _forms(given))


def _forms(given: str) -> set[str]:
    """The spellings of an id that is not a single word: plain, or escaped as in CSV or JSON."""
    if _TOKEN.fullmatch(given) and given.isascii() and "\\" not in given:
        return set()
    found = {
        given,
        given.replace('"', '""'),
        json.dumps(given)[1:-1],
        json.dumps(given, ensure_ascii=False)[1:-1],
    }
    return found - {""}


def _values(raw: str) -> set[str]:
    """All values in a row of JSON, including nested ones."""
    try:
        waiting = [json.loads(raw)]
    except (ValueError, RecursionError):
        return set()
    found = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        else:
            found.add(str(value))
    return found
