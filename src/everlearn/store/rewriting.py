"""Rewrite events with fewer rows, and update the positions of the others."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from ._tables import EVENTS, GONE, ROWS
from .events import Answered, Arrived, Event, Ints, Labeled, Withdrawn, content_of

Positions = list[tuple[int, int]]


def positions_without(db: Any, seq: int, numbers: Iterable[int]) -> Positions:
    """The numbers and positions of the rows of an event that still have values, except some."""
    ask = sa.select(ROWS.c.number, ROWS.c.position).where(ROWS.c.seq == seq, ROWS.c.position >= 0)
    gone = set(numbers)
    return sorted((int(number), int(position)) for number, position in db.execute(ask) if number not in gone)


def rewrite(db: Any, seq: int, kind: str, event: Event) -> None:
    """Replace an event."""
    changed = {"kind": kind, "content": content_of(event)}
    db.execute(sa.update(EVENTS).where(EVENTS.c.seq == seq).values(**changed))


def move(db: Any, left: Positions, gone: Iterable[int] = ()) -> None:
    """Record that the values of ``left`` are now consecutive, and that those of ``gone`` were removed."""
    moves = [{"n": number, "p": position} for position, (number, _) in enumerate(left)]
    moves += [{"n": number, "p": GONE} for number in gone]
    if moves:
        where = sa.update(ROWS).where(ROWS.c.number == sa.bindparam("n"))
        db.execute(where.values(position=sa.bindparam("p")), moves)


def without_rows(event: Event, numbers: Ints) -> Event:
    """An event without some rows; the numbers of the others do not change."""
    if isinstance(event, Arrived):
        keep = ~np.isin(event.numbers, numbers)
        alive = keep[event.labeled]
        before = np.zeros(0, dtype=np.int64) if event.gone is None else event.gone
        gone = np.union1d(before, event.numbers[~keep] - event.first)
        return replace(
            event,
            X=event.X[np.flatnonzero(keep)],
            labeled=(np.cumsum(keep) - 1)[event.labeled[alive]],
            labels=event.labels[alive],
            gone=gone.astype(np.int64) if len(gone) else None,
        )
    if isinstance(event, Labeled):
        alive = ~np.isin(event.numbers, numbers)
        return replace(event, numbers=event.numbers[alive], labels=event.labels[alive])
    if isinstance(event, Answered):
        alive = ~np.isin(event.numbers, numbers)
        labels = event.labels if event.retracted else event.labels[alive]
        return replace(event, numbers=event.numbers[alive], labels=labels)
    if isinstance(event, Withdrawn):
        return replace(event, numbers=event.numbers[~np.isin(event.numbers, numbers)])
    return event
