"""retention="needed": drop rows that are no longer needed, after a snapshot.

A row is needed while it may be asked about or used for retraining. Support vectors are in the snapshot.
An event whose rows were dropped cannot be replayed: from then on the store depends on its last two snapshots,
and a label from before them can be withdrawn only from a learner that forgets exactly.
"""

from typing import Any

import numpy as np
import sqlalchemy as sa

from ._tables import MARKS, ROWS, SNAPSHOTS
from .events import Arrived, Ints
from .log import Log
from .lookup import TRIMMED, parts
from .removal import delete_beside
from .rewriting import move, positions_without, rewrite


def trim(log: Log, until: int, needed: Ints) -> int:
    """Drop the rows up to an event that are not needed; returns how many."""
    kept = set(needed.tolist())
    later = sa.select(MARKS.c.number).where(MARKS.c.seq > until)  # labels that a replay from there gives
    ask = sa.select(ROWS.c.number, ROWS.c.seq).where(ROWS.c.seq <= until, ROWS.c.position >= 0)
    dropped = 0
    with log.transaction() as db:
        events: dict[int, list[int]] = {}
        kept |= {int(number) for number in db.scalars(later)}
        for number, seq in db.execute(ask):
            if number not in kept:
                events.setdefault(int(seq), []).append(int(number))
        for seq, numbers in events.items():
            _trim_event(log, db, seq, numbers)
            dropped += len(numbers)
        if dropped:
            gone = np.array([number for numbers in events.values() for number in numbers], dtype=np.int64)
            delete_beside(db, gone, answers=False)
            _forget_numbered(db, [number for numbers in events.values() for number in numbers])
            db.execute(sa.delete(SNAPSHOTS).where(SNAPSHOTS.c.seq < until))
            log.set_meta(db, complete_from=until)
    if dropped:
        log.forget_events()
    return dropped


def _trim_event(log: Log, db: Any, seq: int, numbers: list[int]) -> None:
    """Rewrite an event with the remaining rows, and update their positions."""
    left = positions_without(db, seq, numbers)
    event = log.event(seq)
    assert isinstance(event, Arrived)
    none = np.zeros(0, dtype=np.int64)
    rows = event.X[np.array([position for _, position in left], dtype=np.int64)]
    trimmed = Arrived(event.first, rows, none, np.zeros(0), event.time)
    rewrite(db, seq, TRIMMED, trimmed)
    move(db, left, numbers)


def _forget_numbered(db: Any, dropped: list[int]) -> None:
    """Remove dropped rows without an id of their own and without a label from the index.

    So a store does not grow with the rows that it has dropped. Rows with ids from the caller stay in the
    index, because ids must be unique; so do labeled ones, whose label may be withdrawn.
    """
    numbered = ROWS.c.id == sa.cast(ROWS.c.number, sa.Text)
    labeled = sa.exists().where(MARKS.c.number == ROWS.c.number)
    for part in parts(dropped):
        db.execute(sa.delete(ROWS).where(ROWS.c.number.in_(part), numbered, ~labeled))
