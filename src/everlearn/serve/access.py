"""Who may do what: tokens, sessions and one-time links, of which only hashes are stored.

A token is ``el_ID_SECRET``. The id, which is public, finds the entry; the secret has 256 random bits, so a
plain SHA-256 of the token is enough, and hashes are compared in constant time. A one-time link has the same
form; opening it exchanges it for a session, which is a token in a cookie.

Entries are notes of the store, one each, written through two functions, so that a change touches one note.
"""

import dataclasses
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError

ROLES = ("producer", "annotator", "viewer", "admin")
MAX_NAME = 100
_MAX_ENTRIES = 10_000
_MAX_SESSIONS = 50  # of one person: a further one ends the oldest, so that nobody can take all entries
_LINK_SECONDS = 7 * 24 * 3600.0
_PREFIX = "access/"
_COOKIE_NOTE = "access:cookie"


@dataclass(frozen=True)
class Person:
    """Somebody, or a program, that has a token.

    Attributes
    ----------
    name : str
        The name under which answers are stored.
    role : {"producer", "annotator", "viewer", "admin"}
        What the token allows.
    """

    name: str
    role: str


@dataclass(frozen=True)
class _Entry:
    digest: str
    name: str
    role: str
    kind: str  # "token", "session", "start" or "link"
    expires: float | None = None  # seconds since 1970; only links expire
    created: float = 0.0  # seconds since 1970; 0 in stores of versions that did not note it


