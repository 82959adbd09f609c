"""Server-sent events: what was written to the log, to all who listen, resumed by sequence number.

One task reads new events from the service and puts them into the queue of every connection. A connection
first reads what it has missed from the log, in parts. A queue is short: a reader whose queue is full, or
who does not take a piece within some seconds, is cut off, and resumes from the log when it connects again.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
from anyio import to_thread
from pydantic_core import to_json
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ._problems import Problem
from ._results import ServiceEvent
from .limits import Limits

logger = logging.getLogger("everlearn.serve")

PING_SECONDS = 15.0
RETRY_SECONDS = 1.0  # until events are read again from a store that could not be read
_QUEUE = 256  # events that wait for one reader
_PART = 500  # events that are read from the log at a time


class EventHub:
    """The connections that listen to events.

    Parameters
    ----------
    events_after : callable
        ``events_after(sequence, limit)`` reads events from the log, oldest first.
    limits : Limits
        The bounds of the service.
    """

    def __init__(self, events_after: Callable[[int, int], Sequence[ServiceEvent]], limits: Limits) -> None:
        self._events_after, self._limits = events_after, limits
        self._queues: set[asyncio.Queue[ServiceEvent | None]] = set()
        self._closed = False
        self._changed = asyncio.Event()
        self._newest = 0

    @property
    def connections(self) -> int:
        """How many listen."""
        return len(self._queues)

    def close(self) -> None:
        """End all connections, so that the service can stop."""
        self._closed = True
        for queue in list(self._queues):
            _end(queue)

    def wake(self, sequence: int) -> None:
        """Say what was written last; called in the event loop."""
        self._newest = max(self._newest, sequence)
        self._changed.set()

    async def run(self) -> None:
        """Distribute what is written from now on, until it is cancelled."""
        last = self._newest
        while not self._closed:
            await self._changed.wait()
            self._changed.clear()
            if not self._queues:
                last = self._newest  # who comes later starts from the log, or from now
            while last < self._newest:
                try:
                    events = await to_thread.run_sync(self._events_after, last, _PART)
                except Exception:
                    # The store cannot be read now. This task reads for all clients, so it must go on.
                    logger.exception("New events cannot be read from the log; it is tried again.")
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if not events:
                    break
                last = events[-1].sequence
                for event in events:
                    self._publish(event)

    def _publish(self, event: ServiceEvent) -> None:
        for queue in list(self._queues):
            if queue.full():
                _end(queue)
                self._queues.discard(queue)
            else:
                queue.put_nowait(event)

    def response(self, last: int | None) -> Response:
        """A connection that starts after this event; None starts with the next one."""
        if len(self._queues) >= self._limits.event_streams:
            raise Problem(
                "too_many_streams",
                f"There are already {self._limits.event_streams:,} connections to the events.",
                remedy="Close one, or try again later.",
                headers={"Retry-After": "10"},
            )
        if self._closed:
            raise Problem("stopping", "The service is stopping.", remedy="Connect again.")
        queue: asyncio.Queue[ServiceEvent | None] = asyncio.Queue(_QUEUE)
        self._queues.add(queue)  # before the log is read, so that nothing falls in between
        return _EventStream(self, queue, last, self._limits.stream_seconds)

    async def events(
        self, queue: "asyncio.Queue[ServiceEvent | None]", last: int | None
    ) -> AsyncIterator[bytes]:
        """The pieces of a connection."""
        yield b"retry: 1000\n\n"
        done = self._newest if last is None else last
        while last is not None and not self._closed:
            events = await to_thread.run_sync(self._events_after, done, _PART)
            if not events:
                break
            done = events[-1].sequence
            yield b"".join(map(encoded, events))
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), PING_SECONDS)
            except asyncio.TimeoutError:
                yield b": ping\n\n"
                continue
            if event is None:
                return
            if event.sequence > done:
                yield encoded(event)

    def leave(self, queue: "asyncio.Queue[ServiceEvent | None]") -> None:
        """A connection has ended."""
        self._queues.discard(queue)


class _EventStream(Response):
    """A response that is sent until the reader leaves, is too slow, or the service stops."""

    media_type = "text/event-stream"

    def __init__(self, hub: EventHub, queue: Any, last: int | None, seconds: float) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._queue, self._last, self._seconds = hub, queue, last, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        try:
            async with anyio.create_task_group() as group:

                async def until_left() -> None:
                    await listen()
                    group.cancel_scope.cancel()

                group.start_soon(until_left)
                with contextlib.suppress(TimeoutError):
                    await self._send_all(send)
                group.cancel_scope.cancel()
        finally:
            self._hub.leave(self._queue)

    async def _send_all(self, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        async for piece in self._hub.events(self._queue, self._last):
            with anyio.fail_after(self._seconds):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def encoded(event: ServiceEvent) -> bytes:
    """An event as it is sent, in one line: JSON escapes line breaks, except those that only Unicode has."""
    data = to_json(event.data, inf_nan_mode="null")
    for end in ("\u2028", "\u2029", "\x85"):
        data = data.replace(end.encode(), b"\\u%04x" % ord(end))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.sequence, event.event.encode(), data)


def _end(queue: "asyncio.Queue[ServiceEvent | None]") -> None:
    """Make the reader of a queue stop: what waits is dropped, the reader resumes from the log."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(None)
