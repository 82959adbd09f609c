"""Connections: how many there may be, and how long one may be open without a request.

uvicorn closes a connection that is idle after a request, but waits forever for the first one, and for the
head of one that comes in drops. Every connection needs a file descriptor, and so does the store: without a
bound, somebody who opens connections and sends nothing would keep everybody else out, and the store from its
files.
"""

import asyncio
import contextlib
from importlib import import_module
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from ._problems import problem_response
from .limits import Limits

_OTHER_FILES = 256  # descriptors for the store, for uploads and for those that are told that there is no room
_LINGER_SECONDS = 1.0  # for which a refused client may read why


class Connection(H11Protocol):
    """A connection that is closed if no request comes, and refused if there are too many."""

    _watch: asyncio.TimerHandle | None = None
    _refused = False
    _last: Any = None  # the last request at the last look, if it was answered then

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or refuse."""
        super().connection_made(transport)
        limits = self._limits()
        if len(self.connections) > _room(limits):
            self._refused = True
            transport.write(_refusal(limits))
            transport.write_eof()
            self._watch = self.loop.call_later(_LINGER_SECONDS, transport.close)
        else:
            self._watch = self.loop.call_later(limits.idle_seconds, self._look)

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        if not self._refused:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Close the connection if no request has begun since the last look, and none is being answered."""
        done = self.cycle is None or self.cycle.response_complete
        if done and self.cycle is self._last:
            self.transport.close()
            return
        self._last = self.cycle if done else self  # one that still ran leaves a whole period for the next
        self._watch = self.loop.call_later(self._limits().idle_seconds, self._look)

    def _limits(self) -> Limits:
        app: Any = self.config.app
        limits: Limits = app.state.context.limits
        return limits


def allow_files(limits: Limits) -> None:
    """Raise this process' limit of open files, as far as it may, so that all connections find room."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        resource = import_module("resource")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = limits.connections + _OTHER_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _room(limits: Limits) -> int:
    """How many connections there may be: fewer than the bound if the system allows fewer files."""
    with contextlib.suppress(ImportError, OSError):
        resource = import_module("resource")
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != resource.RLIM_INFINITY:
            return int(max(1, min(limits.connections, soft - _OTHER_FILES)))
    return limits.connections


def _refusal(limits: Limits) -> bytes:
    """The response to a connection for which there is no room."""
    response = problem_response(
        429,
        "too_many_connections",
        f"There are already {_room(limits):,} connections.",
        remedy="Close some, or try again later.",
        headers={"Connection": "close"},
    )
    head = [b"HTTP/1.1 429 Too Many Requests", *(b": ".join(pair) for pair in response.raw_headers)]
    return b"\r\n".join(head) + b"\r\n\r\n" + bytes(response.body)