class Access:
    """The tokens and links of a store.

    Parameters
    ----------
    notes : callable
        Returns the notes of the store.
    set_notes : callable
        Stores notes durably; None deletes one.
    clock : callable, default=time.time
        The time in seconds since 1970, for the expiry of links and the age of sessions.
    """

    def __init__(
        self,
        notes: Callable[[], Mapping[str, Any]],
        set_notes: Callable[[dict[str, Any]], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        found = notes()
        self._set_notes, self._clock = set_notes, clock
        self._lock = threading.Lock()
        self._entries = {
            key.removeprefix(_PREFIX): _Entry(**value)
            for key, value in found.items()
            if key.startswith(_PREFIX)
        }
        cookie = found.get(_COOKIE_NOTE)
        if cookie is None:
            # Browsers send cookies to all ports of a host: two services must not share a name.
            cookie = f"everlearn_{secrets.token_hex(4)}"
            set_notes({_COOKIE_NOTE: cookie})
        self.cookie = str(cookie)

    def person(self, token: str) -> Person | None:
        """The person with this token or session; None if there is none."""
        entry = self._entry(token)
        return None if entry is None or entry.kind == "link" else Person(entry.name, entry.role)

    def create_token(self, name: str, role: str) -> str:
        """A new token, which is returned once and not stored."""
        return self._create(name, role, "token")

    def start_token(self, token: str | None = None) -> str:
        """The admin token of this start of the service; that of the last start is no longer valid.

        Parameters
        ----------
        token : str, default=None
            A token that the operator has chosen, of at least 32 characters; None makes a new one.

        Returns
        -------
        str
            The token.
        """
        if token is None:
            token = _new_token()
        elif len(token) < 32 or not token.isascii() or not token.isprintable() or " " in token:
            raise InputError(
                "The token must have at least 32 printable ASCII characters without spaces.",
                code="weak_token",
                parameter="token",
                remedy="Leave it out, and one is made.",
            )
        with self._lock:
            last = {key for key, entry in self._entries.items() if entry.kind == "start"}
            self._change(last, {_id(token): self._new(token, "admin", "admin", "start")})
        return token

    def create_link(self, name: str, role: str) -> str:
        """The code of a new one-time link, which is valid for a week."""
        return self._create(name, role, "link", self._clock() + _LINK_SECONDS)

    def join(self, code: str) -> tuple[Person, str]:
        """Exchange the code of a link for a session; the code is used up.

        Parameters
        ----------
        code : str
            The code of `create_link`.

        Returns
        -------
        tuple of Person and str
            Who it is, and the token of the session.
        """
        with self._lock:
            entry = self._entry(code)
            if (
                entry is None
                or entry.kind != "link"
                or entry.expires is None
                or entry.expires < self._clock()
            ):
                raise InputError(
                    "This link has been used, has expired or never existed.",
                    code="link_used",
                    parameter="code",
                    remedy="Ask an admin for a new one.",
                )
            token = _new_token()
            ended = {_id(code)} | self._surplus_sessions(entry.name)
            self._change(ended, {_id(token): self._new(token, entry.name, entry.role, "session")})
        return Person(entry.name, entry.role), token

    def create_session(self, person: Person) -> str:
        """The token of a new session of somebody who has shown another token."""
        return self._create(person.name, person.role, "session")

    def people(self) -> list[dict[str, Any]]:
        """Everybody who can sign in or send requests, by name; the admin token of the start is left out.

        Returns
        -------
        list of dict
            "name" and "role"; the numbers of "sessions", of "tokens", and of "links" that are still open.
        """
        now = self._clock()
        with self._lock:
            entries = [
                entry
                for entry in self._entries.values()
                if entry.kind != "start" and (entry.expires is None or entry.expires >= now)
            ]
        pairs = sorted({(entry.name, entry.role) for entry in entries})
        return [
            {"name": name, "role": role}
            | {
                f"{kind}s": sum(entry == (name, role, kind) for entry in _kinds(entries))
                for kind in ("session", "token", "link")
            }
            for name, role in pairs
        ]

    def end_session(self, token: str) -> None:
        """Delete a session; other tokens stay."""
        with self._lock:
            entry = self._entry(token)
            if entry is not None and entry.kind == "session":
                self._change({_id(token)}, {})

    def revoke(self, name: str) -> int:
        """Delete all tokens, sessions and links of a person; returns how many."""
        with self._lock:
            keys = {key for key, entry in self._entries.items() if entry.name == name}
            if keys:
                self._change(keys, {})
        return len(keys)

    def _create(self, name: str, role: str, kind: str, expires: float | None = None) -> str:
        _check(name, role)
        token = _new_token()
        with self._lock:
            now = self._clock()
            ended = {key for key, e in self._entries.items() if e.expires is not None and e.expires < now}
            if kind == "session":
                ended |= self._surplus_sessions(name)
            if len(self._entries) - len(ended) >= _MAX_ENTRIES:
                raise InputError(
                    f"There are already {_MAX_ENTRIES:,} tokens and links.",
                    code="too_many_tokens",
                    remedy="Revoke some.",
                )
            self._change(ended, {_id(token): self._new(token, name, role, kind, expires)})
        return token

    def _surplus_sessions(self, name: str) -> set[str]:
        """The oldest sessions of a person, which end so that there is room for one more."""
        mine = [key for key, entry in self._entries.items() if (entry.name, entry.kind) == (name, "session")]
        mine.sort(key=lambda key: self._entries[key].created)
        return set(mine[: max(0, len(mine) - _MAX_SESSIONS + 1)])

    def _new(self, token: str, name: str, role: str, kind: str, expires: float | None = None) -> _Entry:
        return _Entry(_digest(token), name, role, kind, expires, self._clock())

    def _change(self, ended: set[str], added: Mapping[str, _Entry]) -> None:
        """Delete entries and add others in one transaction: a crash leaves all or nothing of it."""
        changes: dict[str, Any] = {_PREFIX + key: None for key in ended}
        self._set_notes(changes | {_PREFIX + key: dataclasses.asdict(entry) for key, entry in added.items()})
        for key in ended:
            del self._entries[key]
        self._entries.update(added)

    def _entry(self, token: str) -> _Entry | None:
        entry = self._entries.get(_id(token))
        # Also hashed and compared without an entry: an unknown id takes as long as a wrong secret.
        right = hmac.compare_digest(_digest(token), "" if entry is None else entry.digest)
        return entry if right else None


def _kinds(entries: list[_Entry]) -> list[tuple[str, str, str]]:
    return [(entry.name, entry.role, entry.kind) for entry in entries]


def _new_token() -> str:
    return f"el_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def _id(token: str) -> str:
    """The public part of a token; a token of another form has one that is derived from its hash."""
    parts = token.split("_", 2)
    if len(parts) == 3 and parts[0] == "el" and len(parts[1]) == 12:
        return parts[1]
    return _digest("id:" + token)[:12]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check(name: str, role: str) -> None:
    if role not in ROLES:
        raise InputError(
            f"The role must be one of {', '.join(ROLES)}, got {role!r}.",
            code="invalid_value",
            parameter="role",
            value=role,
        )
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            f"A name must have 1 to {MAX_NAME} printable characters, got {name[: MAX_NAME + 1]!r}.",
            code="invalid_value",
            parameter="name",
            value=name,
        )
