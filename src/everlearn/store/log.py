"""The log: a durable, append-only sequence of events, and snapshots of the state that they lead to.

One SQLite file in WAL mode, a PostgreSQL database by URL, or memory::

    meta        key, value                          format version, settings
    events      seq, kind, time, content            the events
                rows, seconds, memory               rows so far; time to apply it, and memory after it
    rows        number, id, seq, position           the event in which a row arrived, and its position
    marks       number, seq, given                  when the label of a row was given or withdrawn (null: when
                                                    an answer was given that did not change it)
    snapshots   seq, content                        the state after an event
    notes       key, value                          values stored by the caller

and tables that are written in the same transactions, on which the state does not depend (see `beside`)::

    records     number, record                      a row as it was sent, as JSON
    answers     place, number, seq, by, kind,       every answer that was given, skipped or taken back, in
                label, time, weight, about          their order, and what else is known about it, as JSON
    requests    key, digest, outcome, seq, time     requests that were made with a key, and their outcomes

Rows may be pairs of records that are linked; then the records are here, too (see `linked`)::

    linked      number, id, record, cluster         a record as JSON, and its cluster
    link_keys   key, number                         records by their keys: hashes of equal values
    link_pairs  left, right, features, row_id, same  pairs that are compared: id in ``rows``, label
    link_journal  place, time, kind, before, after, reason   merges and splits of clusters
    link_state  name, content                       settings, counters and statistics, packed

Everything about an event is written in one transaction: completely or not at all.
"""

import contextlib
import json
import sqlite3
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from .._base import persist
from ..errors import FileFormatError, StoreError
from ._database import Database
from ._event_cache import EventCache
from ._tables import EVENTS, MARKS, META, NOTES, ROWS, SNAPSHOTS
from .events import Answered, Arrived, Event, Labeled, Withdrawn, decode, encode
from .lookup import TRIMMED, Id, Lookup, id_key
from .tombstones import SALT

VERSION = 2  # of logs with erased or expired rows, which everlearn versions without these features refuse
_FIRST_VERSION = 1  # of all other logs

_EVENTS_AT_A_TIME = 64
# Built once: building a statement takes longer than running it.
_ADD_EVENT, _ADD_ROWS, _ADD_MARKS = sa.insert(EVENTS), sa.insert(ROWS), sa.insert(MARKS)


