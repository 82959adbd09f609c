"""Replay a log: recover the state after a crash, and compute the state without some labels.

The state after event s is the result of events 1 to s without the labels that are dead at s: those withdrawn
or replaced at s or before. A learner that forgets exactly reaches it by forgetting. For any other, the events
are replayed from a snapshot that does not depend on a dead label.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..errors import StoreError
from ..store.events import Arrived, Event, Ints, Labeled, Withdrawn
from ..store.log import Log
from ._learner_state import EventResult, LearnerState
from ._settings import StreamSettings
from ._unlearning import unlearn_labels

Life: TypeAlias = tuple[int, int, int]  # of a dead label: row, event that gave it, event that ended it
Rewrite: TypeAlias = Callable[[int, Event, LearnerState], Event]


def step(log: Log, state: LearnerState, event: Event, seq: int) -> tuple[LearnerState, EventResult]:
    """Apply event number ``seq``, which need not be in the log yet; all events before it must be."""
    if isinstance(event, Labeled | Withdrawn):
        back = log.labeled_at(event.numbers, seq)
        if back:
            state = without_labels(log, state, back, seq)
        if isinstance(event, Withdrawn):
            return state, EventResult()
    return state, state.apply(event, log.rows_of)


def recover(log: Log, settings: StreamSettings) -> LearnerState:
    """The state after the last event: from the newest readable snapshot and the events after it."""
    return recover_behind(log, settings)[0]


def recover_behind(log: Log, settings: StreamSettings) -> tuple[LearnerState, int, int]:
    """The state after the last event; and the row count and the event number of the snapshot it started from.

    For a learner that cannot forget, the log is replayed once without all labels that are dead by now;
    applying withdrawals one by one would replay it for each.
    """
    at_most = log.last
    while True:
        start, state = _restored(log, settings, at_most)
        rows = state.n_rows
        try:
            if not state.forgets:
                lives, end = log.replaced(log.last), log.last + 1
                return replay_without(log, settings, lives, end, forgets=False, before=at_most + 1)
            for seq, event in log.read(after=start):
                state, _ = step(log, state, event, seq)
            return state, rows, start
        except Exception as exc:  # the snapshot can be read, but the stream cannot continue from it
            if start == 0 or isinstance(exc, OSError | StoreError):
                raise
            _warn_of(start, log, exc)
            at_most = start - 1


def _restored(log: Log, settings: StreamSettings, at_most: int | None = None) -> tuple[int, LearnerState]:
    """The newest snapshot, up to an event, from which a state can be restored."""
    while True:
        start, state = log.snapshot(at_most)
        if state is None:
            return 0, LearnerState(settings)
        try:
            return start, LearnerState.from_state(state, settings)
        except Exception as exc:  # whatever is wrong with the snapshot, the log has everything
            _warn_of(start, log, exc)
            at_most = start - 1


def _warn_of(start: int, log: Log, exc: Exception) -> None:
    warnings.warn(
        f"The snapshot after event {start} of {log.database} cannot be used ({type(exc).__name__}: {exc}): "
        "it is damaged, or from another version of everlearn. An older snapshot is used, and the events "
        "after it are replayed.",
        stacklevel=5,
    )


def replaced_by(event: Event, labeled: dict[int, int]) -> dict[int, int]:
    """The labels among these that an event replaces or withdraws."""
    numbers = event.numbers.tolist() if labeled and isinstance(event, Labeled | Withdrawn) else []
    return {number: labeled[number] for number in numbers if number in labeled}


def forgets_labels(state: LearnerState) -> bool:
    """Whether the learner of a state forgets labels; otherwise the log is replayed without them."""
    return state.forgets and state.learner is not None


def without_labels(log: Log, state: LearnerState, back: dict[int, int], seq: int) -> LearnerState:
    """The state before event ``seq`` without the labels ``back``: rows, and the events that gave them."""
    if forgets_labels(state):
        before = state.state()
        try:
            unlearn_labels(state, np.array(sorted(back), dtype=np.int64))
            return state
        except ValueError:  # forgetting does not give this state
            state = LearnerState.from_state(before, state.settings)
    return replayed_without_labels(log, state, back, seq)


def replayed_without_labels(log: Log, state: LearnerState, back: dict[int, int], seq: int) -> LearnerState:
    """A new state, as `without_labels`; the given one is not changed."""
    lives = [*log.replaced(seq - 1), *((number, given, seq) for number, given in back.items())]
    return replay_without(log, state.settings, lives, seq, forgets=state.forgets)[0]


def replay_without(
    log: Log,
    settings: StreamSettings,
    lives: list[Life],
    seq: int,
    forgets: bool,
    *,
    before: int | None = None,
    rewritten: Rewrite | None = None,
) -> tuple[LearnerState, int, int]:
    """Replay the events before ``seq`` without dead labels.

    Parameters
    ----------
    log : Log
        The log.
    settings : StreamSettings
        The settings of the store.
    lives : list of tuple
        The dead labels: the row, the event that gave each, and the event that ended it.
    seq : int
        The event before which the replay ends.
    forgets : bool
        Whether the states in snapshots were reached by forgetting.
    before : int, default=None
        The replay starts from a snapshot before this event.
    rewritten : callable, default=None
        Called with the number of each event, the event, and the state before it; its result is applied
        instead.

    Returns
    -------
    tuple of (LearnerState, int, int)
        The state; the row count and the event number of the snapshot it started from.
    """
    start, state = _base(log, settings, lives, forgets, seq if before is None else min(seq, before))
    if start < (log.meta("complete_from") or 0):
        raise StoreError(
            f"{log.database} has dropped rows up to event {log.meta('complete_from')} (retention): earlier "
            "labels can be withdrawn or replaced only with a learner that forgets exactly, such as IDSVM."
        )
    rows = state.n_rows
    dead: dict[int, set[int]] = {}
    for number, given, _ in lives:
        dead.setdefault(given, set()).add(number)
    for at, event in log.read(after=start, until=seq - 1):
        event = event if rewritten is None else rewritten(at, event, state)
        for part in _without_dead(event, dead.get(at, set())):
            state.apply(part, log.rows_of)
    state.n_withdrawn += sum(died > start for _, _, died in lives)
    return state, rows, start


def _base(
    log: Log, settings: StreamSettings, lives: list[Life], forgets: bool, seq: int
) -> tuple[int, LearnerState]:
    """The newest snapshot before event ``seq`` that does not depend on a dead label.

    For a learner that forgets, the newest before any label died: later states were reached by forgetting, and
    may differ in the last bits.
    """
    at_most = seq - 1
    while True:
        start, state = _restored(log, settings, at_most)
        if start == 0:
            return 0, state
        spoilt = [given for _, given, died in lives if (given <= start < died) or (forgets and died <= start)]
        if not spoilt:
            return start, state
        at_most = min(min(spoilt), start) - 1


def _without_dead(event: Event, dead: set[int]) -> Iterator[Event]:
    """An event without its dead labels; nothing if it is empty then."""
    if isinstance(event, Withdrawn):
        return
    if isinstance(event, Arrived) and dead:
        alive = _alive(event.numbers[event.labeled], dead)
        yield replace(event, labeled=event.labeled[alive], labels=event.labels[alive])
    elif isinstance(event, Labeled) and dead:
        alive = _alive(event.numbers, dead)
        if alive.any():
            yield replace(event, numbers=event.numbers[alive], labels=event.labels[alive])
    else:
        yield event


def _alive(numbers: Ints, dead: set[int]) -> Any:
    return ~np.isin(numbers, np.fromiter(dead, dtype=np.int64, count=len(dead)))
