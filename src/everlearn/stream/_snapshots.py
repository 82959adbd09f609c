"""Snapshots of the state, written at intervals in the background."""

import time as clock
import warnings
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from ..errors import StoreError
from ..store.events import Ints
from ..store.log import Log
from ..store.retention import trim
from ._learner_state import LearnerState
from ._process_memory import give_back_memory

_MAX_EVENTS = 1000  # between two snapshots, if batches are small
_SPARING = 10  # a snapshot before _MAX_EVENTS saves a replay of this many times its own seconds


class Snapshots:
    """Takes snapshots of the state at intervals, and writes them in another thread.

    A snapshot is a cache. If it cannot be written, a warning says so and nothing is lost. ``every_events``
    may ask for snapshots that are near each other; they are only taken where a replay of the events between
    them would take much longer than a snapshot, so that they never take more than a tenth of the time.
    """

    def __init__(
        self, log: Log, every_rows: int, keep: int, drop_rows: bool, every_events: int | None = None
    ) -> None:
        self.log, self.every_rows, self.keep, self.drop_rows = log, every_rows, keep, drop_rows
        self.every_events = _MAX_EVENTS if every_events is None else every_events
        self.rows = self.seq = 0
        self._seconds_behind = 0.0  # that it took to apply the events since the newest snapshot
        self._seconds = 0.0  # that the last snapshot took
        self._before: tuple[int, Ints] | None = None  # the last snapshot written here, and its rows
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def note(self, rows: int, seq: int) -> None:
        """Note the row count and the event number of the newest snapshot."""
        self.rows, self.seq = rows, seq

    def restart(self, state: LearnerState, seq: int) -> None:
        """Note that the snapshot after event ``seq`` is the only one left."""
        self.note(state.n_rows, seq)
        self._before = (seq, state.needed()) if self.drop_rows else None

    def consider(self, state: LearnerState, seq: int) -> None:
        """Take a snapshot if it is due."""
        if self._is_due(state.n_rows - self.rows, seq - self.seq) and self.log.database.durable:
            self.wait()
            start = clock.perf_counter()
            packed = state.packed()
            self._seconds = clock.perf_counter() - start
            self._seconds_behind = 0.0
            self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="everlearn-snapshot")
            self._writing = self._writer.submit(self._write, seq, packed, state.needed())
            self.note(state.n_rows, seq)

    def add_seconds(self, seconds: float) -> None:
        """Note how long it took to apply an event."""
        self._seconds_behind += seconds

    def _is_due(self, rows: int, events: int) -> bool:
        if rows >= self.every_rows or events >= max(self.every_events, _MAX_EVENTS):
            return True
        return events >= self.every_events and self._seconds_behind >= _SPARING * self._seconds

    def finish(self, state: LearnerState) -> None:
        """Write a last snapshot and wait for it."""
        self.wait()
        if self._writer is not None:
            self._writer.shutdown()
        if self.log.database.durable and self.log.last > self.seq:
            try:
                self._write(self.log.last, state.packed(), state.needed())
            except StoreError as exc:
                _warn(exc)

    def _write(self, seq: int, state: bytes, needed: Ints) -> None:
        start = clock.perf_counter()
        self.log.write_snapshot(seq, state, self.keep)
        self._seconds += clock.perf_counter() - start
        give_back_memory()
        if self.drop_rows:
            if self._before is not None:  # keep rows for two snapshots, in case one is not readable
                start, also = self._before
                trim(self.log, start, np.union1d(needed, also))
            self._before = seq, needed

    def wait(self) -> None:
        """Wait for the snapshot that is being written."""
        if self._writing is not None:
            try:
                self._writing.result()
            except StoreError as exc:
                _warn(exc)
            self._writing = None


def _warn(exc: StoreError) -> None:
    warnings.warn(
        f"{exc} The snapshot was not written; nothing is lost, but opening takes longer.", stacklevel=4
    )