class Log(Lookup):
    """The log of a store.

    Parameters
    ----------
    location : str or path-like
        A file, a database URL, or ":memory:".
    read_only : bool, default=False
        Whether to open for reading only, also while another process writes; nothing is created.
    create : bool, default=True
        Whether to create a log that does not exist; if False, raise a `StoreError` with the code "no_store".
    """

    def __init__(self, location: Any, *, read_only: bool = False, create: bool = True) -> None:
        create = create and not read_only
        self.database = Database(location, read_only, create)
        self.read_only = read_only
        self._events = EventCache(self._read_event)
        self.event = self._events
        self._held = threading.local()  # the connection of `one_moment`, if this thread is in its block
        try:
            with self.reporting("opened"):
                if not create and not self.database.has_tables():
                    raise StoreError(f"{self.database} is not a store of everlearn.", code="no_store")
                if not read_only:
                    self._make_tables()
            with self.one_moment() if read_only else contextlib.nullcontext():
                self._read_state()
            self._warn_if_log_is_missing()
            if not read_only:
                self.begin_use()
        except BaseException:
            self.database.close()
            raise

    # ------------------------------------------------------------------------------------------------ writing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection whose changes are durable when the block ends, and undone if it raises."""
        self._check_writable()
        with self.reporting("written to"), self.database.engine.begin() as db:
            yield db

    @contextlib.contextmanager
    def writing(self) -> Iterator["Writing"]:
        """A transaction that appends events."""
        self._check_writable()
        writing = Writing(self)
        with self.reporting("written to"), self.database.writing() as db:
            writing.db = db
            yield writing
        self.last, self.n_rows = writing.last, writing.n_rows

    def set_meta(self, db: Any = None, /, **values: Any) -> None:
        """Store JSON values by name, in the transaction ``db`` if it is given."""
        with self.transaction() if db is None else contextlib.nullcontext(db) as connection:
            for key, value in values.items():
                connection.execute(sa.delete(META).where(META.c.key == key))
                connection.execute(sa.insert(META).values(key=key, value=json.dumps(value)))
        self._meta |= values

    def copy_tombstones(self, source: "Log") -> None:
        """Copy the tombstones of a log that was replayed into this one: its erased rows stay erased."""
        stones = source.tombstones()
        if stones:
            with self.transaction() as db:
                db.execute(sa.insert(ROWS), stones)
                self.set_meta(db, **{SALT: source.meta(SALT)}, version=VERSION)

    def meta(self, key: str) -> Any:
        """A value by its name; None if it is missing."""
        return self._meta.get(key)

    # ------------------------------------------------------------------------------------------------ reading

    @contextlib.contextmanager
    def reading(self) -> Iterator[Any]:
        """A connection for reading; within a block of `one_moment`, always the same one."""
        held = getattr(self._held, "db", None)
        with self.reporting("read"):
            if held is not None:
                yield held
                return
            with self.database.engine.connect() as db:
                yield db

    def look(self, statement: Any, key: Any) -> Sequence[Any]:
        """The result of a query with the parameter "key"."""
        if getattr(self._held, "db", None) is None:
            with self.reporting("read"):
                found = self.database.look(statement, key)
            if found is not None:
                return found
        with self.reading() as db:
            return list(db.execute(statement, {"key": key}))

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[Any]:
        """Within the block, this thread reads the log as of one moment, even if others write to it.

        An erasure rewrites older events: without this, a reader could see some from before and others from
        after it.
        """
        with self.reporting("read"), self.database.engine.connect() as db:
            if self.database.engine.dialect.name == "postgresql":
                db = db.execution_options(isolation_level="REPEATABLE READ")
            else:
                db.exec_driver_sql("BEGIN")
            self._held.db = db
            try:
                self._read_state()
                yield db
            finally:
                self._held.db = None

    def check(self) -> None:
        """Read something; a `StoreError` if that is not possible."""
        with self.reading() as db:
            db.execute(sa.select(META).limit(1)).all()

    def notes(self) -> dict[str, Any]:
        """The notes of the caller; see `Writing.set_notes`."""
        with self.reading() as db:
            return {key: json.loads(value) for key, value in db.execute(sa.select(NOTES))}

    def read(self, after: int = 0, until: int | None = None) -> Iterator[tuple[int, Event]]:
        """Iterate over the events after one number, up to and including another, with their numbers.

        An event whose rows were dropped is an error: it cannot be replayed.
        """
        for seq, kind, event in self._events_after(after, until):
            if kind == TRIMMED:
                raise StoreError(
                    f"{self.database} has dropped rows of event {seq} (retention), and no later snapshot "
                    "can be read: restore the store from a backup."
                )
            yield seq, event

    def read_any(self, after: int) -> Iterator[tuple[int, Event]]:
        """Iterate over the events after one number, with their numbers, even if their rows were dropped."""
        for seq, _, event in self._events_after(after, None):
            yield seq, event

    def _events_after(self, after: int, until: int | None) -> Iterator[tuple[int, str, Event]]:
        until = self.last if until is None else until
        while after < until:
            ask = (
                sa.select(EVENTS.c.seq, EVENTS.c.kind, EVENTS.c.content)
                .where(EVENTS.c.seq > after, EVENTS.c.seq <= until)
                .order_by(EVENTS.c.seq)
                .limit(_EVENTS_AT_A_TIME)
            )
            with self.reading() as db:
                found = db.execute(ask).all()
            if not found:
                return
            for seq, kind, content in found:
                yield int(seq), kind, self._decoded(int(seq), kind, content)
            after = int(found[-1][0])

    # ---------------------------------------------------------------------------------------------- snapshots

    def write_snapshot(self, seq: int, state: bytes, keep: int) -> None:
        """Write the state after an event, and thin out older snapshots."""
        with self.reporting("written to"), self.database.engine.begin() as db:
            db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == seq))
            db.execute(sa.insert(SNAPSHOTS).values(seq=seq, content=state))
            kept = list(db.scalars(sa.select(SNAPSHOTS.c.seq).order_by(SNAPSHOTS.c.seq.desc())))
            gone = [seq for seq in kept if seq not in thinned(kept, keep)]
            if gone:
                db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq.in_(gone)))

    def snapshot(self, at_most: int | None = None) -> tuple[int, Any]:
        """The event and the state of the newest readable snapshot, up to an event; 0 and None without one."""
        ask = sa.select(SNAPSHOTS.c.seq).order_by(SNAPSHOTS.c.seq.desc())
        with self.reading() as db:
            seqs = [seq for seq in db.scalars(ask) if at_most is None or seq <= at_most]
            for seq in seqs:
                content = db.scalar(sa.select(SNAPSHOTS.c.content).where(SNAPSHOTS.c.seq == seq))
                try:
                    return int(seq), persist.unpack(blob(content))
                except FileFormatError as exc:
                    warnings.warn(
                        f"The snapshot after event {seq} of {self.database} cannot be read ({exc}). An older "
                        "snapshot is used, and the events after it are replayed.",
                        stacklevel=3,
                    )
        return 0, None

    def begin_use(self, **values: Any) -> None:
        """Record in the file that it has a write-ahead log from now on, together with other values."""
        self.set_meta(**values, in_use=self.database.path is not None)
        self.database.begin_use()

    def forget_events(self) -> None:
        """Clear the cache of events, after the log was rewritten."""
        self._events.clear()

    def close(self) -> None:
        """Move the write-ahead log into the file, close it and release the lock."""
        self.database.close()

    # ------------------------------------------------------------------------------------------------ private

    def _check_writable(self) -> None:
        if self.read_only:
            raise StoreError(f"{self.database} was opened with read_only=True.")

    def _read_event(self, seq: int) -> Event:
        with self.reading() as db:
            kind, content = db.execute(
                sa.select(EVENTS.c.kind, EVENTS.c.content).where(EVENTS.c.seq == seq)
            ).one()
        return self._decoded(seq, kind, content)

    def _decoded(self, seq: int, kind: str, content: bytes) -> Event:
        try:
            return decode(kind, content)
        except (FileFormatError, KeyError, TypeError) as exc:
            raise StoreError(
                f"Event {seq} of {self.database} cannot be read: {exc}. Restore the store from a backup."
            ) from exc

    def _make_tables(self) -> None:
        """Create missing tables in one transaction: a store is complete or absent."""
        with self.database.engine.begin() as db:
            self.database.prepare(db)
            if "version" not in _read_values(db):
                meta = {"version": _FIRST_VERSION, "created": time.time()}
                values = [{"key": key, "value": json.dumps(value)} for key, value in meta.items()]
                db.execute(sa.insert(META), values)

    def _read_state(self) -> None:
        """Read the metadata and the numbers of events and rows; refuse a log that cannot be continued."""
        newest = sa.select(EVENTS.c.seq, EVENTS.c.rows).order_by(EVENTS.c.seq.desc()).limit(1)
        with self.reading() as db:
            self._meta = _read_values(db)
            self.last, self.n_rows = (int(value) for value in db.execute(newest).first() or (0, 0))
            snapshot = int(db.scalar(sa.select(sa.func.max(SNAPSHOTS.c.seq))) or 0)
        self.newest_snapshot = snapshot  # when it was opened, or in the last block of `one_moment`
        self.forget_events()
        version = self._meta.get("version")
        if type(version) is not int or not 1 <= version <= VERSION:
            raise StoreError(
                f"{self.database} is a store of version {version}; this everlearn reads versions up to "
                f"{VERSION}.",
                code="newer_version",
                remedy="Update everlearn.",
            )
        if snapshot > self.last:
            raise StoreError(
                f"The log of {self.database} ends with event {self.last}, but it has a snapshot taken after "
                f"event {snapshot}: events are missing.",
                code="damaged",
                remedy="Restore the store from a backup.",
            )

    def _warn_if_log_is_missing(self) -> None:
        """Warn about a file that was copied without its write-ahead log.

        A reader checks twice: a writer may have opened or closed the store in between.
        """
        lacking = self.database.lacked_log and not (self.read_only and self.database.has_log())
        if self._meta.get("in_use") and lacking:
            warnings.warn(
                f"{self.database} was in use when it was last written to, and its write-ahead log "
                f"{self.database}-wal is missing: it was copied without it, or the log was deleted. Events "
                f"after number {self.last} may be lost (the store has {self.n_rows:,} rows). Copy a store "
                "with `everlearn backup`.",
                stacklevel=4,
            )

    @contextlib.contextmanager
    def reporting(self, what: str) -> Iterator[None]:
        """Turn database errors within the block into a `StoreError` that names the store."""
        try:
            yield
        except (DBAPIError, sqlite3.Error) as exc:
            raise StoreError(f"{self.database} cannot be {what}: {getattr(exc, 'orig', exc)}.") from exc


