"""Quarantine: bad rows are counted, the first are kept, and all are written to a file if there is one."""

import json
import os
from collections import Counter
from dataclasses import replace
from typing import TextIO

from .. import _atomic
from .._visible import json_visible
from ._formats import BadRow

_SHOWN = 20
_RAW_SHOWN = 1000  # characters of a bad row that are kept in memory


def refuse_inputs(path: str, source: str, schema: str | None) -> None:
    """Refuse a quarantine that is the source, its schema or a store.

    A source that gets its own bad rows appended would be read without end.
    """
    for name, role in ((source, "the source"), (schema, "the schema")):
        if name is not None and _same_regular_file(path, 0 if name == "-" else name):
            raise ValueError(f"quarantine={path!r} is {role}: bad rows need a file of their own.")
    _atomic.refuse_database(path)


def _same_regular_file(path: str, other: str | int) -> bool:
    return os.path.isfile(other) and _atomic.same_file(path, other)


class Quarantine:
    """Where the bad rows of a source go."""

    def __init__(self, source: str, path: str | os.PathLike[str] | None, on_bad: str) -> None:
        self._source = source
        self._path = path
        self._on_bad = on_bad
        self._file: TextIO | None = None
        self.reasons: Counter[str] = Counter()
        self.first: list[BadRow] = []

    def add(self, rows: list[BadRow], *, again: bool = False) -> None:
        """Take bad rows; those that come again were written to the file by an earlier run."""
        if rows and self._on_bad == "error":
            raise ValueError(f"Line {rows[0].line} of {self._source} is bad: {rows[0].reason}.")
        self.reasons.update(row.reason for row in rows)
        kept = rows[: _SHOWN - len(self.first)]
        self.first += [replace(row, raw=row.raw[:_RAW_SHOWN]) for row in kept]
        if not rows or self._path is None or again:
            return
        if self._file is None:
            self._file = open(self._path, "a", encoding="utf-8")  # noqa: SIM115 - closed by close
        for row in rows:
            record = {"source": self._source, "line": row.line, "reason": row.reason, "raw": row.raw}
            self._file.write(json_visible(json.dumps(record, ensure_ascii=False)) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file; what comes later opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None
