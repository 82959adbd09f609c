"""The base of the never-ending learner: a log, the state it leads to, and transactions that change both."""

import contextlib
import time as clock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .._base.lock import locked, one_writer
from .._base.validate import Array, Rows
from ..errors import StoreError
from ..store import removal, scrub
from ..store.events import Arrived, Erased, Event, Expired, Ints, Labeled, Scaled, Withdrawn
from ..store.log import Log, Writing
from ..store.lookup import Id
from . import _checks
from ._expiry import Expiry, expire
from ._learner_state import EventResult, LearnerState
from ._process_memory import recent_resident_mb
from ._questions import Question, numbers_of
from ._replay import (
    forgets_labels,
    recover,
    recover_behind,
    replaced_by,
    replayed_without_labels,
    step,
    without_labels,
)
from ._running_moments import RunningMoments
from ._settings import StreamSettings, seconds_of
from ._snapshots import Snapshots

EventWithIds: TypeAlias = tuple[Event, list[Id] | None]  # the ids of the rows of a batch
Beside: TypeAlias = Callable[[Writing, list[EventResult]], None]

Self = TypeVar("Self", bound="LogBacked")

_KEEP_SNAPSHOTS = 3
_SCALE_ROWS = 10_000  # after this many rows the feature scale is fixed


