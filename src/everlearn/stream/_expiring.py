"""Retention by age: rows that have become too old leave the log, the model and the bytes of the file.

The age of a row is the time from its batch to the newest batch, in the time of the stream. Which rows expire
is an event of its own, so that a replay drops the same rows at the same place. In the transaction that adds
this event the log loses them, and gets a snapshot to stand on: older snapshots know the rows, and must go.
"""

import time as clock
from functools import partial

from .._base import persist
from ..store import removal
from ..store.events import Arrived, Expired
from ..store.log import Log
from ._fold import Fold
from ._redact import columns_in_use, with_categories, without_categories

_AHEAD = 86400.0  # seconds by which the time of a stream may be ahead of the clock
_SLACK = 0.01  # of the age: rows expire in portions


class Expiry:
    """Knows when rows of a log are due.

    Parameters
    ----------
    log : Log
        The log.
    age : float or None
        The age, in seconds, that rows may reach; None is any.
    """

    def __init__(self, log: Log, age: float | None) -> None:
        self.log, self.age = log, age
        self.newest, self.oldest = (
            (-float("inf"), float("inf")) if age is None else removal.newest_and_oldest(self.log)
        )

    def note(self, time: float) -> None:
        """A batch came at a time."""
        self.newest, self.oldest = max(self.newest, time), min(self.oldest, time)

    def check(self, time: float) -> None:
        """Refuse a time that would make all other rows look old, such as one in milliseconds."""
        if self.age is not None and time > clock.time() + _AHEAD:
            raise ValueError(
                f"time is {time!r}, more than a day ahead of the clock: with max_age all other rows would "
                "expire. Give seconds since 1970."
            )

    def limit(self, time: float, exact: bool = False) -> float | None:
        """Before which time rows are too old at a time, or at that of the newest row; None if none is.

        They expire in portions, a hundredth of the age too late at most, unless it must be ``exact``.
        """
        if self.age is None or self.oldest == float("inf"):
            return None
        limit = max(self.newest, time) - self.age
        return limit if self.oldest < limit - (0 if exact else _SLACK * self.age) else None

    def refresh(self) -> None:
        """Look again, after rows have expired."""
        newest, self.oldest = removal.newest_and_oldest(self.log)
        self.newest = max(self.newest, newest)


def expire(log: Log, fold: Fold, event: Expired, batches: list[int]) -> None:
    """Fold an expiry and write it; the bytes are overwritten after it."""
    used: set[int] = set()
    for seq in batches:
        batch = log.event(seq)
        assert isinstance(batch, Arrived)
        used |= columns_in_use(batch.X)
    schema = without_categories(log, event.numbers, used, fold.schema)
    fold.apply(event, log.rows_of)
    if schema is not None:
        fold.schema = schema
    change = None if schema is None else partial(with_categories, schema=schema)
    removal.expire(log, event, batches, persist.pack(fold.state()), change)
