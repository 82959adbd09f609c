"""Snapshots: the state now and then, written while the fold goes on."""

import warnings
from concurrent.futures import Future, ThreadPoolExecutor

from .. import _persist
from ..errors import StoreError
from ._fold import Fold
from .log import Log

_MOST_EVENTS = 1000  # between two of them, where batches are small


class Snapshots:
    """Writes the state at intervals: taken at once, written by another thread.

    A snapshot is a cache. If it cannot be written a warning says so, and nothing is lost.
    """

    def __init__(self, log: Log, every_rows: int, keep: int) -> None:
        self.log, self.every_rows, self.keep = log, every_rows, keep
        self.rows = self.seq = 0
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None

    def begin(self, rows: int, seq: int) -> None:
        """There is a snapshot of the state after an event, when so many rows had come."""
        self.rows, self.seq = rows, seq

    def consider(self, fold: Fold, seq: int) -> None:
        """Take a snapshot if it is time."""
        due = fold.n_rows - self.rows >= self.every_rows or seq - self.seq >= _MOST_EVENTS
        if due and self.log.place.durable:
            self._wait()
            state = _persist.pack(fold.state())
            self._writer = self._writer or ThreadPoolExecutor(1, thread_name_prefix="everlearn-snapshot")
            self._writing = self._writer.submit(self.log.write_snapshot, seq, state, self.keep)
            self.begin(fold.n_rows, seq)

    def finish(self, fold: Fold) -> None:
        """Take a last one, and wait until it is written."""
        self._wait()
        if self._writer is not None:
            self._writer.shutdown()
        if self.log.place.durable and self.log.last > self.seq:
            try:
                self.log.write_snapshot(self.log.last, _persist.pack(fold.state()), self.keep)
            except StoreError as exc:
                _say(exc)

    def _wait(self) -> None:
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
