"""The log: events in the order in which they happened, durable and append-only, and snapshots of the fold.

One SQLite file in WAL mode, a PostgreSQL database by URL, or memory::

    meta        key, value                          format version, settings
    events      seq, kind, time, content            what happened
                rows, seconds, memory               rows by then; what folding it took, and memory after it
    rows        number, id, seq, place              in which event a row came, at which place
    marks       number, seq, given                  when the label of a row was given or withdrawn
    snapshots   seq, content                        the state after an event

All that belongs to an event is written in one transaction: it is there as a whole or not at all.
"""

import contextlib
import json
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from scipy import sparse
from sqlalchemy.exc import DBAPIError

from .. import _persist
from .._validate import Rows
from ..errors import FileFormatError, StoreError
from ._place import Place
from ._rewriting import Places, places_without
from ._tables import EVENTS, MARKS, META, ROWS, SNAPSHOTS
from ._tombstones import SALT, tombstone
from .events import Arrived, Event, Ints, Labelled, Withdrawn, decode, encode

VERSION = 1
Id: TypeAlias = int | str

TRIMMED = "trimmed"  # the kind of an event that has lost rows
_AT_A_TIME = 500  # ids in a question to the database
_EVENTS_AT_A_TIME = 64


class Log:
    """The log at a place.

    Parameters
    ----------
    place : str or path-like
        A file, a database URL, or ":memory:".
    read_only : bool, default=False
        Whether to look only: then others may write meanwhile, and nothing is created.
    """

    def __init__(self, place: Any, *, read_only: bool = False) -> None:
        self.place = Place(place, read_only)
        self.read_only = read_only
        try:
            with self.reporting("opened"):
                if read_only:
                    self._meta = self._read_meta()
                else:
                    self._meta = self._prepared_meta()
            self._check_version()
            with self.reporting("read"), self.place.engine.connect() as db:
                newest = db.execute(
                    sa.select(EVENTS.c.seq, EVENTS.c.rows).order_by(EVENTS.c.seq.desc()).limit(1)
                )
                self.last, self.n_rows = (int(value) for value in newest.first() or (0, 0))
                snapshot = int(db.scalar(sa.select(sa.func.max(SNAPSHOTS.c.seq))) or 0)
            self._check_complete(snapshot)
            if not read_only:
                self._begin_use()
        except BaseException:
            self.place.close()
            raise
        self.event = lru_cache(maxsize=4)(self._read_event)  # by its number, whatever became of its rows

    # ------------------------------------------------------------------------------------------------ writing

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        """A connection whose changes are durable when the block ends, and undone if it raises."""
        if self.read_only:
            raise StoreError(f"{self.place} was opened with read_only=True.")
        with self.reporting("written to"), self.place.engine.begin() as db:
            yield db

    @contextlib.contextmanager
    def writing(self) -> Iterator["Writing"]:
        """A transaction that adds events; they count once it is durable."""
        writing = Writing(self)
        with self.transaction() as db:
            writing.db = db
            yield writing
        self.last, self.n_rows = writing.last, writing.n_rows

    def set_meta(self, db: Any = None, /, **values: Any) -> None:
        """Keep values, which JSON can hold, by their names; in a transaction of one's own if it is given."""
        with self.transaction() if db is None else contextlib.nullcontext(db) as connection:
            for key, value in values.items():
                connection.execute(sa.delete(META).where(META.c.key == key))
                connection.execute(sa.insert(META).values(key=key, value=json.dumps(value)))
        self._meta |= values

    def meta(self, key: str) -> Any:
        """A value by its name, None if there is none."""
        return self._meta.get(key)

    # ------------------------------------------------------------------------------------------------ reading

    def read(self, after: int = 0, until: int | None = None) -> Iterator[tuple[int, Event]]:
        """Events and their numbers, those after one and up to another."""
        until = self.last if until is None else until
        while after < until:
            ask = (
                sa.select(EVENTS.c.seq, EVENTS.c.kind, EVENTS.c.content)
                .where(EVENTS.c.seq > after, EVENTS.c.seq <= until)
                .order_by(EVENTS.c.seq)
                .limit(_EVENTS_AT_A_TIME)
            )
            with self.reporting("read"), self.place.engine.connect() as db:
                found = db.execute(ask).all()
            if not found:
                return
            for seq, kind, content in found:
                if kind == TRIMMED:
                    raise StoreError(
                        f"{self.place} has dropped rows of event {seq} to save room, and cannot be folded "
                        "from there: no snapshot that is new enough can be read."
                    )
                yield int(seq), self._decoded(int(seq), kind, content)
            after = int(found[-1][0])

    def numbers_of(self, ids: Iterable[Id]) -> Ints:
        """Row numbers by ids; an error names those that never came."""
        keys = [id_key(given) for given in ids]
        found = dict(self._look(ROWS.c.id, ROWS.c.number, keys))
        if erased := self._erased(keys):
            raise ValueError(f"The row with the id {some([json.loads(key) for key in erased])} was erased.")
        unknown = [json.loads(key) for key in keys if key not in found]
        if unknown:
            raise ValueError(f"No row with the id {some(unknown)} has come.")
        return np.array([found[key] for key in keys], dtype=np.int64)

    def ids_of(self, numbers: Iterable[int]) -> list[Id]:
        """Ids by row numbers."""
        keys = [int(number) for number in numbers]
        found = dict(self._look(ROWS.c.number, ROWS.c.id, keys))
        return [json.loads(found[key]) for key in keys]

    def known(self, ids: Sequence[Id]) -> list[Id]:
        """Those of some ids under which a row has come already, also if it was erased since."""
        keys = [id_key(given) for given in ids]
        found = {key for key, _ in self._look(ROWS.c.id, ROWS.c.number, keys)}
        found.update(self._erased(keys))
        return [given for given, key in zip(ids, keys, strict=True) if key in found]

    def rows_of(self, numbers: Ints) -> Rows:
        """Rows as they came, by their numbers."""
        ask = sa.select(ROWS.c.number, ROWS.c.seq, ROWS.c.place)
        where = {}
        for part in parts([int(number) for number in numbers]):
            with self.reporting("read"), self.place.engine.connect() as db:
                for number, seq, place in db.execute(ask.where(ROWS.c.number.in_(part))):
                    where[number] = (int(seq), int(place))
        found = []
        for number in numbers.tolist():
            seq, place = where[number]
            if place < 0:
                raise StoreError(f"Row number {number} was dropped from {self.place} to save room.")
            event = self.event(seq)
            assert isinstance(event, Arrived)
            found.append(event.X[place : place + 1])
        if not found:
            raise ValueError("rows_of needs a number.")
        if all(sparse.issparse(row) for row in found):
            return sparse.csr_matrix(sparse.vstack(found))
        return np.vstack([row.toarray() if sparse.issparse(row) else row for row in found])

    def came_in(self, numbers: Ints) -> set[int]:
        """The events in which rows came."""
        found = self._look(ROWS.c.number, ROWS.c.seq, numbers.tolist())
        return {int(seq) for _, seq in found}

    def marked_in(self, numbers: Ints) -> set[int]:
        """The events that gave or withdrew labels of rows."""
        return {int(seq) for _, seq in self._look(MARKS.c.number, MARKS.c.seq, numbers.tolist())}

    def batches(self) -> list[int]:
        """The events with rows."""
        ask = sa.select(EVENTS.c.seq).where(EVENTS.c.kind.in_(["rows", TRIMMED])).order_by(EVENTS.c.seq)
        with self.reporting("read"), self.place.engine.connect() as db:
            return [int(seq) for seq in db.scalars(ask)]

    def places_without(self, seq: int, numbers: Iterable[int]) -> Places:
        """The rows of an event that have values in it, but for some: their numbers and where these are."""
        with self.reporting("read"), self.place.engine.connect() as db:
            return places_without(db, seq, numbers)

    def values_of(self, numbers: Ints) -> Rows | None:
        """The rows of these that still have values; None if none has."""
        with_values = sa.and_(ROWS.c.number.in_(sa.bindparam("n", expanding=True)), ROWS.c.place >= 0)
        found: list[int] = []
        with self.reporting("read"), self.place.engine.connect() as db:
            for part in parts(numbers.tolist()):
                found += db.scalars(sa.select(ROWS.c.number).where(with_values), {"n": part})
        return self.rows_of(np.array(found, dtype=np.int64)) if found else None

    def count_marks(self, numbers: Ints) -> int:
        """How many labels these rows were given, whatever became of them."""
        found = self._look(MARKS.c.number, MARKS.c.given, numbers.tolist())
        return sum(bool(given) for _, given in found)

    def labelled_at(self, numbers: Ints, before: int) -> dict[int, int]:
        """By row number, the event that gave the label which the row has before an event; without: absent."""
        ask = sa.select(MARKS.c.number, MARKS.c.seq, MARKS.c.given).order_by(MARKS.c.seq)
        found: dict[int, int] = {}
        for part in parts([int(number) for number in numbers]):
            with self.reporting("read"), self.place.engine.connect() as db:
                for number, seq, given in db.execute(
                    ask.where(MARKS.c.number.in_(part), MARKS.c.seq < before)
                ):
                    if given:
                        found[int(number)] = int(seq)
                    else:
                        found.pop(int(number), None)
        return found

    def replaced(self, until: int) -> list[tuple[int, int, int]]:
        """Labels that no longer count after an event: the row, the event that gave each, that ended it."""
        often = sa.select(MARKS.c.number).where(MARKS.c.seq <= until)
        often = often.group_by(MARKS.c.number).having(sa.func.count() > 1)
        ask = (
            sa.select(MARKS.c.number, MARKS.c.seq, MARKS.c.given)
            .where(MARKS.c.seq <= until, MARKS.c.number.in_(often))
            .order_by(MARKS.c.seq)
        )
        given: dict[int, int] = {}
        found = []
        with self.reporting("read"), self.place.engine.connect() as db:
            for number, seq, is_given in db.execute(ask):
                if number in given:
                    found.append((int(number), given.pop(number), int(seq)))
                if is_given:
                    given[number] = int(seq)
        return found

    def meters(self) -> npt.NDArray[np.float64]:
        """A line for every event: rows that had come, seconds that folding it took, MiB in use after it."""
        ask = sa.select(EVENTS.c.rows, EVENTS.c.seconds, EVENTS.c.memory).order_by(EVENTS.c.seq)
        with self.reporting("read"), self.place.engine.connect() as db:
            found = [tuple(row) for row in db.execute(ask)]
        return np.array(found, dtype=np.float64).reshape(-1, 3)

    # ---------------------------------------------------------------------------------------------- snapshots

    def write_snapshot(self, seq: int, state: bytes, keep: int) -> None:
        """Keep the state after an event, and of the older ones enough to go back."""
        with self.reporting("written to"), self.place.engine.begin() as db:
            db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == seq))
            db.execute(sa.insert(SNAPSHOTS).values(seq=seq, content=state))
            kept = list(db.scalars(sa.select(SNAPSHOTS.c.seq).order_by(SNAPSHOTS.c.seq.desc())))
            gone = [seq for seq in kept if seq not in thinned(kept, keep)]
            if gone:
                db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq.in_(gone)))

    def snapshot(self, at_most: int | None = None) -> tuple[int, Any]:
        """The newest state that can be read, up to an event, and the event; 0 and None if there is none."""
        ask = sa.select(SNAPSHOTS.c.seq).order_by(SNAPSHOTS.c.seq.desc())
        with self.reporting("read"), self.place.engine.connect() as db:
            seqs = [seq for seq in db.scalars(ask) if at_most is None or seq <= at_most]
            for seq in seqs:
                content = db.scalar(sa.select(SNAPSHOTS.c.content).where(SNAPSHOTS.c.seq == seq))
                try:
                    return int(seq), _persist.unpack(bytes(content or b""))
                except FileFormatError as exc:
                    warnings.warn(
                        f"The snapshot after event {seq} of {self.place} cannot be read ({exc}); an older "
                        "one and the log behind it are taken instead.",
                        stacklevel=3,
                    )
        return 0, None

    def forget_events(self) -> None:
        """Drop events that are held in memory, after the log has been rewritten."""
        self.event.cache_clear()

    def close(self) -> None:
        """Move everything into the file itself, and let others open it."""
        try:
            if not self.read_only and self.place.path is not None:
                with contextlib.suppress(StoreError):  # a full disk: then the write-ahead log stays
                    self.set_meta(in_use=False)
                    self.place.checkpoint()
        finally:
            self.place.close()

    # ------------------------------------------------------------------------------------------------ private

    def _look(self, by: Any, what: Any, keys: list[Any]) -> Iterator[tuple[Any, Any]]:
        for part in parts(keys):
            with self.reporting("read"), self.place.engine.connect() as db:
                yield from [(a, b) for a, b in db.execute(sa.select(by, what).where(by.in_(part)))]

    def _erased(self, keys: list[str]) -> list[str]:
        """Those of some ids whose rows were erased, by their tombstones."""
        salt = self.meta(SALT)
        if salt is None:
            return []
        stones = [tombstone(key, salt) for key in keys]
        there = {stone for stone, _ in self._look(ROWS.c.id, ROWS.c.number, stones)}
        return [key for key, stone in zip(keys, stones, strict=True) if stone in there]

    def _read_event(self, seq: int) -> Event:
        with self.reporting("read"), self.place.engine.connect() as db:
            kind, content = db.execute(
                sa.select(EVENTS.c.kind, EVENTS.c.content).where(EVENTS.c.seq == seq)
            ).one()
        return self._decoded(seq, kind, content)

    def _decoded(self, seq: int, kind: str, content: bytes) -> Event:
        try:
            return decode(kind, content)
        except (FileFormatError, KeyError, TypeError) as exc:
            raise StoreError(
                f"Event {seq} of {self.place} cannot be read: {exc}. Restore the store from a backup."
            ) from exc

    def _prepared_meta(self) -> dict[str, Any]:
        """Make what is missing, in one transaction: a store is there as a whole or not at all."""
        with self.place.engine.begin() as db:
            self.place.prepare(db)
            meta = _read_values(db)
            if "version" not in meta:
                meta = {"version": VERSION, "created": time.time()}
                values = [{"key": key, "value": json.dumps(value)} for key, value in meta.items()]
                db.execute(sa.insert(META), values)
        return meta

    def _read_meta(self) -> dict[str, Any]:
        if not self.place.has_tables():
            raise StoreError(f"{self.place} is not a store of everlearn.")
        with self.place.engine.connect() as db:
            return _read_values(db)

    def _check_version(self) -> None:
        version = self._meta.get("version")
        if type(version) is not int or not 1 <= version <= VERSION:
            raise StoreError(
                f"{self.place} is a store of version {version}, and this everlearn reads up to {VERSION}: "
                "update everlearn."
            )

    def _check_complete(self, snapshot: int) -> None:
        """Notice a store that has lost its newest events."""
        if snapshot > self.last:
            raise StoreError(
                f"The log of {self.place} ends with event {self.last}, but it has a snapshot taken after "
                f"event {snapshot}: events are missing. Restore the store from a backup."
            )
        if self._meta.get("in_use") and self.place.lacks_log:
            warnings.warn(
                f"{self.place} was in use when it was last written to, and its write-ahead log "
                f"{self.place}-wal is missing: it was copied without it, or the log was deleted. Events "
                f"after number {self.last} may be lost ({self.n_rows:,} rows are here). Copy a store with "
                "`everlearn backup`.",
                stacklevel=4,
            )

    def _begin_use(self) -> None:
        """Say in the file itself that a write-ahead log belongs to it from now on."""
        if self.place.path is not None:
            self.set_meta(in_use=True)
            self.place.checkpoint()  # the log is not emptied: it is known by not being empty

    @contextlib.contextmanager
    def reporting(self, what: str) -> Iterator[None]:
        """Errors of the database within the block become a `StoreError` that names the store."""
        try:
            yield
        except DBAPIError as exc:
            raise StoreError(f"{self.place} cannot be {what}: {exc.orig}.") from exc


