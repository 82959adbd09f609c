"""Expiry: rows older than max_age are removed from the log, the model and the bytes of the file.

The age of a row is measured in stream time: from its batch to the newest batch. An expiry is an event, so a
replay removes the same rows at the same point. The transaction that adds this event deletes the rows and all
older snapshots, which contain them, and writes a new snapshot.
"""

import time as clock
from functools import partial

from ..store import removal
from ..store.events import Arrived, Expired
from ..store.log import Log
from ._learner_state import LearnerState
from ._redaction import columns_in_use, with_categories, without_categories

_AHEAD = 86400.0  # seconds by which stream time may be ahead of the clock
_SLACK = 0.01  # as a fraction of max_age: rows expire in groups


class Expiry:
    """Determines when rows expire.

    Parameters
    ----------
    log : Log
        The log.
    age : float or None
        The maximum age in seconds; None for any.
    """

    def __init__(self, log: Log, age: float | None) -> None:
        self.log, self.age = log, age
        self.newest, self.oldest = (
            (-float("inf"), float("inf")) if age is None else removal.newest_and_oldest(self.log)
        )

    def note(self, time: float) -> None:
        """Note the time of a new batch."""
        self.newest, self.oldest = max(self.newest, time), min(self.oldest, time)

    def check(self, time: float) -> None:
        """Refuse a time at which all other rows would expire, such as one in milliseconds."""
        if self.age is not None and time > clock.time() + _AHEAD:
            raise ValueError(
                f"time={time!r} is more than a day ahead of the clock: with max_age, all other rows would "
                "expire. Pass seconds since 1970."
            )

    def limit(self, time: float, exact: bool = False) -> float | None:
        """The time before which rows have expired; None if no row has.

        Rows expire in groups, at most 1 % of the maximum age late, unless ``exact``.
        """
        if self.age is None or self.oldest == float("inf"):
            return None
        limit = max(self.newest, time) - self.age
        return limit if self.oldest < limit - (0 if exact else _SLACK * self.age) else None

    def refresh(self) -> None:
        """Read the times again, after rows have expired."""
        newest, self.oldest = removal.newest_and_oldest(self.log)
        self.newest = max(self.newest, newest)


def expire(log: Log, state: LearnerState, event: Expired, batches: list[int]) -> None:
    """Apply an expiry to the state and to the log; the caller overwrites the bytes."""
    used: set[int] = set()
    for seq in batches:
        batch = log.event(seq)
        assert isinstance(batch, Arrived)
        used |= columns_in_use(batch.X)
    schema = without_categories(log, event.numbers, used, state.schema)
    state.apply(event, log.rows_of)
    if schema is not None:
        state.schema = schema
    change = None if schema is None else partial(with_categories, schema=schema)
    removal.expire(log, event, batches, state.packed(), change)
