"""Remove rows from a log permanently: erasure on request, and expiry by age.

Each is one transaction: the events with the rows are rewritten or deleted, the snapshots that contain them
are deleted, and the event of the removal is appended with a snapshot of the state after it.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import sqlalchemy as sa

from .._base import persist
from . import scrub
from ._tables import ANSWERS, EVENTS, MARKS, RECORDS, REQUESTS, ROWS, SNAPSHOTS
from .events import Answered, Arrived, Described, Erased, Event, Expired, Ints, Labeled, Withdrawn, encode
from .log import VERSION, Log
from .lookup import TRIMMED, Id, id_key, parts
from .rewriting import move, positions_without, rewrite, without_rows
from .tombstones import SALT, STONE, tombstone

ChangeSchema: TypeAlias = Callable[[Any], dict[str, Any] | None]  # a schema without names; None: unchanged

_BATCH_KINDS = ("rows", TRIMMED)


@dataclass(frozen=True)
class Erasure:
    """The changes of an erasure.

    Attributes
    ----------
    event : Erased
        The event of the erasure.
    ids : sequence of int or str
        The ids of the rows, which become tombstones.
    salt : str
        The salt of the tombstones.
    changed : dict of int to Event
        The events that are rewritten, by their numbers.
    first_snapshot : int
        Snapshots from this event on contain the rows, and are removed.
    state : bytes
        The state without the rows, packed.
    incomplete : bool
        Whether the log can no longer be replayed from its beginning to this state.
    change_schema : callable or None
        Removes names of categories from an older schema.
    gone_classes : sequence of label
        The classes that only these rows had.
    """

    event: Erased
    ids: Sequence[Id]
    salt: str
    changed: dict[int, Event]
    first_snapshot: int
    state: bytes
    incomplete: bool
    change_schema: ChangeSchema | None
    gone_classes: Sequence[Any] = ()


def erase(log: Log, erasure: Erasure) -> int:
    """Erase rows; returns how many snapshots were removed or rewritten."""
    numbers = erasure.event.numbers
    with log.writing() as writing:
        db = writing.db
        for seq, event in erasure.changed.items():
            _rewrite_batch(log, db, seq, event, numbers)
        _delete_marks(db, numbers)
        delete_beside(db, numbers)
        _forget_classes(db, erasure.gone_classes)
        # Outcomes of other rows may name a class that only the erased ones had. The keys stay: a request that
        # is repeated must not be done again.
        db.execute(sa.update(REQUESTS).values(outcome=None, digest=""))
        move(db, [], numbers.tolist())
        keys = [id_key(row_id) for row_id in erasure.ids]
        stones = [{"k": key, "stone": tombstone(key, erasure.salt)} for key in keys]
        where = sa.update(ROWS).where(ROWS.c.id == sa.bindparam("k"))
        db.execute(where.values(id=sa.bindparam("stone")), stones)
        known = sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq >= erasure.first_snapshot)
        n_snapshots = int(db.execute(known).rowcount)
        if erasure.change_schema is not None:
            n_snapshots += _change_schemas(db, erasure.change_schema)
        writing.add(erasure.event)
        writing.add_snapshot(erasure.state)
        meta = {SALT: erasure.salt, scrub.PENDING: log.database.durable, "version": VERSION}
        if erasure.incomplete:
            meta["complete_from"] = writing.last
        log.set_meta(db, **meta)
    log.forget_events()
    return n_snapshots


def expire(
    log: Log, event: Expired, batches: list[int], state: bytes, change_schema: ChangeSchema | None
) -> None:
    """Delete the batches of expired rows, their ids and their labels."""
    with log.writing() as writing:
        db = writing.db
        for part in parts(sorted({*batches, *log.marked_in(event.numbers)})):
            db.execute(sa.update(REQUESTS).where(REQUESTS.c.seq.in_(part)).values(outcome=None, digest=""))
        _forget_labels(log, db, event.numbers)
        delete_beside(db, event.numbers)
        for part in parts(batches):
            db.execute(sa.delete(EVENTS).where(EVENTS.c.seq.in_(part)))
            erased = ROWS.c.id.like(f"{STONE}%")  # tombstones stay: an erased row must not be added again
            db.execute(sa.delete(ROWS).where(ROWS.c.seq.in_(part), ~erased))
        db.execute(sa.delete(SNAPSHOTS))
        # The log is not replayed from before this event, and the means of few rows may reveal a row.
        db.execute(sa.delete(EVENTS).where(EVENTS.c.kind == "scaled"))
        if change_schema is not None:
            _change_schemas(db, change_schema)
        writing.add(event)
        writing.add_snapshot(state)
        meta = {"complete_from": writing.last, "expires": True, "version": VERSION}
        log.set_meta(db, **meta, **{scrub.PENDING: log.database.durable})
    log.forget_events()


def arrived_before(log: Log, limit: float, time: float) -> tuple[Expired, list[int]]:
    """The rows that arrived before a time, as an event of that ``time``; and the batches that they are in."""
    ask = sa.select(EVENTS.c.seq).where(EVENTS.c.kind.in_(_BATCH_KINDS), EVENTS.c.time < limit)
    with log.reading() as db:
        seqs = [int(seq) for seq in db.scalars(ask.order_by(EVENTS.c.seq))]
        numbers: list[int] = []
        for part in parts(seqs):
            numbers += db.scalars(sa.select(ROWS.c.number).where(ROWS.c.seq.in_(part)))
    found = np.sort(np.array(numbers, dtype=np.int64))
    breaks = np.flatnonzero(np.diff(found) > 1)
    starts = found[np.concatenate([[0], breaks + 1]).astype(np.int64)] if len(found) else found
    stops = found[np.concatenate([breaks, [len(found) - 1]]).astype(np.int64)] + 1 if len(found) else found
    n_labels = len(log.labeled_at(found, log.last + 1))
    return Expired(starts, stops, n_labels, time), seqs


def newest_and_oldest(log: Log) -> tuple[float, float]:
    """The times of the newest and the oldest batch; minus and plus infinity if there is none."""
    ask = sa.select(sa.func.max(EVENTS.c.time), sa.func.min(EVENTS.c.time))
    with log.reading() as db:
        newest, oldest = db.execute(ask.where(EVENTS.c.kind.in_(_BATCH_KINDS))).one()
    return (-float("inf"), float("inf")) if newest is None else (float(newest), float(oldest))


# ---------------------------------------------------------------------------------------------------- private


def _rewrite_batch(log: Log, db: Any, seq: int, event: Event, gone: Ints) -> None:
    kind = db.scalar(sa.select(EVENTS.c.kind).where(EVENTS.c.seq == seq))
    left = positions_without(db, seq, gone.tolist())
    if kind == TRIMMED:  # its other rows are already dropped: the index has the positions of the rest
        before = log.event(seq)
        assert isinstance(before, Arrived)
        event = replace(before, X=before.X[np.array([position for _, position in left], dtype=np.int64)])
    rewrite(db, seq, kind, event)
    move(db, left)


def _forget_labels(log: Log, db: Any, numbers: Ints) -> None:
    """Remove the labels of rows from the events that gave and withdrew them."""
    for seq in log.marked_in(numbers):
        event = log.event(seq)
        if isinstance(event, Labeled | Answered | Withdrawn):
            left = without_rows(event, numbers)
            assert isinstance(left, Labeled | Answered | Withdrawn)
            if len(left.numbers):
                rewrite(db, seq, encode(left)[0], left)
            else:
                db.execute(sa.delete(EVENTS).where(EVENTS.c.seq == seq))
    _delete_marks(db, numbers)


def _delete_marks(db: Any, numbers: Ints) -> None:
    for part in parts(numbers.tolist()):
        db.execute(sa.delete(MARKS).where(MARKS.c.number.in_(part)))


def delete_beside(db: Any, numbers: Ints, *, answers: bool = True) -> None:
    """Delete the records of rows, and the answers for them unless they are to stay."""
    for part in parts(numbers.tolist()):
        db.execute(sa.delete(RECORDS).where(RECORDS.c.number.in_(part)))
        if answers:
            db.execute(sa.delete(ANSWERS).where(ANSWERS.c.number.in_(part)))


def _forget_classes(db: Any, gone: Sequence[Any]) -> None:
    """Remove what was said about answers for other rows, where it names a class."""
    for label in gone:
        named = ANSWERS.c.about.contains(json.dumps(str(label), ensure_ascii=False)[1:-1], autoescape=True)
        db.execute(sa.update(ANSWERS).where(named).values(about=None))


def _change_schemas(db: Any, change: ChangeSchema) -> int:
    """Rewrite the schemas in events and snapshots; returns how many snapshots were rewritten."""
    described = sa.select(EVENTS.c.seq, EVENTS.c.content).where(EVENTS.c.kind == "described")
    for seq, content in db.execute(described).all():
        found = persist.unpack(bytes(content))
        schema = change(found["schema"])
        if schema is not None:
            rewrite(db, seq, "described", Described(schema, found["time"]))
    count = 0
    for seq in list(db.scalars(sa.select(SNAPSHOTS.c.seq))):
        state = persist.unpack(bytes(db.scalar(sa.select(SNAPSHOTS.c.content).where(SNAPSHOTS.c.seq == seq))))
        schema = change(state["schema"])
        if schema is not None:
            packed = persist.pack({**state, "schema": schema})
            db.execute(sa.update(SNAPSHOTS).where(SNAPSHOTS.c.seq == seq).values(content=packed))
            count += 1
    return count
