"""What is written beside the events, in the same transactions: records, answers and requests.

A replay of the log does not need them: records show a row to a person as it was sent, answers say who was
asked and why, and requests keep a program that repeats a call from doing it twice. They are erased and expire
with their rows, and are copied by a backup and a replay.
"""

import json
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ..errors import InputError
from ._tables import ANSWERS, BESIDE, RECORDS, REQUESTS
from .log import Log, Writing
from .lookup import parts

ANSWER_KINDS = ("label", "skip", "unsure", "withdrawn")
_ADD_RECORDS, _ADD_ANSWERS, _ADD_REQUESTS = sa.insert(RECORDS), sa.insert(ANSWERS), sa.insert(REQUESTS)
_REQUEST = sa.select(REQUESTS.c.digest, REQUESTS.c.outcome).where(REQUESTS.c.key == sa.bindparam("key"))
_LAST_PLACE = sa.select(sa.func.max(ANSWERS.c.place))
_AT_A_TIME = 1000


@dataclass(frozen=True)
class Request:
    """A call that a program may repeat.

    Attributes
    ----------
    key : str
        The key that the program made.
    digest : str
        A digest of what it asked for: the same key with another digest is a mistake.
    outcome : callable
        Called with the result of the call and the numbers of the last event and of the last one that changed
        the model; returns the outcome to keep, a JSON value.
    """

    key: str
    digest: str
    outcome: Callable[[Any, int, int], Any]


@dataclass(frozen=True)
class GivenAnswer:
    """An answer as it is kept beside the events.

    Attributes
    ----------
    number : int
        The number of the row.
    by : str or None
        Who gave it; None if the answers of all people were withdrawn.
    kind : {"label", "skip", "unsure", "withdrawn"}
        What was answered.
    label : label, default=None
        The label.
    time : float, default=0.0
        When, in seconds since 1970.
    weight : float, default=1.0
        Its weight.
    about : mapping, default={}
        What else is known: "comment", "wrong_field", "why", "why_text" and "model_version", for example.
    seq : int, default=0
        The last event of its transaction.
    place : int, default=0
        Its place in the order of all answers, from 1.
    """

    number: int
    by: str | None
    kind: str
    label: Any = None
    time: float = 0.0
    weight: float = 1.0
    about: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0
    place: int = 0


# ------------------------------------------------------------------------------------------------- writing


def add_records(writing: Writing, numbers: Iterable[int], records: Iterable[Any]) -> None:
    """Keep the records of rows; None keeps nothing."""
    pairs = zip(numbers, records, strict=True)
    writing.add_lines(
        _ADD_RECORDS,
        [
            {"number": number, "record": json.dumps(record, ensure_ascii=False)}
            for number, record in pairs
            if record is not None
        ],
    )


def add_answers(writing: Writing, answers: Sequence[GivenAnswer]) -> None:
    """Keep answers, in their order."""
    if not answers:
        return
    place = int(writing.log.database.scalar(writing.db, _LAST_PLACE) or 0)
    lines = [
        {
            "place": place + at,
            "number": answer.number,
            "seq": writing.last,
            "by": answer.by,
            "kind": answer.kind,
            "label": None if answer.label is None else json.dumps(answer.label),
            "time": answer.time,
            "weight": answer.weight,
            "about": json.dumps(dict(answer.about), ensure_ascii=False) if answer.about else None,
        }
        for at, answer in enumerate(answers, 1)
    ]
    writing.add_lines(_ADD_ANSWERS, lines)


def add_requests(
    writing: Writing, requests: Sequence[Request], result: Any, version: int, seq: int | None = None
) -> None:
    """Keep requests and their outcomes; ``seq`` is the event whose removal removes the outcomes."""
    lines = [
        {
            "key": request.key,
            "digest": request.digest,
            "outcome": json.dumps(request.outcome(result, writing.last, version)),
            "seq": writing.last if seq is None else seq,
            "time": clock.time(),
        }
        for request in requests
    ]
    writing.add_lines(_ADD_REQUESTS, lines)