class LogBacked:
    """Base of `NeverEndingLearner`: appends events to the log and applies them to the state."""

    def __init__(
        self, log: Log, settings: StreamSettings, snapshot_every: int, snapshot_events: int | None = None
    ) -> None:
        # Who writes holds both, `_writing` first. While it replays the log it holds `_writing` alone: others
        # read the state from before.
        self._writing, self._lock = RLock(), RLock()
        self._log, self._settings = log, settings
        drops = settings.retention == "needed"
        self._snapshots = Snapshots(log, snapshot_every, _KEEP_SNAPSHOTS, drops, snapshot_events)
        self._state, rows, seq = recover_behind(log, settings)
        self._must_recover = False
        self._model_version = log.changed_at()
        self._open_ids: dict[int, Id] = {}  # of the open questions, as far as they were looked up
        self._snapshots.note(rows, seq)
        self._expiry = Expiry(log, seconds_of(settings.max_age))
        if not log.read_only and log.meta(scrub.PENDING):  # an erasure was interrupted or blocked
            scrub.scrub(log)

    # ------------------------------------------------------------------------------------------------ events

    def _record(self, event: Event, ids: list[Id] | None = None) -> EventResult:
        return self._commit([(event, ids)])[0]

    def _commit(
        self,
        events: list[EventWithIds],
        notes: Mapping[str, Any] | None = None,
        beside: Beside | None = None,
    ) -> list[EventResult]:
        """Apply events to the state, and write them and notes to the log in one transaction.

        ``beside`` is called in the transaction after the events, with their results.

        An event is applied before it is written: a batch on which the learner fails must not be in the log,
        where it would fail again at every opening. After any failure the state is recovered from the log.
        """
        self._check_open()
        replaced = self._labels_replaced([event for event, _ in events])
        ahead = self._replayed_without_labels(events[0][0], replaced) if replaced else None
        effects = []
        with self._lock:
            try:
                with self._log.writing() as writing:
                    for event, ids in events:
                        start = clock.perf_counter()
                        self._unlearn(replaced_by(event, replaced), writing.last + 1, ahead)
                        effects.append(self._state.apply(event, self._log.rows_of))
                        seconds, ahead = clock.perf_counter() - start, None
                        writing.add(event, ids, seconds, recent_resident_mb())
                        self._snapshots.add_seconds(seconds)
                    writing.set_notes(notes or {})
                    if beside is not None:
                        beside(writing, effects)
            except BaseException:
                self._must_recover = True
                self._check_open()
                raise
            self._model_version = self._version_after(events, self._log.last - len(events))
            self._snapshots.consider(self._state, self._log.last)
        return effects

    def _labels_replaced(self, events: list[Event]) -> dict[int, int]:
        """The rows whose labels the events replace or withdraw, and the events that gave these labels."""
        numbers = [event.numbers for event in events if isinstance(event, Labeled | Withdrawn)]
        return self._log.labeled_at(np.concatenate(numbers), self._log.last + 1) if numbers else {}

    def _replayed_without_labels(self, first: Event, replaced: dict[int, int]) -> LearnerState | None:
        """The state without the labels that a first event replaces; None if the learner forgets them."""
        back = replaced_by(first, replaced)
        if not back or forgets_labels(self._state):
            return None
        return replayed_without_labels(self._log, self._state, back, self._log.last + 1)

    def _unlearn(self, back: dict[int, int], seq: int, ahead: LearnerState | None) -> None:
        if back:
            self._state = without_labels(self._log, self._state, back, seq) if ahead is None else ahead

    def _version_after(self, events: list[EventWithIds], last: int) -> int:
        """The model version after events that follow event number ``last``."""
        changes = [last + at for at, (event, _) in enumerate(events, 1) if _changes_model(event)]
        return max(changes, default=self._model_version)

    def _expire(self, limit: float, time: float) -> int:
        """Remove the rows that arrived before a time; returns how many."""
        self._check_open()
        self._snapshots.wait()
        with self._lock:
            event, batches = removal.arrived_before(self._log, limit, time)
            try:
                expire(self._log, self._state, event, batches)
            except BaseException:
                self._must_recover = True
                self._check_open()
                raise
            self._snapshots.restart(self._state, self._log.last)
            self._model_version = self._log.last
            self._expiry.refresh()
            scrub.scrub(self._log, vacuum=False)
        return len(event.numbers)

    @one_writer
    @locked
    def refresh(self) -> int:
        """Read what another process has written to a store that was opened with ``read_only=True``.

        Returns
        -------
        int
            The number of new events; 0 for a learner that writes the store itself.
        """
        self._check_open()
        if not self._log.read_only:
            return 0
        before = self._log.last
        try:
            with self._log.one_moment():
                if self._log.last < before or self._log.newest_snapshot > before:
                    self._state = recover(self._log, self._settings)
                else:
                    self._follow(before)
        except BaseException:
            self._must_recover = True
            raise
        self._model_version = self._log.changed_at()
        return max(0, self._log.last - before)

    def _follow(self, before: int) -> None:
        """Apply the events after one; a removal has rewritten earlier ones, so everything is recovered."""
        for seq, event in self._log.read(after=before):
            if isinstance(event, Erased | Expired):
                self._state = recover(self._log, self._settings)
                return
            self._state, _ = step(self._log, self._state, event, seq)

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Within the block, other threads wait: several calls see the learner as of one moment."""
        with self._writing, self._lock:
            yield

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Within the block, several calls read the learner as of one moment; nothing may be written in it.

        It does not wait for a replay of the log, such as that of `withdraw`: the state from before is read.
        """
        with self._lock:
            yield

    @property
    def model_version(self) -> int:
        """The number of the last event that changed the model; it grows."""
        return self._model_version

    # ------------------------------------------------------------------------------------------------ closing

    @one_writer
    @locked
    def close(self) -> None:
        """Write a snapshot and close the store, so that other processes can open it."""
        if self._log is None:
            return
        try:
            if not self._log.read_only:
                self._snapshots.finish(self._state)
        finally:
            self._log.close()
            self._log = None  # type: ignore[assignment]

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------ private

    def _check_open(self) -> None:
        if self._log is None:
            raise StoreError("The store is closed.")
        if self._must_recover:  # a call has failed, and may have left the state half changed
            with self._lock:
                if self._must_recover:
                    self._state = recover(self._log, self._settings)
                    self._must_recover = False

    def _n_features(self) -> int | None:
        self._check_open()
        kept = next((k for k in (self._state.pool, self._state.labeled) if k.X is not None), None)
        return None if kept is None else int(kept.X.shape[1])

    def _first_scale(self, rows: Rows, time: float) -> list[EventWithIds]:
        """The event that sets the scale from the first batch, or the first after all rows were erased."""
        scaled = self._state.mean is not None and self._state.moments.n > 0
        if self._settings.scaling == "none" or scaled or rows.shape[0] == 0:
            return []
        return [(_checks.scale_of(rows, self._settings.scale_features, time), None)]

    def _next_scale(self, rows: Rows, time: float) -> list[EventWithIds]:
        """The event that updates the scale after a batch, if the number of rows has doubled."""
        state, settings = self._state, self._settings
        if settings.scaling == "none" or state.mean is None or state.scaled_at >= _SCALE_ROWS:
            return []
        if state.moments.n == 0:  # all rows were erased: the scale is set from this batch
            return []
        if state.n_rows + rows.shape[0] < 2 * state.scaled_at:
            return []
        moments = RunningMoments.from_state(state.moments.state())
        moments.add(rows)
        centered = bool(state.mean.any())  # sparse rows are not centered
        return [(_checks.scale_by(moments, centered, settings.scale_features, time), None)]

    def _with_ids(self, questions: list[Question]) -> list[Question]:
        names = self._log.ids_of(numbers_of(questions).tolist()) if questions else []
        return [replace(question, id=name) for question, name in zip(questions, names, strict=True)]

    def _labels(self, y: Any, n_rows: int) -> tuple[Ints, Array]:
        return _checks.labels(y, n_rows, self._state.classes, self._settings.classes is not None)


def _changes_model(event: Event) -> bool:
    return isinstance(event, Labeled | Withdrawn | Scaled) or (
        isinstance(event, Arrived) and len(event.labeled) > 0
    )
