"""Events that were read last, so that several rows of a batch are found without reading it again."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from scipy import sparse

from .events import Arrived, Event

_MAX_BYTES = 2**25  # of the rows of all events
_EVENT_BYTES = 1000  # about, of an event without rows


class EventCache:
    """Calls a function that reads an event by its number, and keeps what was read last; thread-safe.

    The bound is in bytes: a batch may have one row or many thousands.

    Parameters
    ----------
    read : callable
        Reads an event.
    max_bytes : int, default=2**25
        The size of the events to keep; the last one is kept in any case.
    """

    def __init__(self, read: Callable[[int], Event], max_bytes: int = _MAX_BYTES) -> None:
        self._read, self._max_bytes = read, max_bytes
        self._lock = Lock()
        self._kept: OrderedDict[int, tuple[Event, int]] = OrderedDict()
        self._bytes = 0
        self._n_cleared = 0

    def __call__(self, seq: int) -> Event:
        with self._lock:
            if seq in self._kept:
                self._kept.move_to_end(seq)
                return self._kept[seq][0]
            n_cleared = self._n_cleared
        event = self._read(seq)
        with self._lock:
            if n_cleared == self._n_cleared and seq not in self._kept:
                self._kept[seq] = event, _size(event)
                self._bytes += self._kept[seq][1]
            while self._bytes > self._max_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1][1]
        return event

    def clear(self) -> None:
        """Forget everything: the log was rewritten."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0
            self._n_cleared += 1


def _size(event: Event) -> int:
    if not isinstance(event, Arrived):
        return _EVENT_BYTES
    X: Any = event.X
    if sparse.issparse(X):
        return int(_EVENT_BYTES + X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(_EVENT_BYTES + X.nbytes)
