"""Run the application until it is told to stop, in this process."""

import contextlib
import ctypes
import errno
import logging
import os
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from .._visible import visible_lines
from ..errors import StoreError
from ._connections import Connection, allow_files

_STOP_SECONDS = 15
_M_ARENA_MAX, _ARENAS = -8, 2  # of mallopt


class _Formatter(logging.Formatter):
    """Log lines in which data cannot pass for a line of ours or act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return visible_lines(super().format(record), exact=False)


class _Server(uvicorn.Server):
    """A server that ends its event streams before it waits for connections, and says when it answers."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so."""
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: requests that have begun are answered."""
        self._app.state.context.hub.close()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops the server, the second one at once; a clean stop is no error."""
        self.force_exit = self.should_exit
        self.should_exit = True


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise StoreError(
                f"Port {port} of {host} is in use.", code="port_in_use", remedy="Choose another port, or 0."
            ) from None
        raise StoreError(
            f"The service cannot listen on port {port} of {host}: {error.strerror or error}.",
            code="bad_address",
            remedy="Choose an address of this machine, or a port above 1023.",
        ) from None
    return listening


def run(app: FastAPI, listening: socket.socket, ready: Callable[[], None], *, log_level: str) -> None:
    """Serve until SIGINT or SIGTERM; then finish the requests that have begun.

    Parameters
    ----------
    app : FastAPI
        The application.
    listening : socket
        From `bind`.
    ready : callable
        Called once the service answers.
    log_level : str
        Of the log on standard error. Requests are not logged: their queries can hold codes and ids.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in ("uvicorn", "everlearn.serve"):
        logger = logging.getLogger(name)
        logger.setLevel(log_level.upper())
        logger.handlers, logger.propagate = [handler], False
    _share_free_memory()
    allow_files(app.state.context.limits)
    server(app, ready).run([listening])


def _share_free_memory() -> None:
    """Let threads share what malloc keeps free, if the C library is glibc.

    Otherwise each of up to 80 threads that answer requests keeps its own, and memory grows with their number.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def server(app: FastAPI, ready: Callable[[], None]) -> uvicorn.Server:
    """The server of an application; its method `run` takes the socket."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_STOP_SECONDS,
        h11_max_incomplete_event_size=64 * 1024,
        backlog=1024,
        ws="none",
        http=Connection,  # h11, which bounds the size of headers
    )
    return _Server(config, app, ready)
