"""Queries on the tables of a log: rows by id, ids by row, the event of a row, the events of its labels."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from scipy import sparse

from .._base.validate import Rows
from ..errors import StoreError
from ._database import Database
from ._tables import EVENTS, MARKS, ROWS
from .events import Arrived, Event, Ints
from .rewriting import Positions, positions_without
from .tombstones import SALT, STONE, tombstone

Id: TypeAlias = int | str
TRIMMED = "trimmed"  # the kind of a batch from which rows were dropped
_AT_A_TIME = 500  # ids in one SQL statement
_FEW = 20  # ids that are found faster one by one, without SQLAlchemy


class Lookup:
    """Base of `Log`: queries that need not read the log from its beginning."""

    database: Database
    event: Callable[[int], Event]  # by its number, even if rows were dropped from it
    reading: Callable[[], contextlib.AbstractContextManager[Any]]
    look: Callable[[Any, Any], Sequence[Any]]  # the result of a query with the parameter "key"
    meta: Callable[[str], Any]
    n_rows: int
    last: int

    def numbers_of(self, ids: Iterable[Id]) -> Ints:
        """The row numbers of ids; an error for ids without a row."""
        keys = [id_key(given) for given in ids]
        found = dict(self.look_up(ROWS.c.id, ROWS.c.number, keys))
        if erased := self._erased(keys):
            raise ValueError(f"The row with id {some([json.loads(key) for key in erased])} was erased.")
        unknown = [json.loads(key) for key in keys if key not in found]
        if dropped := self._dropped(unknown):
            raise StoreError(f"The row {some(dropped)} was dropped from {self.database} (retention).")
        if unknown:
            raise ValueError(f"No row with the id {some(unknown)} in the store.")
        return np.array([found[key] for key in keys], dtype=np.int64)

    def in_index(self, ids: Sequence[Id]) -> list[Id]:
        """The ids among these that have a row."""
        keys = {key for key, _ in self.look_up(ROWS.c.id, ROWS.c.number, [id_key(given) for given in ids])}
        return [given for given in ids if id_key(given) in keys]

    def find_ids(self, names: Iterable[str]) -> list[Id]:
        """Convert ids given as text to the strings or integers that are in the store."""
        found = ids_of_texts(
            names, lambda ids: [json.loads(key) for key in self._keys_there([id_key(given) for given in ids])]
        )
        return list(found.values())

    def ids_of(self, numbers: Iterable[int]) -> list[Id]:
        """The ids of row numbers."""
        keys = [int(number) for number in numbers]
        found = {number: json.loads(key) for number, key in self.look_up(ROWS.c.number, ROWS.c.id, keys)}
        if gone := [key for key in keys if not isinstance(found.get(key), int | str)]:
            raise StoreError(
                f"Row number {some(gone)} is no longer in {self.database}: it was erased or has expired "
                "since the store was opened. Open it again."
            )
        return [found[key] for key in keys]

    def known(self, ids: Sequence[Id]) -> list[Id]:
        """The ids among these that are taken, including those of erased rows."""
        keys = [id_key(given) for given in ids]
        if len(keys) == 1 and self.meta(SALT) is None and not self.meta("complete_from"):
            return list(ids) if self.look(_BY_ID, keys[0]) else []
        found = {key for key, _ in self.look_up(ROWS.c.id, ROWS.c.number, keys)}
        if not found and self.meta(SALT) is None and not self.meta("complete_from"):
            return []  # no row was ever erased or dropped
        found.update(self._erased(keys))
        found.update(
            map(str, self._dropped([given for given, key in zip(ids, keys, strict=True) if key not in found]))
        )
        return [given for given, key in zip(ids, keys, strict=True) if key in found]

    def rows_of(self, numbers: Ints) -> Rows:
        """Rows as they arrived, by their numbers."""
        where = {
            number: (int(seq), int(position))
            for number, seq, position in self.look_up(
                ROWS.c.number, ROWS.c.seq, numbers.tolist(), ROWS.c.position
            )
        }
        found = []
        for number in numbers.tolist():
            seq, position = where[number]
            if position < 0:
                raise StoreError(f"Row number {number} was dropped from {self.database} (retention).")
            event = self.event(seq)
            assert isinstance(event, Arrived)
            found.append(event.X[position : position + 1])
        if not found:
            raise ValueError("numbers must contain at least one row number, got none.")
        if all(sparse.issparse(row) for row in found):
            return sparse.csr_matrix(sparse.vstack(found))
        return np.vstack([row.toarray() if sparse.issparse(row) else row for row in found])

    def arrived_in(self, numbers: Ints) -> set[int]:
        """The events in which rows arrived."""
        found = self.look_up(ROWS.c.number, ROWS.c.seq, numbers.tolist())
        return {int(seq) for _, seq in found}

    def marked_in(self, numbers: Ints) -> set[int]:
        """The events that gave or withdrew labels of rows."""
        return {int(seq) for _, seq in self.look_up(MARKS.c.number, MARKS.c.seq, numbers.tolist())}

    def batches(self) -> list[int]:
        """The events with rows."""
        ask = sa.select(EVENTS.c.seq).where(EVENTS.c.kind.in_(["rows", TRIMMED])).order_by(EVENTS.c.seq)
        with self.reading() as db:
            return [int(seq) for seq in db.scalars(ask)]

    def scales(self) -> list[int]:
        """The events that set the feature scale."""
        with self.reading() as db:
            return [int(seq) for seq in db.scalars(sa.select(EVENTS.c.seq).where(EVENTS.c.kind == "scaled"))]

    def positions_without(self, seq: int, numbers: Iterable[int]) -> Positions:
        """The numbers and positions of the rows of an event that still have values, except some."""
        with self.reading() as db:
            return positions_without(db, seq, numbers)

    def values_of(self, numbers: Ints) -> Rows | None:
        """The rows among these that still have values; None if there are none."""
        places = self.look_up(ROWS.c.number, ROWS.c.position, numbers.tolist())
        found = sorted(int(number) for number, position in places if position >= 0)
        return self.rows_of(np.array(found, dtype=np.int64)) if found else None

    def count_marks(self, numbers: Ints) -> int:
        """The number of labels given to these rows, including replaced and withdrawn ones."""
        found = self.look_up(MARKS.c.number, MARKS.c.given, numbers.tolist())
        return sum(given is not False for _, given in found)

    def answered_often(self) -> list[int]:
        """The numbers of the rows that were given more than one answer."""
        ask = sa.select(MARKS.c.number).where(sa.or_(MARKS.c.given.is_(None), MARKS.c.given))
        ask = ask.group_by(MARKS.c.number).having(sa.func.count() > 1)
        with self.reading() as db:
            return sorted(int(number) for number in db.scalars(ask))

    def labeled_at(self, numbers: Ints, before: int) -> dict[int, int]:
        """For each labeled row, the event that gave the label that it has before an event."""
        marks = self.look_up(MARKS.c.number, MARKS.c.seq, numbers.tolist(), MARKS.c.given)
        found: dict[int, int] = {}
        for number, seq, given in sorted(marks, key=lambda mark: int(mark[1])):
            if seq >= before:
                continue
            if given:
                found[int(number)] = int(seq)
            elif given is not None:
                found.pop(int(number), None)
        return found

    def changed_at(self) -> int:
        """The last event that changed the model: labels, a new scale, or rows that were removed."""
        marks = sa.select(MARKS.c.seq).where(MARKS.c.given.is_not(None)).order_by(MARKS.c.seq.desc()).limit(1)
        kinds = ("scaled", "erased", "expired")
        others = sa.select(sa.func.max(EVENTS.c.seq)).where(EVENTS.c.kind.in_(kinds))
        with self.reading() as db:
            return max(int(db.scalar(marks) or 0), int(db.scalar(others) or 0))

    def replaced(self, until: int) -> list[tuple[int, int, int]]:
        """The labels replaced or withdrawn up to an event: row, event that gave it, event that ended it."""
        changes = sa.and_(MARKS.c.seq <= until, MARKS.c.given.is_not(None))
        often = sa.select(MARKS.c.number).where(changes)
        often = often.group_by(MARKS.c.number).having(sa.func.count() > 1)
        ask = (
            sa.select(MARKS.c.number, MARKS.c.seq, MARKS.c.given)
            .where(changes, MARKS.c.number.in_(often))
            .order_by(MARKS.c.seq)
        )
        given: dict[int, int] = {}
        found = []
        with self.reading() as db:
            for number, seq, is_given in db.execute(ask):
                if number in given:
                    found.append((int(number), given.pop(number), int(seq)))
                if is_given:
                    given[number] = int(seq)
        return found

    def meters(self) -> npt.NDArray[np.float64]:
        """For each event: the rows so far, the seconds it took to apply, and the memory in MiB after it."""
        ask = sa.select(EVENTS.c.rows, EVENTS.c.seconds, EVENTS.c.memory).order_by(EVENTS.c.seq)
        with self.reading() as db:
            found = [tuple(row) for row in db.execute(ask)]
        return np.array(found, dtype=np.float64).reshape(-1, 3)

    def look_up(self, by: Any, what: Any, keys: list[Any], *more: Any) -> Iterator[Any]:
        """Find lines by the values of a column: this value, that of ``what``, and those of ``more``."""
        if len(keys) == 1 or (len(keys) <= _FEW and self.database.looks):
            for key in dict.fromkeys(keys):
                yield from self.look(_ask_for_one(by, what, *more), key)
            return
        for part in parts(keys):
            with self.reading() as db:
                found = db.execute(sa.select(by, what, *more).where(by.in_(part)))
                yield from [tuple(line) for line in found]

    def _keys_there(self, keys: list[str]) -> set[str]:
        """The id keys among these that have a row or belong to an erased one."""
        return {key for key, _ in self.look_up(ROWS.c.id, ROWS.c.number, keys)} | set(self._erased(keys))

    def _dropped(self, ids: Sequence[Id]) -> list[Id]:
        """The ids among these, none of them in the index, whose rows were dropped from it.

        Only rows without an id of their own are dropped from the index: their id is their number. If a row
        with this number is in the index, it has another id, and no row had this one.
        """
        if not self.meta("complete_from") or self.meta("expires"):
            return []
        numbers = [given for given in ids if type(given) is int and 0 <= given < self.n_rows]
        there = {int(number) for number, _ in self.look_up(ROWS.c.number, ROWS.c.seq, numbers)}
        return [number for number in numbers if number not in there]

    def tombstones(self) -> list[dict[str, Any]]:
        """The index entries of erased rows."""
        ask = sa.select(ROWS).where(ROWS.c.id.like(f"{STONE}%"))
        with self.reading() as db:
            return [dict(line) for line in db.execute(ask).mappings()]

    def _erased(self, keys: list[str]) -> list[str]:
        """The id keys among these whose rows were erased."""
        salt = self.meta(SALT)
        if salt is None:
            return []
        stones = [tombstone(key, salt) for key in keys]
        there = {stone for stone, _ in self.look_up(ROWS.c.id, ROWS.c.number, stones)}
        return [key for key, stone in zip(keys, stones, strict=True) if stone in there]


@lru_cache
def _ask_for_one(by: Any, *what: Any) -> Any:
    """The statement that looks for one key; building it takes longer than running it."""
    return sa.select(by, *what).where(by == sa.bindparam("key"))


_BY_ID = _ask_for_one(ROWS.c.id, ROWS.c.number)


def id_key(given: Any) -> str:
    """The key of an id in the log: the integer 1 and the string "1" differ."""
    if type(given) is int:
        return str(given)
    plain = given.item() if isinstance(given, np.generic) else given
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise TypeError(f"ids must be integers or strings, got {given!r} of type {type(given).__name__}.")
    return json.dumps(plain)


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isascii() and text.lstrip("-").isdigit() and str(int(text)) == text


def some(values: Sequence[Any]) -> str:
    """The first few values, for a message."""
    return ", ".join(repr(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")


def ids_of_texts(names: Iterable[str], there: Callable[[list[Id]], Iterable[Id]]) -> dict[str, Id]:
    """The ids that are meant by text, such as on a command line; unknown ones are the text itself.

    Parameters
    ----------
    names : iterable of str
        Ids as text; "17" is the string or the integer, whichever is there.
    there : callable
        The ids among some that are there.

    Returns
    -------
    dict of str to int or str
        The id of each text.
    """
    written = list(dict.fromkeys(names))
    numbers = {name: int(name) for name in written if _is_integer(name)}
    strings, integers = set(there([*written])), set(there([*numbers.values()]))
    for name, number in numbers.items():
        if name in strings and number in integers:
            raise ValueError(f"Ambiguous id: the store has both {name!r} and {number}.")
    return {name: numbers[name] if numbers.get(name) in integers else name for name in written}


def parts(keys: list[Any]) -> Iterator[list[Any]]:
    """Split keys into chunks for one SQL statement each."""
    for start in range(0, len(keys), _AT_A_TIME):
        yield keys[start : start + _AT_A_TIME]
