"""Snapshots: the state now and then, written while the fold goes on."""

import warnings
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from .._base import persist
from ..errors import StoreError
from ..store.events import Ints
from ..store.log import Log
from ..store.retention import trim
from ._fold import Fold
from ._memory import give_back_memory

_MOST_EVENTS = 1000  # between two of them, where batches are small


class Snapshots:
    """Writes the state at intervals: taken at once, written by another thread.

    A snapshot is a cache. If it cannot be written a warning says so, and nothing is lost.
    """

    def __init__(self, log: Log, every_rows: int, keep: int, drop_rows: bool) -> None:
        self.log, self.every_rows, self.keep, self.drop_rows = log, every_rows, keep, drop_rows
        self.rows = self.seq = 0
        self._before: tuple[int, Ints] | None = None  # the last snapshot written here, and what it needs
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def begin(self, rows: int, seq: int) -> None:
        """There is a snapshot of the state after an event, when so many rows had come."""
        self.rows, self.seq = rows, seq

    def restart(self, fold: Fold, seq: int) -> None:
        """There is one snapshot, of the state after an event, and none that is older counts."""
        self.begin(fold.n_rows, seq)
        self._before = (seq, fold.needed()) if self.drop_rows else None

    def consider(self, fold: Fold, seq: int) -> None:
        """Take a snapshot if it is time."""
        due = fold.n_rows - self.rows >= self.every_rows or seq - self.seq >= _MOST_EVENTS
        if due and self.log.place.durable:
            self.wait()
            state = persist.pack(fold.state())
            self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="everlearn-snapshot")
            self._writing = self._writer.submit(self._write, seq, state, fold.needed())
            self.begin(fold.n_rows, seq)

    def finish(self, fold: Fold) -> None:
        """Take a last one, and wait until it is written."""
        self.wait()
        if self._writer is not None:
            self._writer.shutdown()
        if self.log.place.durable and self.log.last > self.seq:
            try:
                self._write(self.log.last, persist.pack(fold.state()), fold.needed())
            except StoreError as exc:
                _say(exc)

    def _write(self, seq: int, state: bytes, needed: Ints) -> None:
        self.log.write_snapshot(seq, state, self.keep)
        give_back_memory()
        if self.drop_rows:
            if self._before is not None:  # two snapshots stand, should one of them not be readable
                start, also = self._before
                trim(self.log, start, np.union1d(needed, also))
            self._before = seq, needed

    def wait(self) -> None:
        """Wait until the snapshot that is being written is there."""
        if self._writing is not None:
            try:
                self._writing.result()
            except StoreError as exc:
                _say(exc)
            self._writing = None


def _say(exc: StoreError) -> None:
    warnings.warn(
        f"{exc} A snapshot is missing; the log has everything, and opening takes longer.", stacklevel=4
    )
