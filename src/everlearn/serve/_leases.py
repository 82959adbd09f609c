"""Leases: a question belongs to one person for a while, and comes back if nobody answers.

A lease is in memory only. A restart forgets all leases; answers that come late still count. Time is measured
by a monotonic clock, which does not jump when the clock of the machine is set.
"""

import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock

from ..errors import InputError
from ..store.lookup import Id


@dataclass(frozen=True)
class Lease:
    """The claim of a person to a question.

    Attributes
    ----------
    id : str
        Its id.
    token : str
        Its secret.
    row : int or str
        The row that is asked about.
    by : str
        Who holds it.
    expires : float
        When it ends, by the monotonic clock.
    others : tuple of int or str
        Further rows that are leased with it: near-duplicates.
    why_kind : str
        The kind of the reason for the question.
    why_text : str
        The reason.
    model_version : int
        The version of the model when the question was leased.
    """

    id: str
    token: str
    row: Id
    by: str
    expires: float
    others: tuple[Id, ...] = ()
    why_kind: str = ""
    why_text: str = ""
    model_version: int = 0

    @property
    def rows(self) -> tuple[Id, ...]:
        """All rows that it covers."""
        return (self.row, *self.others)


class Leases:
    """The leases that are in force; thread-safe.

    Parameters
    ----------
    seconds : float, default=90
        How long a lease lasts.
    clock : callable, default=time.monotonic
        The clock.

    Attributes
    ----------
    n_expired : int
        How many have expired so far.
    """

    def __init__(self, seconds: float = 90.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds, self._clock = seconds, clock
        self._lock = Lock()
        self._by_id: dict[str, Lease] = {}
        self._by_row: dict[Id, dict[str, Lease]] = {}
        self.n_expired = 0

    def claim(
        self,
        row: Id,
        by: str,
        *,
        places: int = 1,
        others: Sequence[Id] = (),
        why: tuple[str, str] = ("", ""),
        model_version: int = 0,
    ) -> Lease | None:
        """Lease a question to a person.

        Parameters
        ----------
        row : int or str
            The row.
        by : str
            The person.
        places : int, default=1
            How many people may hold a lease of the row at the same time.
        others : sequence of int or str, default=()
            Rows that are leased with it; those that are leased already are left out.
        why : tuple of (str, str), default=("", "")
            The kind of the reason and its text.
        model_version : int, default=0
            The version of the model.

        Returns
        -------
        Lease or None
            None if the places are taken, or if the person holds a lease of the row.
        """
        with self._lock:
            self._expire()
            held = self._by_row.get(row, {}).values()
            if len(held) >= places or any(lease.by == by for lease in held):
                return None
            free = tuple(other for other in others if other != row and not self._by_row.get(other))
            lease = Lease(
                secrets.token_urlsafe(9),
                secrets.token_urlsafe(18),
                row,
                by,
                self._clock() + self.seconds,
                free,
                *why,
                model_version,
            )
            self._put(lease)
            return lease

    def renew(self, lease_id: str, token: str) -> Lease:
        """Start the time of a lease again; an `InputError` with the code "lease_gone" if it has ended."""
        with self._lock:
            self._expire()
            lease = self._checked(lease_id, token)
            if lease is None:
                raise InputError(
                    f"The lease {lease_id!r} has expired or was released.",
                    code="lease_gone",
                    remedy="Ask for questions again; an answer is accepted without a lease, too.",
                )
            renewed = replace(lease, expires=self._clock() + self.seconds)
            self._put(renewed)
            return renewed

    def release(self, lease_id: str, token: str) -> bool:
        """End a lease; returns whether it was in force."""
        with self._lock:
            self._expire()
            lease = self._checked(lease_id, token)
            if lease is not None:
                self._drop(lease)
            return lease is not None

    def find(self, lease_id: str | None, token: str | None) -> Lease | None:
        """The lease in force with this id and token; None if there is none."""
        with self._lock:
            self._expire()
            return self._checked(lease_id or "", token or "")

    def end(self, row: Id, by: str) -> None:
        """End the leases of a person that cover a row: it was answered."""
        with self._lock:
            for lease in [lease for lease in self._by_row.get(row, {}).values() if lease.by == by]:
                self._drop(lease)

    def is_free(self, row: Id, by: str, places: int = 1) -> bool:
        """Whether a person could claim a row now."""
        with self._lock:
            self._expire()
            held = self._by_row.get(row, {}).values()
            return len(held) < places and all(lease.by != by for lease in held)

    def taken(self) -> set[Id]:
        """The rows that somebody holds."""
        with self._lock:
            self._expire()
            return set(self._by_row)

    def held(self, by: str) -> set[Id]:
        """The rows that a person holds."""
        with self._lock:
            self._expire()
            return {row for lease in self._by_id.values() if lease.by == by for row in lease.rows}

    def count(self, by: str) -> int:
        """How many leases a person holds."""
        with self._lock:
            self._expire()
            return sum(lease.by == by for lease in self._by_id.values())

    def held_by_others(self, by: str) -> set[Id]:
        """The rows that other people hold."""
        with self._lock:
            self._expire()
            return {row for lease in self._by_id.values() if lease.by != by for row in lease.rows}

    def holders(self, row: Id) -> list[str]:
        """The people who hold a lease of a row."""
        with self._lock:
            self._expire()
            return [lease.by for lease in self._by_row.get(row, {}).values()]

    def left(self, lease: Lease) -> float:
        """Seconds until a lease expires."""
        return max(0.0, lease.expires - self._clock())

    def next_expiry(self) -> float | None:
        """Seconds until the first lease expires; None without leases."""
        with self._lock:
            self._expire()
            return min((self.left(lease) for lease in self._by_id.values()), default=None)

    def people(self) -> set[str]:
        """Who holds a lease."""
        with self._lock:
            self._expire()
            return {lease.by for lease in self._by_id.values()}

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._by_id)

    # ------------------------------------------------------------------------------------------------ private

    def _checked(self, lease_id: str, token: str) -> Lease | None:
        lease = self._by_id.get(lease_id)
        same = lease is not None and hmac.compare_digest(lease.token.encode(), token.encode())
        return lease if same else None

    def _put(self, lease: Lease) -> None:
        self._by_id.pop(lease.id, None)  # the order is that of expiry
        self._by_id[lease.id] = lease
        for row in lease.rows:
            self._by_row.setdefault(row, {})[lease.id] = lease

    def _drop(self, lease: Lease) -> None:
        self._by_id.pop(lease.id, None)
        for row in lease.rows:
            held = self._by_row.get(row, {})
            held.pop(lease.id, None)
            if not held:
                self._by_row.pop(row, None)

    def _expire(self) -> None:
        now = self._clock()
        while self._by_id:
            lease = next(iter(self._by_id.values()))
            if lease.expires > now:
                return
            self._drop(lease)
            self.n_expired += 1
