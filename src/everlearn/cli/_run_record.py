"""What `everlearn run` remembers in the notes of a store: sources, settings, quarantine files.

The rows of a source are those from its first row to the first row of the next source. How far a file has been
read therefore follows from the number of rows in the store, however the run ended.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..broker import is_broker

RUN_NOTE = "run"  # the name of the record among the notes of a store
_START_BYTES = 1 << 16  # of a file, by which it is recognized
_ORDERED = re.compile(r"\border\s+by\b", re.IGNORECASE)


@dataclass(frozen=True)
class SourceIdentity:
    """How a source is recognized: a file by name and first bytes, a query by its text, a pipe not at all.

    A query without ORDER BY is not recognized: its rows may come in another order the next time.

    Parameters
    ----------
    name : str
        The absolute path, the address, or "standard input".
    file : str or None
        The file with the first bytes; for an address, its temporary copy.
    query : str or None, default=None
        The query.
    """

    name: str
    file: str | None
    query: str | None = None

    @classmethod
    def of_path(cls, path: str) -> "SourceIdentity":
        """The identity of a file, or of a pipe."""
        if os.path.isfile(path):
            return cls(os.path.realpath(path), path)
        return cls("standard input" if path == "-" else path, None)

    def as_record(self) -> dict[str, Any]:
        """The identity as values that JSON can hold."""
        return {"name": self.name, "start": self._start(_START_BYTES)}

    def is_same(self, record: Mapping[str, Any]) -> bool:
        """Whether the source with this record is this one, before more rows were appended."""
        start = record["start"]
        return start is not None and record["name"] == self.name and self._start(start[0]) == list(start)

    def _start(self, n_bytes: int) -> list[Any] | None:
        if self.query is not None:
            text = self.query.encode()
            return [len(text), hashlib.sha256(text).hexdigest()] if _ORDERED.search(self.query) else None
        if self.file is None:
            return None
        with open(self.file, "rb") as file:
            start = file.read(n_bytes)
        return [len(start), hashlib.sha256(start).hexdigest()]

    def version(self) -> list[int] | None:
        """Size and time of a file: while they stay, it has no new rows."""
        if self.file is None or self.name != os.path.realpath(self.file):
            return None
        found = os.stat(self.file)
        return [found.st_size, found.st_mtime_ns]


@dataclass
class RunRecord:
    """The notes of `everlearn run`.

    Parameters
    ----------
    sources : list of dict
        "name", "start" (size and hash of the first bytes, None for a pipe), "first_row" and "options" (with
        which to open it again) of each source, in the order in which they were started; "done" (size and
        time) if it was read to its end.
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
        return cls(**notes.get(RUN_NOTE, {}))

    def as_notes(self) -> dict[str, Any]:
        """The record as values that JSON can hold."""
        return asdict(self)

    def rows_from(self, source: SourceIdentity, n_rows: int) -> list[tuple[int, int]]:
        """The ranges of rows, of the n_rows in the store, that come from this source; it may have grown."""
        starts = [known["first_row"] for known in self.sources]
        ranges = zip(starts, [*starts, n_rows][1:], strict=True)
        return [rows for known, rows in zip(self.sources, ranges, strict=True) if source.is_same(known)]

    def has_name(self, source: SourceIdentity) -> bool:
        """Whether a file with this name was read."""
        return source.file is not None and any(known["name"] == source.name for known in self.sources)

    def add_source(
        self, source: SourceIdentity, n_rows: int, options: Mapping[str, Any] | None = None
    ) -> None:
        """Note that the following rows come from this source, unless those before them did, too."""
        if self.sources and source.is_same(self.sources[-1]):
            return
        if self.sources and is_broker(source.name) and self.sources[-1]["name"] == source.name:
            return  # how far it was read is in its offsets
        if self.sources and self.sources[-1]["first_row"] == n_rows and not self.sources[-1].get("done"):
            self.sources.pop()  # no row came from it
        self.sources.append(source.as_record() | {"first_row": n_rows, "options": dict(options or {})})

    def set_done(self, source: SourceIdentity) -> None:
        """Note that the last source was read to its end."""
        if self.sources and self.sources[-1]["name"] == source.name:
            self.sources[-1]["done"] = source.version()

    def is_done(self, source: SourceIdentity) -> bool:
        """Whether a file was read to its end, and has not changed since."""
        version = source.version()
        return version is not None and any(
            known["name"] == source.name and known.get("done") == version for known in self.sources
        )

    def add_quarantine(self, path: str | os.PathLike[str]) -> None:
        """Note that bad rows are written to this file."""
        self.quarantines = list(dict.fromkeys([*self.quarantines, os.path.realpath(path)]))
