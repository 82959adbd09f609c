"""Redis streams, with redis-py.

The stream is read with XREAD, without a consumer group: where to go on is in the store. Nothing is deleted or
acknowledged. A stream may be trimmed (XTRIM, MAXLEN) as far as it was read; the last entry that was read must
stay, because it shows that none behind it is missing.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BrokerError
from ._address import Address
from ._messages import MADE_AGAIN_REMEDY, Consumer, Message, Publisher, as_json, needs, order

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, AuthorizationError, ConnectionError, TimeoutError
    from redis.retry import Retry
except ModuleNotFoundError as error:
    raise needs("redis", "redis") from error

_TIMEOUT = 10.0  # seconds for one answer
_MOST = 2000  # entries asked for at a time: back-pressure, with the block size of the reader
_PAUSE = 0.5  # seconds between two attempts to connect again
_START = "0-0"
_DOWN = (ConnectionError, TimeoutError, OSError)


def _connect(address: Address) -> Any:
    """A connection; the server has answered."""
    ((host, port),) = address.hosts
    client = redis.Redis(
        host=host.strip("[]"),
        port=port,
        db=int(address.options.get("db", "0")),
        username=address.user,
        password=address.password,
        ssl=address.scheme == "rediss",
        socket_timeout=_TIMEOUT,
        socket_connect_timeout=_TIMEOUT,
        retry=Retry(NoBackoff(), 1),  # the consumer tries again itself
    )
    try:
        client.ping()
    except (AuthenticationError, AuthorizationError, redis.ResponseError) as error:
        raise BrokerError(
            f"{address.name} refuses the login: {_words(error)}.",
            code="broker_refused",
            remedy="Correct user and password, as in redis://user:password@host:6379/stream.",
        ) from None
    except _DOWN as error:
        raise BrokerError(
            f"{address.name} cannot be reached: {_words(error)}.",
            code="broker_down",
            remedy="Is the server running, and are host and port correct?",
        ) from None
    return client


class RedisConsumer(Consumer):
    """Reads a stream. In ``offsets["next"]`` is the id of the last entry that was read."""

    def __init__(
        self, address: Address, offsets: Mapping[str, Any] | None = None, reset: str | None = None
    ) -> None:
        super().__init__(address, offsets, reset)
        self._redis, self._warned = _connect(address), False
        self._made_again = False
        try:
            kind = self._redis.type(self.stream).decode()
            if kind == "none":
                raise BrokerError(
                    f"{self.name}: the server has no stream {self.stream!r}.",
                    code="no_topic",
                    remedy="Correct the name, or add the first entry with XADD.",
                )
            if kind != "stream":
                raise BrokerError(f"{self.name}: {self.stream!r} is a {kind}, not a stream.", code="no_topic")
            newest = self._redis.xinfo_stream(self.stream)["last-generated-id"].decode()
            self._check_same(self._is_same())
            self._next.setdefault("", newest if reset == "latest" else _START)
            if order(newest) < order(self._next[""]):
                if reset is None:
                    raise BrokerError(
                        f"The newest entry of {self.name} is {newest}, but {self._next['']} was read: the "
                        "stream was deleted and made again, or it is another server.",
                        code="made_again",
                        remedy=MADE_AGAIN_REMEDY,
                    )
                self._made_again = True
                self._next[""] = newest if reset == "latest" else _START
        except BaseException:
            self._redis.close()
            raise

    def fetch(self, n: int, wait: float) -> list[Message]:
        """Read up to n entries; wait up to ``wait`` seconds for the first one."""
        deadline = time.monotonic() + wait
        while True:
            found = self._attempt(n, deadline)
            if found or time.monotonic() >= deadline:
                return found

    def _attempt(self, n: int, deadline: float) -> list[Message]:
        """Read entries, or wait for one; if the server is gone, wait a moment."""
        try:
            if found := self._read(min(n, _MOST)):
                self._warned = False
                return found
            left = deadline - time.monotonic()
            if left > 0:
                milliseconds = max(1, int(1000 * min(left, _TIMEOUT / 2)))
                self._redis.xread({self.stream: self._next[""]}, count=1, block=milliseconds)
        except (AuthenticationError, AuthorizationError) as error:
            raise BrokerError(
                f"{self.name} cannot be read: {_words(error)}.", code="broker_refused"
            ) from None
        except _DOWN as error:
            if not self._warned:
                warnings.warn(f"{self.name} cannot be reached ({_words(error)}): trying again.", stacklevel=2)
            self._warned = True
            time.sleep(min(_PAUSE, max(0.0, deadline - time.monotonic())))
        except redis.ResponseError as error:
            raise BrokerError(f"{self.name} cannot be read: {_words(error)}.") from None
        return []

    def is_after(self, message: Message, offsets: Mapping[str, Any] | None) -> bool:
        """Whether an entry is behind the last one that was read."""
        last = (offsets or {}).get("next", {}).get("", _START)
        return not self._is_valid("", offsets) or order(message.offset) > order(last)

    def _is_valid(self, partition: str, offsets: Mapping[str, Any] | None) -> bool:
        return not self._made_again

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()

    # ------------------------------------------------------------------------------------------------ private

    def _is_same(self) -> bool:
        """The same address, or a stream of the same name that has the last entry: it has moved."""
        given = self._given or {}
        if given.get("source") == self.name:
            return True
        last, before = given.get("next", {}).get(""), str(given.get("source", "")).partition("?")[0]
        if last is None or before.rpartition("/")[2] != self.stream or not before.startswith("redis"):
            return False
        return bool(self._redis.xrange(self.stream, last, last))

    def _read(self, n: int) -> list[Message]:
        last = self._next[""]
        with self._redis.pipeline(transaction=True) as both:  # no trimming between the two
            both.xrange(self.stream, "-", last, count=1)
            both.xread({self.stream: last}, count=n)
            before, answer = both.execute()
        entries = _entries(answer)
        if entries and last != _START and not before:
            self._pass_gap(last, entries[0][0].decode())
            last = self._next[""]
            if self._reset == "latest":
                return []
        found = [Message(_value(fields), None, "", name.decode()) for name, fields in entries]
        if found:
            self._next[""] = found[-1].offset
        return found

    def _pass_gap(self, last: str, first: str) -> None:
        """All entries up to the last one that was read are gone, and with them maybe later ones."""
        if self._reset is None:
            raise self._gone(
                f"The entry {last}, the last one that was read, and perhaps entries before {first}"
            )
        if self._reset == "latest":
            self._next[""] = self._redis.xinfo_stream(self.stream)["last-generated-id"].decode()


class RedisPublisher(Publisher):
    """Adds entries with the single field "json" to a stream."""

    def __init__(self, address: Address) -> None:
        self.name, self._stream = address.name, address.stream
        self._redis = _connect(address)

    def publish(self, messages: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Publish messages in one transaction."""
        try:
            with self._redis.pipeline(transaction=True) as all_:
                for _, value in messages:
                    all_.xadd(self._stream, {"json": as_json(value)})
                all_.execute()
        except (redis.RedisError, OSError) as error:
            raise BrokerError(
                f"{self.name} did not take {len(messages)} messages: {_words(error)}."
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


def _words(error: BaseException) -> str:
    return str(error).rstrip(".")


def _entries(answer: Any) -> list[Any]:
    """The entries in an answer to XREAD, which is a list or a mapping, depending on the protocol."""
    if not answer:
        return []
    if isinstance(answer, dict):
        (found,) = answer.values()
        return list(found[0]) if len(found) == 1 and isinstance(found[0], list) else list(found)
    return list(answer[0][1])


def _value(fields: Mapping[bytes, bytes] | None) -> Any:
    """A single field that is named "json" or holds a JSON object is the row; otherwise, fields are fields."""
    if not fields:
        return None
    if len(fields) == 1:
        ((name, only),) = fields.items()
        if name == b"json" or only.lstrip().startswith(b"{"):
            return only
    return {
        name.decode("utf-8", "surrogateescape"): cell.decode("utf-8", "surrogateescape")
        for name, cell in fields.items()
    }