class Writing:
    """What is added in one transaction."""

    db: Any

    def __init__(self, log: Log) -> None:
        self.log, self.last, self.n_rows = log, log.last, log.n_rows

    def add(
        self, event: Event, ids: Sequence[Id] | None = None, seconds: float = 0.0, memory: float = 0.0
    ) -> int:
        """Append an event; the rows of a batch have ids."""
        self.last += 1
        seq, numbers, given = self.last, np.zeros(0, dtype=np.int64), True
        kind, content = encode(event)
        self.db.execute(
            sa.insert(EVENTS).values(
                seq=seq,
                kind=kind,
                time=event.time,
                rows=self.n_rows + (event.count if isinstance(event, Arrived) else 0),
                seconds=seconds,
                memory=memory,
                content=content,
            )
        )
        if isinstance(event, Arrived):
            assert ids is not None
            rows = [
                {"number": number, "id": id_key(given), "seq": seq, "place": place}
                for place, (number, given) in enumerate(zip(event.numbers.tolist(), ids, strict=True))
            ]
            if rows:
                self.db.execute(sa.insert(ROWS), rows)
            self.n_rows += event.count
            numbers = event.numbers[event.places]
        elif isinstance(event, Labelled):
            numbers = event.numbers
        elif isinstance(event, Withdrawn):
            numbers, given = event.numbers, False
        if len(numbers):
            marks = [{"number": number, "seq": seq, "given": given} for number in numbers.tolist()]
            self.db.execute(sa.insert(MARKS), marks)
        return seq

    def add_snapshot(self, state: bytes) -> None:
        """Keep the state after the events that were added."""
        self.db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq == self.last))
        self.db.execute(sa.insert(SNAPSHOTS).values(seq=self.last, content=state))


