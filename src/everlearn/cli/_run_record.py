"""What `everlearn run` remembers in the notes of a store: sources, settings, quarantine files.

The rows of a source are those from its first row to the first row of the next source. How far a file has been
read therefore follows from the number of rows in the store, however the run ended.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

_START_BYTES = 1 << 16  # of a file, by which it is recognized


@dataclass
class RunRecord:
    """The notes of `everlearn run`.

    Parameters
    ----------
    sources : list of dict
        "name", "start" (size and hash of the first bytes, None for a pipe) and "first_row" of each source, in
        the order in which they were started.
    settings : dict
        The options with which the store was created.
    quarantines : list of str
        The files to which bad rows were written, so that rows can be erased from them.
    """

    sources: list[dict[str, Any]] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    quarantines: list[str] = field(default_factory=list)

    @classmethod
    def from_notes(cls, notes: Mapping[str, Any]) -> "RunRecord":
        """The record in the notes of a store; an empty one if there is none."""
        return cls(**notes.get("run", {}))

    def as_notes(self) -> dict[str, Any]:
        """The record as values that JSON can hold."""
        return asdict(self)

    def rows_from(self, path: str, n_rows: int) -> list[tuple[int, int]]:
        """The ranges of rows, of the n_rows in the store, that come from this file; it may have grown."""
        starts = [source["first_row"] for source in self.sources]
        ranges = zip(starts, [*starts, n_rows][1:], strict=True)
        return [rows for source, rows in zip(self.sources, ranges, strict=True) if _is_same(source, path)]

    def has_name(self, path: str) -> bool:
        """Whether a file with this name was read."""
        name = os.path.realpath(path)
        return os.path.isfile(path) and any(source["name"] == name for source in self.sources)

    def add_source(self, path: str, n_rows: int) -> None:
        """Note that the following rows come from this file, unless those before them did, too."""
        if self.sources and _is_same(self.sources[-1], path):
            return
        if self.sources and self.sources[-1]["first_row"] == n_rows:
            self.sources.pop()  # no row came from it
        self.sources.append(_identity(path) | {"first_row": n_rows})

    def add_quarantine(self, path: str | os.PathLike[str]) -> None:
        """Note that bad rows are written to this file."""
        self.quarantines = list(dict.fromkeys([*self.quarantines, os.path.realpath(path)]))


def _identity(path: str) -> dict[str, Any]:
    """How a source is recognized: a file by its name and its first bytes, a pipe not at all."""
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else path, "start": None}
    return {"name": os.path.realpath(path), "start": _digest(path, _START_BYTES)}


def _is_same(source: Mapping[str, Any], path: str) -> bool:
    """Whether this file is the source, or the source with more rows appended."""
    start = source["start"]
    if start is None or not os.path.isfile(path) or os.path.realpath(path) != source["name"]:
        return False
    return bool(_digest(path, start[0]) == list(start))


def _digest(path: str, n_bytes: int) -> list[Any]:
    with open(path, "rb") as file:
        start = file.read(n_bytes)
    return [len(start), hashlib.sha256(start).hexdigest()]
