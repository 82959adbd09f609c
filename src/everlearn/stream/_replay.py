"""From a log back to a state: after a crash, and as if some labels had never been given.

The state after event s is the fold over events 1 to s without the labels that are dead at s: those withdrawn,
or replaced by another label of the same row, at s or before. A learner that forgets exactly gets there by
forgetting; for any other the fold is done anew, from a snapshot in which no such label has a part.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..errors import StoreError
from ..store.events import Arrived, Event, Ints, Labeled, Withdrawn
from ..store.log import Log
from ._fold import Effect, Fold
from ._unlearning import unlearn_labels
from .settings import Settings

Life: TypeAlias = tuple[int, int, int]  # of a label: the row, the event that gave it, that ended it
Rewrite: TypeAlias = Callable[[int, Event, Fold], Event]


def step(log: Log, fold: Fold, event: Event, seq: int) -> tuple[Fold, Effect]:
    """Fold the event that is number ``seq``; it need not be in the log yet, what was before it must be."""
    if isinstance(event, Labeled | Withdrawn):
        back = log.labeled_at(event.numbers, seq)
        if back:
            fold = _without(log, fold, back, seq)
        if isinstance(event, Withdrawn):
            return fold, Effect()
    return fold, fold.apply(event, log.rows_of)


def recover(log: Log, settings: Settings) -> Fold:
    """The state after the last event: the newest snapshot that can be read, and the events behind it."""
    return recover_behind(log, settings)[0]


def recover_behind(log: Log, settings: Settings) -> tuple[Fold, int, int]:
    """The state after the last event; and of the snapshot behind it the rows that had come, and the event.

    A learner that cannot forget is folded once, without all labels that are dead by now: going through the
    withdrawals one by one would fold it anew for each.
    """
    at_most = log.last
    while True:
        start, fold = _restored(log, settings, at_most)
        rows = fold.n_rows
        try:
            if not fold.forgets:
                lives, end = log.replaced(log.last), log.last + 1
                return fold_living(log, settings, lives, end, forgets=False, before=at_most + 1)
            for seq, event in log.read(after=start):
                fold, _ = step(log, fold, event, seq)
            return fold, rows, start
        except Exception as exc:  # a snapshot that can be read but not continued is as bad as any other
            if start == 0 or isinstance(exc, OSError | StoreError):
                raise
            _warn_of(start, log, exc)
            at_most = start - 1


def _restored(log: Log, settings: Settings, at_most: int | None = None) -> tuple[int, Fold]:
    """The newest snapshot, up to an event, that this version of everlearn can go on with."""
    while True:
        start, state = log.snapshot(at_most)
        if state is None:
            return 0, Fold(settings)
        try:
            return start, Fold.from_state(state, settings)
        except Exception as exc:  # whatever is wrong with a snapshot, the log is the truth
            _warn_of(start, log, exc)
            at_most = start - 1


def _warn_of(start: int, log: Log, exc: Exception) -> None:
    warnings.warn(
        f"The snapshot after event {start} of {log.place} cannot be used ({type(exc).__name__}: {exc}): it "
        "is damaged, or of another version of everlearn. An older one and the log behind it are taken.",
        stacklevel=5,
    )


def _without(log: Log, fold: Fold, back: dict[int, int], seq: int) -> Fold:
    """The state before event ``seq``, had the labels ``back`` not been given."""
    if fold.forgets and fold.learner is not None:
        before = fold.state()
        try:
            unlearn_labels(fold, np.array(sorted(back), dtype=np.int64))
            return fold
        except ValueError:  # forgetting would not lead there
            fold = Fold.from_state(before, fold.settings)
    return _anew(log, fold, back, seq)


def _anew(log: Log, fold: Fold, back: dict[int, int], seq: int) -> Fold:
    lives = [*log.replaced(seq - 1), *((number, given, seq) for number, given in back.items())]
    return fold_living(log, fold.settings, lives, seq, forgets=fold.forgets)[0]


def fold_living(
    log: Log,
    settings: Settings,
    lives: list[Life],
    seq: int,
    forgets: bool,
    *,
    before: int | None = None,
    rewritten: Rewrite | None = None,
) -> tuple[Fold, int, int]:
    """The fold over the events before ``seq`` without the labels whose lives have ended.

    Parameters
    ----------
    log : Log
        The log.
    settings : Settings
        What the learner is made of.
    lives : list of tuple
        Labels that no longer count: the row, the event that gave each, that ended it.
    seq : int
        The event before which the fold ends.
    forgets : bool
        Whether snapshots got there by forgetting.
    before : int, default=None
        The snapshot that it begins with is from before this event.
    rewritten : callable, default=None
        Called with the number of each event, the event, and the state before it; what it returns is folded.

    Returns
    -------
    tuple of (Fold, int, int)
        The state; and of the snapshot that it begins with the rows that had come, and the event.
    """
    start, fold = _base(log, settings, lives, forgets, seq if before is None else min(seq, before))
    if start < (log.meta("complete_from") or 0):
        raise StoreError(
            f"{log.place} has dropped rows up to event {log.meta('complete_from')} to save room: a label "
            "from before it is withdrawn or replaced only with a learner that forgets, such as IDSVM."
        )
    rows = fold.n_rows
    dead: dict[int, set[int]] = {}
    for number, given, _ in lives:
        dead.setdefault(given, set()).add(number)
    for at, event in log.read(after=start, until=seq - 1):
        event = event if rewritten is None else rewritten(at, event, fold)
        for part in _living(event, dead.get(at, set())):
            fold.apply(part, log.rows_of)
    fold.n_withdrawn += sum(died > start for _, _, died in lives)
    return fold, rows, start


def _base(log: Log, settings: Settings, lives: list[Life], forgets: bool, seq: int) -> tuple[int, Fold]:
    """The newest snapshot of which no label has died since, up to event ``seq``.

    Of a learner that forgets, one before any label died: later ones have got there by another way.
    """
    at_most = seq - 1
    while True:
        start, fold = _restored(log, settings, at_most)
        if start == 0:
            return 0, fold
        spoilt = [given for _, given, died in lives if (given <= start < died) or (forgets and died <= start)]
        if not spoilt:
            return start, fold
        at_most = min(min(spoilt), start) - 1


def _living(event: Event, dead: set[int]) -> Iterator[Event]:
    """An event without its dead labels, if anything is left of it."""
    if isinstance(event, Withdrawn):
        return
    if isinstance(event, Arrived) and dead:
        alive = _alive(event.numbers[event.places], dead)
        yield replace(event, places=event.places[alive], labels=event.labels[alive])
    elif isinstance(event, Labeled) and dead:
        alive = _alive(event.numbers, dead)
        if alive.any():
            yield replace(event, numbers=event.numbers[alive], labels=event.labels[alive])
    else:
        yield event


def _alive(numbers: Ints, dead: set[int]) -> Any:
    return ~np.isin(numbers, np.fromiter(dead, dtype=np.int64, count=len(dead)))