def forget_requests(log: Log, before: float) -> None:
    """Forget the requests that were made before a time: nobody repeats them any more."""
    with log.transaction() as db:
        db.execute(sa.delete(REQUESTS).where(REQUESTS.c.time < before))


# ------------------------------------------------------------------------------------------------- reading


def outcome_of(log: Log, key: str, digest: str) -> tuple[bool, Any]:
    """Whether a request was made already, and its outcome; None if rows were erased since.

    The same key with another digest is an `InputError` with the code "key_reused".
    """
    found = log.look(_REQUEST, key)
    if not found:
        return False, None
    was, outcome = found[0]
    if was not in ("", digest):
        raise InputError(
            f"The key {key.rpartition('/')[2]!r} was used before, for another request.",
            code="key_reused",
            remedy="Make a new key for every request; repeat a key only with the same content.",
        )
    return True, None if outcome is None else json.loads(outcome)


def records_of(log: Log, numbers: Sequence[int]) -> dict[int, Any]:
    """The records of rows, by number; rows without one are left out."""
    found = log.look_up(RECORDS.c.number, RECORDS.c.record, [int(number) for number in numbers])
    return {int(number): json.loads(record) for number, record in found}


def answers_given(log: Log, numbers: Sequence[int] | None = None) -> list[GivenAnswer]:
    """All answers in their order, or those for some rows."""
    ask = sa.select(ANSWERS).order_by(ANSWERS.c.place)
    found: list[Any] = []
    with log.reading() as db:
        if numbers is None:
            found = list(db.execute(ask))
        else:
            for part in parts([int(number) for number in numbers]):
                found += db.execute(ask.where(ANSWERS.c.number.in_(part)))
    return [_given(line) for line in sorted(found, key=lambda line: int(line.place))]


def last_place(log: Log) -> int:
    """The place of the last answer."""
    with log.reading() as db:
        return int(db.scalar(_LAST_PLACE) or 0)


def answers_that_count(
    log: Log, until: int, limit: int, *, by: str | None = None, newest_first: bool = False, beyond: int = 0
) -> list[GivenAnswer]:
    """A part of the answers that were neither replaced nor withdrawn, as of the answer at a place.

    They are those of ``by``, or of all; in their order those behind the place ``beyond``, or before it if the
    newest are first (0: from the newest on).
    """
    later = ANSWERS.alias()
    replaced = sa.and_(
        later.c.number == ANSWERS.c.number,
        later.c.place > ANSWERS.c.place,
        later.c.place <= until,
        sa.or_(later.c.by == ANSWERS.c.by, later.c.by.is_(None)),
    )
    where = [
        ANSWERS.c.place <= until,
        ANSWERS.c.kind != "withdrawn",
        ~sa.exists(sa.select(later.c.place).where(replaced)),
    ]
    if by is not None:
        where.append(ANSWERS.c.by == by)
    if beyond:
        where.append(ANSWERS.c.place < beyond if newest_first else ANSWERS.c.place > beyond)
    order = ANSWERS.c.place.desc() if newest_first else ANSWERS.c.place
    with log.reading() as db:
        return [
            _given(line) for line in db.execute(sa.select(ANSWERS).where(*where).order_by(order).limit(limit))
        ]


def _given(line: Any) -> GivenAnswer:
    return GivenAnswer(
        int(line.number),
        line.by,
        line.kind,
        None if line.label is None else json.loads(line.label),
        float(line.time),
        float(line.weight),
        {} if line.about is None else json.loads(line.about),
        int(line.seq),
        int(line.place),
    )


def copy_beside(source: Log, into: Log) -> None:
    """Copy everything beside the events to a log with the same events."""
    with source.reading() as db, into.transaction() as other:
        for table in BESIDE:
            found = db.execute(sa.select(table).execution_options(stream_results=True))
            for lines in found.mappings().partitions(_AT_A_TIME):
                other.execute(sa.insert(table), [dict(line) for line in lines])
