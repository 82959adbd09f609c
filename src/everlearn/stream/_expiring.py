"""Retention by age: rows that have become too old leave the log, the model and the bytes of the file.

The age of a row is the time from its batch to the newest batch, in the time of the stream. Which rows expire
is an event of its own, so that a replay drops the same rows at the same place. In the transaction that adds
this event the log loses them, and gets a snapshot to stand on: older snapshots know the rows, and must go.
"""

import time as clock
from typing import Any

import numpy as np
import sqlalchemy as sa

from .._base import persist
from ..store import scrub
from ..store.events import Arrived, Expired, Ints, Labeled, Withdrawn
from ..store.log import VERSION, Log
from ..store.lookup import TRIMMED, parts
from ..store.rewriting import rewrite
from ..store.tables import EVENTS, MARKS, ROWS, SNAPSHOTS
from ..store.tombstones import STONE
from ._fold import Fold
from ._redact import columns_in_use, rewrite_descriptions, without_categories, without_rows

_AHEAD = 86400.0  # seconds by which the time of a stream may be ahead of the clock
_SLACK = 0.01  # of the age: rows expire in portions
_BATCH_KINDS = ("rows", TRIMMED)


class Expiry:
    """Knows when rows of a log are due.

    Parameters
    ----------
    log : Log
        The log.
    age : float or None
        The age, in seconds, that rows may reach; None is any.
    """

    def __init__(self, log: Log, age: float | None) -> None:
        self.log, self.age = log, age
        self.newest, self.oldest = (-float("inf"), float("inf")) if age is None else self._span()

    def note(self, time: float) -> None:
        """A batch came at a time."""
        self.newest, self.oldest = max(self.newest, time), min(self.oldest, time)

    def check(self, time: float) -> None:
        """Refuse a time that would make all other rows look old, such as one in milliseconds."""
        if self.age is not None and time > clock.time() + _AHEAD:
            raise ValueError(
                f"time is {time!r}, more than a day ahead of the clock: with max_age all other rows would "
                "expire. Give seconds since 1970."
            )

    def limit(self, time: float, exact: bool = False) -> float | None:
        """Before which time rows are too old at a time, or at that of the newest row; None if none is.

        They expire in portions, a hundredth of the age too late at most, unless it must be ``exact``.
        """
        if self.age is None or self.oldest == float("inf"):
            return None
        limit = max(self.newest, time) - self.age
        return limit if self.oldest < limit - (0 if exact else _SLACK * self.age) else None

    def refresh(self) -> None:
        """Look again, after rows have expired."""
        newest, self.oldest = self._span()
        self.newest = max(self.newest, newest)

    def _span(self) -> tuple[float, float]:
        ask = sa.select(sa.func.max(EVENTS.c.time), sa.func.min(EVENTS.c.time))
        with self.log.reading() as db:
            newest, oldest = db.execute(ask.where(EVENTS.c.kind.in_(_BATCH_KINDS))).one()
        return (-float("inf"), float("inf")) if newest is None else (float(newest), float(oldest))


def expired_before(log: Log, limit: float, time: float) -> tuple[Expired, list[int]]:
    """The rows that came before a time, as an event; and the batches in which they came."""
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


def expire(log: Log, fold: Fold, event: Expired, batches: list[int]) -> None:
    """Fold an expiry and write it, in one transaction; the bytes are overwritten after it."""
    numbers = event.numbers
    used: set[int] = set()
    for seq in batches:
        batch = log.event(seq)
        assert isinstance(batch, Arrived)
        used |= columns_in_use(batch.X)
    schema = without_categories(log, numbers, used, fold.schema)
    with log.writing() as writing:
        db = writing.db
        fold.apply(event, log.rows_of)
        _forget_labels(log, db, numbers)
        for part in parts(batches):
            db.execute(sa.delete(EVENTS).where(EVENTS.c.seq.in_(part)))
            erased = ROWS.c.id.like(f"{STONE}%")  # tombstones stay: an erased row must not come again
            db.execute(sa.delete(ROWS).where(ROWS.c.seq.in_(part), ~erased))
        db.execute(sa.delete(SNAPSHOTS))
        db.execute(
            sa.delete(EVENTS).where(EVENTS.c.kind == "scaled")
        )  # the log is not folded from there again
        if schema is not None:
            fold.schema = schema
            rewrite_descriptions(db, schema)
        writing.add(event)
        writing.add_snapshot(persist.pack(fold.state()))
        meta = {"complete_from": writing.last, "expires": True, "version": VERSION}
        log.set_meta(db, **meta, **{scrub.PENDING: log.place.durable})
    log.forget_events()


def _forget_labels(log: Log, db: Any, numbers: Ints) -> None:
    """Take the labels of rows out of the events that gave and withdrew them."""
    for seq in log.marked_in(numbers):
        event = log.event(seq)
        if isinstance(event, Labeled | Withdrawn):
            left = without_rows(event, numbers)
            assert isinstance(left, Labeled | Withdrawn)
            if len(left.numbers):
                kind = "labels" if isinstance(left, Labeled) else "withdrawn"
                rewrite(db, seq, kind, left)
            else:
                db.execute(sa.delete(EVENTS).where(EVENTS.c.seq == seq))
    for part in parts(numbers.tolist()):
        db.execute(sa.delete(MARKS).where(MARKS.c.number.in_(part)))
