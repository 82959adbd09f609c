"""The messages of a topic or a stream as rows: each message is one JSON object, or the fields of an entry."""

import json
import time
from collections.abc import Callable
from typing import Any

from ..broker import Consumer, Message
from ._blocks import BadRow, Block, BlockReader, as_text, is_valid, printable
from ._line_reader import BLOCK_BYTES
from ._objects import Objects, json_object

_POLL = 0.25  # seconds between two calls of `on_wait`
_LINGER = 0.2  # seconds to wait for more messages, once there is one
_PATIENCE = 2.0  # seconds to wait for more first rows, from which a schema is inferred
_INVALID = "invalid UTF-8"


class MessageReader(BlockReader):
    """The messages of a consumer; line numbers are those of the messages that this reader has seen, from 1.

    Parameters
    ----------
    consumer : Consumer
        Where messages come from.
    idle : float or None
        The seconds without a message after which the source ends; None for never.
    max_bytes : int
        A longer message is bad.
    """

    has_all_fields = False
    is_live = True

    def __init__(self, consumer: Consumer, idle: float | None, max_bytes: int) -> None:
        self.consumer, self._idle, self._max_bytes = consumer, idle, max_bytes
        self.name, self.bytes_total = consumer.name, None
        self.fields = self.required = self.used = None
        self.headers_skipped = 0
        self.on_wait: Callable[[], None] = lambda: None
        self.known: set[str] | None = None  # a row with another field is bad; set by the source
        self._number = self._bytes = 0

    def read(self, n: int) -> Block | None:
        """The next messages, up to n: as many as arrive within a moment after the first one."""
        return self._read(n, self._idle)

    def read_first(self, n: int) -> Block | None:
        """As `read`, but once there was a message, the next ones must arrive soon."""
        return self._read(n, self._idle if not self._number else min(_PATIENCE, self._idle or _PATIENCE))

    def _read(self, n: int, idle: float | None) -> Block | None:
        start = time.monotonic()
        while not (messages := self.consumer.fetch(n, _POLL)):
            self.on_wait()
            if idle is not None and time.monotonic() - start >= idle:
                return None
        end = time.monotonic() + _LINGER
        size = sum(map(_size, messages))
        while len(messages) < n and size < BLOCK_BYTES and (left := end - time.monotonic()) > 0:
            more = self.consumer.fetch(n - len(messages), left)
            size += sum(map(_size, more))
            messages += more
        self._bytes += size
        return self._block(messages)

    def _block(self, messages: list[Message]) -> Block | None:
        found, first = Objects(), self._number + 1
        for number, message in enumerate(messages, first):
            row, text, reason = self._row(message)
            if reason:
                found.bad.append(BadRow(number, reason, printable(text)))
            else:
                found.add(number, row, text)
        self._number += len(messages)
        block = found.block(self.used)
        assert block is not None  # there is a message
        block.messages, block.first, block.offsets = messages, first, self.consumer.offsets
        return block

    def _row(self, message: Message) -> tuple[dict[str, Any], str, str]:
        """The row of a message, its text, and what is wrong with it."""
        value = message.value
        if not value:
            return {}, "", "empty message"
        if _size(message) > self._max_bytes:
            return {}, as_text(value[:1000]) if isinstance(value, bytes) else "", "too long"
        if isinstance(value, dict):
            row, text = value, json.dumps(value, ensure_ascii=False)
            reason = "" if text.isascii() or is_valid(text) else _INVALID
        else:
            text = as_text(value).strip()
            row, reason = json_object(text, _INVALID)
        if not reason and self.known is not None and not row.keys() <= self.known:
            reason = f"unknown field {next(name for name in row if name not in self.known)!r}"
        return row, text, reason

    @property
    def bytes_read(self) -> int:
        """Bytes of messages so far."""
        return self._bytes

    def close(self) -> None:
        """Close the connection."""
        self.consumer.close()


def _size(message: Message) -> int:
    value = message.value
    if isinstance(value, dict):
        return sum(map(len, value.values()))
    return len(value or b"")