def _read_values(db: Any) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in db.execute(sa.select(META))}


def id_key(given: Any) -> str:
    """How an id stands in the log: the number 1 and the string "1" are two."""
    if type(given) is int:
        return str(given)
    plain = given.item() if isinstance(given, np.generic) else given
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise TypeError(f"ids are integers or strings, got {given!r} of type {type(given).__name__}.")
    return json.dumps(plain)


def some(things: Sequence[Any]) -> str:
    """The first few of many."""
    return ", ".join(repr(thing) for thing in things[:5]) + (", ..." if len(things) > 5 else "")


def thinned(seqs: list[int], keep: int) -> set[int]:
    """Which of these, the newest first, to keep: the newest ones, and older ones at growing distances.

    One goes if the gap that it leaves is no longer than the way from the newest to that gap. So of n that
    came one by one O(log n) are left, and one of them is near wherever one wants to go back to.
    """
    kept = list(seqs)
    for place in range(len(kept) - 1, keep - 1, -1):
        newer, older = kept[place - 1], kept[place + 1] if place + 1 < len(kept) else 0
        if newer - older <= kept[0] - newer:
            del kept[place]
    return set(kept)


def parts(keys: list[Any]) -> Iterator[list[Any]]:
    """Keys in portions that one statement may name."""
    for start in range(0, len(keys), _AT_A_TIME):
        yield keys[start : start + _AT_A_TIME]
