"""Events that are written anew, with fewer rows: where the others are now."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from .events import Event, content_of
from .tables import EVENTS, GONE, ROWS

Places = list[tuple[int, int]]


def places_without(db: Any, seq: int, numbers: Iterable[int]) -> Places:
    """The rows of an event that have values in it, but for some: their numbers and where these are."""
    ask = sa.select(ROWS.c.number, ROWS.c.place).where(ROWS.c.seq == seq, ROWS.c.place >= 0)
    gone = set(numbers)
    return sorted((int(number), int(place)) for number, place in db.execute(ask) if number not in gone)


def rewrite(db: Any, seq: int, kind: str, event: Event) -> None:
    """Put an event in the place of the one that is there."""
    changed = {"kind": kind, "content": content_of(event)}
    db.execute(sa.update(EVENTS).where(EVENTS.c.seq == seq).values(**changed))


def move(db: Any, left: Places, gone: Iterable[int] = ()) -> None:
    """Note that the values of these rows now follow each other, and that those of others are gone."""
    moves = [{"n": number, "p": place} for place, (number, _) in enumerate(left)]
    moves += [{"n": number, "p": GONE} for number in gone]
    if moves:
        where = sa.update(ROWS).where(ROWS.c.number == sa.bindparam("n"))
        db.execute(where.values(place=sa.bindparam("p")), moves)