class Writing:
    """A transaction that appends events."""

    db: Any

    def __init__(self, log: Log) -> None:
        self.log, self.last, self.n_rows = log, log.last, log.n_rows

    def add(
        self, event: Event, ids: Sequence[Id] | None = None, seconds: float = 0.0, memory: float = 0.0
    ) -> int:
        """Append an event; a batch comes with the ids of its rows."""
        self.last += 1
        seq, numbers = self.last, np.zeros(0, dtype=np.int64)
        given: bool | None = True
        kind, content = encode(event)
        line = {
            "seq": seq,
            "kind": kind,
            "time": event.time,
            "rows": self.n_rows + (event.count if isinstance(event, Arrived) else 0),
            "seconds": seconds,
            "memory": memory,
            "content": content,
        }
        self.add_lines(_ADD_EVENT, [line])
        if isinstance(event, Arrived):
            assert ids is not None
            rows = [
                {"number": number, "id": id_key(given), "seq": seq, "position": position}
                for position, (number, given) in enumerate(zip(event.numbers.tolist(), ids, strict=True))
            ]
            self.add_lines(_ADD_ROWS, rows)
            self.n_rows += event.count
            numbers = event.numbers[event.labeled]
        elif isinstance(event, Labeled):
            numbers = event.numbers
        elif isinstance(event, Withdrawn):
            numbers, given = event.numbers, False
        elif isinstance(event, Answered):
            numbers, given = event.numbers, None
        if len(numbers):
            marks = [{"number": number, "seq": seq, "given": given} for number in numbers.tolist()]
            self.add_lines(_ADD_MARKS, marks)
        return seq

    def add_lines(self, insert: Any, lines: list[dict[str, Any]]) -> None:
        """Run an insert statement for each line."""
        if lines:
            self.log.database.run(self.db, insert, lines)

    def set_notes(self, notes: Mapping[str, Any]) -> None:
        """Store JSON values by name in the same transaction; None deletes one.

        Notes are not events, and the learner does not use them. A program that feeds the log can record here
        how far it has read its sources.
        """
        for key, value in notes.items():
            self.db.execute(sa.delete(NOTES).where(NOTES.c.key == key))
            if value is not None:
                self.db.execute(sa.insert(NOTES).values(key=key, value=json.dumps(value)))

    def add_snapshot(self, state: bytes) -> None:
        """Write the state after the appended events."""
        self.db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == self.last))
        self.db.execute(sa.insert(SNAPSHOTS).values(seq=self.last, content=state))


def blob(content: Any) -> bytes:
    """The bytes of a cell; empty if it has another type (``bytes`` would turn an integer into zeros)."""
    return bytes(content) if isinstance(content, bytes | bytearray | memoryview) else b""


def _read_values(db: Any) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in db.execute(sa.select(META))}


def thinned(seqs: list[int], keep: int) -> set[int]:
    """Select the snapshots to keep, newest first: the ``keep`` newest, and older ones at growing distances.

    One is dropped if the gap that it leaves is not longer than the distance from that gap to the newest. So
    O(log n) of n snapshots are left, and one of them is near every event to go back to.
    """
    kept = list(seqs)
    for i in range(len(kept) - 1, keep - 1, -1):
        newer, older = kept[i - 1], kept[i + 1] if i + 1 < len(kept) else 0
        if newer - older <= kept[0] - newer:
            del kept[i]
    return set(kept)
