"""Looking things up in a log: rows by their ids, ids by rows, where a row is, when it had which label."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from scipy import sparse

from .._base.validate import Rows
from ..errors import StoreError
from .events import Arrived, Event, Ints
from .place import Place
from .rewriting import Places, places_without
from .tables import EVENTS, MARKS, ROWS
from .tombstones import SALT, STONE, tombstone

Id: TypeAlias = int | str
TRIMMED = "trimmed"  # the kind of an event that has lost rows
_AT_A_TIME = 500  # ids in a question to the database


class Lookup:
    """Base of `Log`: what can be asked of the tables without reading the log from its beginning."""

    place: Place
    event: Callable[[int], Event]  # by its number, whatever became of its rows
    reading: Callable[[], contextlib.AbstractContextManager[Any]]
    meta: Callable[[str], Any]
    n_rows: int
    last: int

    def numbers_of(self, ids: Iterable[Id]) -> Ints:
        """Row numbers by ids; an error names those that never came."""
        keys = [id_key(given) for given in ids]
        found = dict(self._look(ROWS.c.id, ROWS.c.number, keys))
        if erased := self._erased(keys):
            raise ValueError(f"The row with the id {some([json.loads(key) for key in erased])} was erased.")
        unknown = [json.loads(key) for key in keys if key not in found]
        if dropped := self._dropped(unknown):
            raise StoreError(f"The row {some(dropped)} was dropped from {self.place} to save room.")
        if unknown:
            raise ValueError(f"No row with the id {some(unknown)} in the store.")
        return np.array([found[key] for key in keys], dtype=np.int64)

    def in_index(self, ids: Sequence[Id]) -> list[Id]:
        """Those of some ids of which a row is there."""
        keys = {key for key, _ in self._look(ROWS.c.id, ROWS.c.number, [id_key(given) for given in ids])}
        return [given for given in ids if id_key(given) in keys]

    def find_ids(self, names: Iterable[str]) -> list[Id]:
        """Ids by how they are written, where it is not known whether they are strings or integers."""
        written = list(dict.fromkeys(names))
        strings = {json.loads(key) for key in self._keys_there([id_key(name) for name in written])}
        numbers = [int(name) for name in written if _is_integer(name)]
        integers = {json.loads(key) for key in self._keys_there([id_key(number) for number in numbers])}
        found: list[Id] = []
        for name in written:
            number = int(name) if _is_integer(name) else None
            if name in strings and number in integers:
                raise ValueError(f"There is a row with the id {name!r} and one with the number {number}.")
            found.append(number if number in integers and number is not None else name)
        return found

    def ids_of(self, numbers: Iterable[int]) -> list[Id]:
        """Ids by row numbers."""
        keys = [int(number) for number in numbers]
        found = {number: json.loads(key) for number, key in self._look(ROWS.c.number, ROWS.c.id, keys)}
        if gone := [key for key in keys if not isinstance(found.get(key), int | str)]:
            raise StoreError(
                f"Row number {some(gone)} is no longer in {self.place}: it was erased or has expired since "
                "the store was opened. Open it again."
            )
        return [found[key] for key in keys]

    def known(self, ids: Sequence[Id]) -> list[Id]:
        """Those of some ids under which a row has come already, also if it was erased since."""
        keys = [id_key(given) for given in ids]
        found = {key for key, _ in self._look(ROWS.c.id, ROWS.c.number, keys)}
        found.update(self._erased(keys))
        found.update(
            map(str, self._dropped([given for given, key in zip(ids, keys, strict=True) if key not in found]))
        )
        return [given for given, key in zip(ids, keys, strict=True) if key in found]

    def rows_of(self, numbers: Ints) -> Rows:
        """Rows as they came, by their numbers."""
        ask = sa.select(ROWS.c.number, ROWS.c.seq, ROWS.c.place)
        where = {}
        for part in parts([int(number) for number in numbers]):
            with self.reading() as db:
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
        with self.reading() as db:
            return [int(seq) for seq in db.scalars(ask)]

    def scales(self) -> list[int]:
        """The events that fixed a scale."""
        with self.reading() as db:
            return [int(seq) for seq in db.scalars(sa.select(EVENTS.c.seq).where(EVENTS.c.kind == "scaled"))]

    def places_without(self, seq: int, numbers: Iterable[int]) -> Places:
        """The rows of an event that have values in it, but for some: their numbers and where these are."""
        with self.reading() as db:
            return places_without(db, seq, numbers)

    def values_of(self, numbers: Ints) -> Rows | None:
        """The rows of these that still have values; None if none has."""
        with_values = sa.and_(ROWS.c.number.in_(sa.bindparam("n", expanding=True)), ROWS.c.place >= 0)
        found: list[int] = []
        with self.reading() as db:
            for part in parts(numbers.tolist()):
                found += db.scalars(sa.select(ROWS.c.number).where(with_values), {"n": part})
        return self.rows_of(np.array(found, dtype=np.int64)) if found else None

    def count_marks(self, numbers: Ints) -> int:
        """How many labels these rows were given, whatever became of them."""
        found = self._look(MARKS.c.number, MARKS.c.given, numbers.tolist())
        return sum(bool(given) for _, given in found)

    def labeled_at(self, numbers: Ints, before: int) -> dict[int, int]:
        """By row number, the event that gave the label which the row has before an event; without: absent."""
        ask = sa.select(MARKS.c.number, MARKS.c.seq, MARKS.c.given).order_by(MARKS.c.seq)
        found: dict[int, int] = {}
        for part in parts([int(number) for number in numbers]):
            with self.reading() as db:
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
        with self.reading() as db:
            for number, seq, is_given in db.execute(ask):
                if number in given:
                    found.append((int(number), given.pop(number), int(seq)))
                if is_given:
                    given[number] = int(seq)
        return found

    def meters(self) -> npt.NDArray[np.float64]:
        """A line for every event: rows that had come, seconds that folding it took, MiB in use after it."""
        ask = sa.select(EVENTS.c.rows, EVENTS.c.seconds, EVENTS.c.memory).order_by(EVENTS.c.seq)
        with self.reading() as db:
            found = [tuple(row) for row in db.execute(ask)]
        return np.array(found, dtype=np.float64).reshape(-1, 3)

    def _look(self, by: Any, what: Any, keys: list[Any]) -> Iterator[tuple[Any, Any]]:
        for part in parts(keys):
            with self.reading() as db:
                yield from [(a, b) for a, b in db.execute(sa.select(by, what).where(by.in_(part)))]

    def _keys_there(self, keys: list[str]) -> set[str]:
        """Those of some ids, as they stand in the log, under which a row is there or was erased."""
        return {key for key, _ in self._look(ROWS.c.id, ROWS.c.number, keys)} | set(self._erased(keys))

    def _dropped(self, ids: Sequence[Id]) -> list[Id]:
        """Those of ids that are not in the index under which rows came that were dropped from it.

        Only rows without an id of their own are dropped from it: their id is their number. If there is a row
        with this number, it has another id, and no row came under this one.
        """
        if not self.meta("complete_from") or self.meta("expires"):
            return []
        numbers = [given for given in ids if type(given) is int and 0 <= given < self.n_rows]
        there = {int(number) for number, _ in self._look(ROWS.c.number, ROWS.c.seq, numbers)}
        return [number for number in numbers if number not in there]

    def tombstones(self) -> list[dict[str, Any]]:
        """The lines of erased rows in the index."""
        ask = sa.select(ROWS).where(ROWS.c.id.like(f"{STONE}%"))
        with self.reading() as db:
            return [dict(line) for line in db.execute(ask).mappings()]

    def _erased(self, keys: list[str]) -> list[str]:
        """Those of some ids whose rows were erased, by their tombstones."""
        salt = self.meta(SALT)
        if salt is None:
            return []
        stones = [tombstone(key, salt) for key in keys]
        there = {stone for stone, _ in self._look(ROWS.c.id, ROWS.c.number, stones)}
        return [key for key, stone in zip(keys, stones, strict=True) if stone in there]


def id_key(given: Any) -> str:
    """How an id stands in the log: the number 1 and the string "1" are two."""
    if type(given) is int:
        return str(given)
    plain = given.item() if isinstance(given, np.generic) else given
    if isinstance(plain, bool) or not isinstance(plain, int | str):
        raise TypeError(f"ids are integers or strings, got {given!r} of type {type(given).__name__}.")
    return json.dumps(plain)


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isascii() and text.lstrip("-").isdigit() and str(int(text)) == text


def some(things: Sequence[Any]) -> str:
    """The first few of many."""
    return ", ".join(repr(thing) for thing in things[:5]) + (", ..." if len(things) > 5 else "")


def parts(keys: list[Any]) -> Iterator[list[Any]]:
    """Keys in portions that one statement may name."""
    for start in range(0, len(keys), _AT_A_TIME):
        yield keys[start : start + _AT_A_TIME]
