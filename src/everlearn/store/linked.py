"""Records that are linked, in the database of a log: their keys, the pairs that are compared, their clusters.

All are written in transactions of the log; numbers are those of records, in the order of their arrival.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from .._base import persist
from ._tables import LINK_JOURNAL, LINK_KEYS, LINK_PAIRS, LINK_STATE, LINKED
from .events import Ints
from .log import Log, Writing, blob
from .lookup import Id, id_key, parts

Features = npt.NDArray[np.float32]

_ADD_RECORD, _ADD_KEY, _ADD_PAIR = sa.insert(LINKED), sa.insert(LINK_KEYS), sa.insert(LINK_PAIRS)
_ADD_ENTRY = sa.insert(LINK_JOURNAL)
_AT_A_TIME = 10_000
_LAST = 2**62  # beyond the number of any record
_PAIR = sa.and_(LINK_PAIRS.c.left == sa.bindparam("a"), LINK_PAIRS.c.right == sa.bindparam("b"))


@dataclass(frozen=True)
class LinkedPairs:
    """Pairs of records that are compared.

    Attributes
    ----------
    left, right : ndarray of shape (n_pairs,)
        The numbers of the records; the left one is smaller.
    features : ndarray of shape (n_pairs, n_features)
        The features.
    rows : list of str or None
        The ids of their rows in the log.
    same : list of bool or None
        The labels.
    n_keys : ndarray of shape (n_pairs,)
        How many keys both records share; with none, the pair is there only because it was asked about.
    """

    left: Ints
    right: Ints
    features: Features
    rows: list[str | None]
    same: list[bool | None]
    n_keys: Ints

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def of(cls, lines: Sequence[Any]) -> "LinkedPairs":
        """From lines of the table."""
        left, right = (np.array([int(line[at]) for line in lines], dtype=np.int64) for at in (0, 1))
        data = b"".join(blob(line[2]) for line in lines)
        features = (
            np.frombuffer(data, dtype="<f4").reshape(len(lines), -1) if lines else np.zeros((0, 0), "<f4")
        )
        same = [None if line[4] is None else bool(line[4]) for line in lines]
        n_keys = np.array([int(line[5]) for line in lines], dtype=np.int64)
        return cls(left, right, features, [line[3] for line in lines], same, n_keys)

    def at(self, places: Any) -> "LinkedPairs":
        """Some of the pairs, by their places."""
        where = np.asarray(places, dtype=np.intp)
        rows, same = ([column[at] for at in where.tolist()] for column in (self.rows, self.same))
        return LinkedPairs(
            self.left[where], self.right[where], self.features[where], rows, same, self.n_keys[where]
        )


@dataclass(frozen=True)
class JournalLine:
    """A change of clusters: ``before`` and ``after`` are cluster numbers, ``reason`` is a JSON value."""

    place: int
    time: float
    kind: str
    before: list[int]
    after: list[int]
    reason: Any


class LinkedRecords:
    """The records of a log that are linked.

    Parameters
    ----------
    log : Log
        The log.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    # ------------------------------------------------------------------------------------------------ reading

    def state(self, name: str) -> Any:
        """A state that was stored by name; None if there is none."""
        with self._log.reading() as db:
            content = db.scalar(sa.select(LINK_STATE.c.content).where(LINK_STATE.c.name == name))
        return None if content is None else persist.unpack(blob(content))

    def members(self, keys: Ints, most: int | None = None) -> tuple[Ints, Ints, Ints]:
        """The records that have some keys, the first ``most`` of each: keys, numbers and sides."""
        columns = LINK_KEYS.c.key, LINK_KEYS.c.number, LINK_KEYS.c.side
        if most is None:
            found = self._in(sa.select(*columns), LINK_KEYS.c.key, keys.tolist())
        else:
            found = self._first_of_each(columns, keys.tolist(), most)
        lines = np.array([tuple(map(int, line)) for line in found], dtype=np.int64).reshape(-1, 3)
        return lines[:, 0], lines[:, 1], lines[:, 2]

    def _first_of_each(self, columns: Any, keys: list[int], most: int) -> Iterator[Any]:
        """The first entries of each key: reads no more than these, however many records have a key."""
        other = LINK_KEYS.alias()
        for part in parts(list(dict.fromkeys(keys))):
            # As text: SQLAlchemy compiles values that are parameters anew for each statement, one by one.
            wanted = sa.text("VALUES " + ", ".join(f"({int(key)})" for key in part))
            key = wanted.columns(sa.column("column1", sa.BigInteger)).cte("wanted").c.column1
            last = sa.select(other.c.number).where(other.c.key == key).order_by(other.c.number)
            end = sa.func.coalesce(last.limit(1).offset(most - 1).scalar_subquery(), _LAST)
            ask = sa.select(*columns).join_from(key.table, LINK_KEYS, LINK_KEYS.c.key == key)
            with self._log.reading() as db:
                # Each statement is used once: it would crowd others out of the cache of compiled ones.
                once = {"compiled_cache": None}
                found = db.execute(ask.where(LINK_KEYS.c.number <= end), execution_options=once).all()
            yield from found

    def records(self, numbers: Iterable[int]) -> dict[int, tuple[Id, dict[str, str]]]:
        """The ids and fields of records, by number."""
        ask = sa.select(LINKED.c.number, LINKED.c.id, LINKED.c.record)
        found = self._in(ask, LINKED.c.number, [int(number) for number in numbers])
        return {int(number): (json.loads(key), json.loads(record)) for number, key, record in found}

    def sides_of(self, numbers: Iterable[int]) -> dict[int, int]:
        """Which of two tables has each record, by number."""
        ask = sa.select(LINKED.c.number, LINKED.c.side)
        found = self._in(ask, LINKED.c.number, [int(number) for number in numbers])
        return {int(number): int(side) for number, side in found}

    def first_records(self, n: int) -> list[tuple[int, Id, dict[str, str], int]]:
        """The first records that are there, like `all_records`."""
        return list(islice(self.all_records(), n))

    def all_records(self) -> Iterator[tuple[int, Id, dict[str, str], int]]:
        """Number, id, fields and cluster of every record, in order."""
        after = -1
        while True:
            ask = sa.select(LINKED.c.number, LINKED.c.id, LINKED.c.record, LINKED.c.cluster)
            ask = ask.where(LINKED.c.number > after).order_by(LINKED.c.number).limit(_AT_A_TIME)
            with self._log.reading() as db:
                found = db.execute(ask).all()
            if not found:
                return
            for number, key, record, cluster in found:
                yield int(number), json.loads(key), json.loads(record), int(cluster)
            after = int(found[-1][0])

    def numbers_of(self, ids: Iterable[Id]) -> dict[Id, int]:
        """The numbers of records by id; unknown ids are left out."""
        ask = sa.select(LINKED.c.id, LINKED.c.number)
        found = self._in(ask, LINKED.c.id, [id_key(given) for given in ids])
        return {json.loads(key): int(number) for key, number in found}

    def clusters_of(self, numbers: Iterable[int]) -> dict[int, int]:
        """The clusters of records, by number."""
        ask = sa.select(LINKED.c.number, LINKED.c.cluster)
        found = self._in(ask, LINKED.c.number, [int(number) for number in numbers])
        return {int(number): int(cluster) for number, cluster in found}

    def all_clusters(self) -> dict[int, int]:
        """The cluster of every record, by number."""
        with self._log.reading() as db:
            found = db.execute(sa.select(LINKED.c.number, LINKED.c.cluster).order_by(LINKED.c.number)).all()
        return {int(number): int(cluster) for number, cluster in found}

    def in_clusters(self, clusters: Iterable[int]) -> dict[int, int]:
        """The clusters of all records that some clusters have, by number."""
        ask = sa.select(LINKED.c.number, LINKED.c.cluster)
        found = self._in(ask, LINKED.c.cluster, [int(cluster) for cluster in clusters])
        return {int(number): int(cluster) for number, cluster in found}

    def pairs_among(self, numbers: Iterable[int]) -> LinkedPairs:
        """The pairs of which both records are among some."""
        wanted = sorted({int(number) for number in numbers})
        inside = set(wanted)
        found = self._in(sa.select(LINK_PAIRS), LINK_PAIRS.c.left, wanted)
        return LinkedPairs.of(sorted((line for line in found if int(line[1]) in inside), key=_ends))

    def pairs_with(self, number: int) -> LinkedPairs:
        """The pairs of a record."""
        either = sa.or_(LINK_PAIRS.c.left == number, LINK_PAIRS.c.right == number)
        with self._log.reading() as db:
            return LinkedPairs.of(sorted(db.execute(sa.select(LINK_PAIRS).where(either)).all(), key=_ends))

    def labeled_pairs(self) -> LinkedPairs:
        """The pairs that have a label."""
        with self._log.reading() as db:
            found = db.execute(sa.select(LINK_PAIRS).where(LINK_PAIRS.c.same.is_not(None))).all()
        return LinkedPairs.of(sorted(found, key=_ends))

    def all_pairs(self) -> Iterator[LinkedPairs]:
        """All pairs in order, many at a time."""
        after = -1, -1
        order = sa.select(LINK_PAIRS).order_by(LINK_PAIRS.c.left, LINK_PAIRS.c.right).limit(_AT_A_TIME)
        while True:
            beyond = sa.tuple_(LINK_PAIRS.c.left, LINK_PAIRS.c.right) > sa.tuple_(*after)
            with self._log.reading() as db:
                found = db.execute(order.where(beyond)).all()
            if not found:
                return
            yield LinkedPairs.of(found)
            after = _ends(found[-1])

    def pair(self, left: int, right: int) -> LinkedPairs:
        """A pair; empty if these records are not compared."""
        where = sa.and_(LINK_PAIRS.c.left == left, LINK_PAIRS.c.right == right)
        with self._log.reading() as db:
            return LinkedPairs.of(db.execute(sa.select(LINK_PAIRS).where(where)).all())

    def journal(self, after: int = 0) -> Iterator[JournalLine]:
        """The changes of clusters after one, in order."""
        ask = sa.select(LINK_JOURNAL).where(LINK_JOURNAL.c.place > after).order_by(LINK_JOURNAL.c.place)
        with self._log.reading() as db:
            found = db.execute(ask).all()
        for place, time, kind, *others in found:
            yield JournalLine(int(place), float(time), kind, *(json.loads(text) for text in others))

    def _in(self, ask: Any, column: Any, keys: list[Any]) -> Iterator[Any]:
        for part in parts(list(dict.fromkeys(keys))):
            with self._log.reading() as db:
                found = db.execute(ask.where(column.in_(part))).all()
            yield from found

    # ------------------------------------------------------------------------------------------------ writing

    def set_state(self, writing: Writing, name: str, state: dict[str, Any]) -> None:
        """Store a state by name."""
        writing.db.execute(sa.delete(LINK_STATE).where(LINK_STATE.c.name == name))
        writing.db.execute(sa.insert(LINK_STATE).values(name=name, content=persist.pack(state)))

    def add_records(
        self, writing: Writing, lines: Iterable[tuple[int, Id, Mapping[str, str], int]], side: int = 0
    ) -> None:
        """Add records of a table: number, id, fields and cluster of each."""
        made = [
            {
                "number": number,
                "id": id_key(given),
                "record": json.dumps(dict(record), ensure_ascii=False),
                "cluster": cluster,
                "side": side,
            }
            for number, given, record, cluster in lines
        ]
        writing.add_lines(_ADD_RECORD, made)

    def add_keys(self, writing: Writing, keys: Ints, numbers: Ints, side: int = 0) -> None:
        """Add keys of records of a table, each once."""
        both = zip(keys.tolist(), numbers.tolist(), strict=True)
        writing.add_lines(_ADD_KEY, [{"key": key, "number": number, "side": side} for key, number in both])

    def add_pairs(self, writing: Writing, pairs: LinkedPairs) -> None:
        """Add pairs."""
        ends = pairs.left.tolist(), pairs.right.tolist()
        columns = zip(*ends, pairs.features, pairs.rows, pairs.same, pairs.n_keys.tolist(), strict=True)
        made = [
            {
                "left": a,
                "right": b,
                "features": x.astype("<f4").tobytes(),
                "row_id": row,
                "same": same,
                "n_keys": n,
            }
            for a, b, x, row, same, n in columns
        ]
        writing.add_lines(_ADD_PAIR, made)

    def count_key(self, writing: Writing, numbers: Sequence[int], by: int) -> None:
        """Count a key more or less for all pairs among some records that share it.

        A pair without a key, a label and a row in the log is removed.
        """
        among = sa.and_(*(end.in_(list(numbers)) for end in (LINK_PAIRS.c.left, LINK_PAIRS.c.right)))
        writing.db.execute(sa.update(LINK_PAIRS).where(among).values(n_keys=LINK_PAIRS.c.n_keys + by))
        if by < 0:
            unused = LINK_PAIRS.c.n_keys <= 0, LINK_PAIRS.c.same.is_(None), LINK_PAIRS.c.row_id.is_(None)
            writing.db.execute(sa.delete(LINK_PAIRS).where(among, *unused))

    def set_features(self, writing: Writing, pairs: LinkedPairs) -> None:
        """Replace the features of pairs."""
        columns = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.features, strict=True)
        self._set(writing, "features", [(a, b, x.astype("<f4").tobytes()) for a, b, x in columns])

    def set_rows(self, writing: Writing, rows: Iterable[tuple[int, int, str | None]]) -> None:
        """Set the ids of the rows of pairs in the log."""
        self._set(writing, "row_id", list(rows))

    def set_labels(self, writing: Writing, labels: Iterable[tuple[int, int, bool | None]]) -> None:
        """Set the labels of pairs."""
        self._set(writing, "same", list(labels))

    def _set(self, writing: Writing, name: str, values: list[tuple[int, int, Any]]) -> None:
        if values:
            change = sa.update(LINK_PAIRS).where(_PAIR).values({name: sa.bindparam("value")})
            writing.db.execute(change, [{"a": a, "b": b, "value": value} for a, b, value in values])

    def set_clusters(self, writing: Writing, clusters: Mapping[int, int]) -> None:
        """Set the clusters of records, by number."""
        if clusters:
            change = (
                sa.update(LINKED)
                .where(LINKED.c.number == sa.bindparam("n"))
                .values(cluster=sa.bindparam("c"))
            )
            writing.db.execute(change, [{"n": number, "c": cluster} for number, cluster in clusters.items()])

    def add_to_journal(
        self, writing: Writing, time: float, changes: Iterable[tuple[str, list[int], list[int], Any]]
    ) -> None:
        """Note changes: kind, clusters before, clusters after and reason of each."""
        last = int(writing.db.scalar(sa.select(sa.func.max(LINK_JOURNAL.c.place))) or 0)
        lines = [
            {
                "place": last + at,
                "time": time,
                "kind": kind,
                "before": json.dumps(before),
                "after": json.dumps(after),
                "reason": json.dumps(reason),
            }
            for at, (kind, before, after, reason) in enumerate(changes, 1)
        ]
        writing.add_lines(_ADD_ENTRY, lines)

    def remove(self, writing: Writing, numbers: Sequence[int], keys: Ints, key_numbers: Ints) -> None:
        """Remove records with their pairs, and keys of them."""
        for part in parts(list(numbers)):
            writing.db.execute(sa.delete(LINKED).where(LINKED.c.number.in_(part)))
            for end in (LINK_PAIRS.c.left, LINK_PAIRS.c.right):
                writing.db.execute(sa.delete(LINK_PAIRS).where(end.in_(part)))
        where = sa.and_(LINK_KEYS.c.key == sa.bindparam("k"), LINK_KEYS.c.number == sa.bindparam("n"))
        both = zip(keys.tolist(), key_numbers.tolist(), strict=True)
        if lines := [{"k": key, "n": number} for key, number in both]:
            writing.db.execute(sa.delete(LINK_KEYS).where(where), lines)


def _ends(line: Any) -> tuple[int, int]:
    return int(line[0]), int(line[1])
