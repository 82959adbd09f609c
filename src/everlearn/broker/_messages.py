"""What is the same for all brokers: messages, consumers that start at given offsets, publishers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import BrokerError, InputError
from ._address import Address

RESETS = (None, "earliest", "latest")
SEVERAL = "several"  # the id of the topic, where readers have read different ones
MADE_AGAIN_REMEDY = (
    'To begin with its oldest message, pass offset_reset="earliest", or "latest" to go on with the next '
    "message that arrives."
)


class Message(NamedTuple):
    """A message.

    Parameters
    ----------
    value : bytes, dict of str to str, or None
        The content: bytes, the fields of a Redis entry, or None for a Kafka message without a value.
    key : str or None
        The key of a Kafka message; invalid UTF-8 is kept as surrogates. None without one, and for Redis.
    partition : str
        The partition; "" for Redis.
    offset : int or str
        Its offset in the partition, or the id of the Redis entry.
    """

    value: Any
    key: str | None
    partition: str
    offset: Any

    @property
    def place(self) -> str:
        """Where it is on the broker, as text: partition and offset, or the id of the entry."""
        return f"{self.partition}:{self.offset}" if self.partition else str(self.offset)


class Consumer:
    """Reads a topic or a stream, from given offsets on; where it is, is for the caller to keep.

    Parameters
    ----------
    address : Address
        The topic or the stream.
    offsets : mapping, default=None
        Where to go on: the value of `offsets` at that time. None starts at the oldest message.
    reset : {None, "earliest", "latest"}, default=None
        What to do if messages that should come next are gone: None raises a `BrokerError`, "earliest" goes
        on with the oldest one that is left, "latest" with the next one that arrives. "latest" also skips the
        messages that are there if there are no offsets.

    Attributes
    ----------
    name : str
        The address, without anything secret.
    cluster : str or None
        How the cluster calls itself, whatever host it is reached by; None for Redis.
    """

    cluster: str | None = None

    def __init__(
        self, address: Address, offsets: Mapping[str, Any] | None = None, reset: str | None = None
    ) -> None:
        if reset not in RESETS:
            raise InputError(f"offset_reset={reset!r} must be one of {list(RESETS)}.")
        self.name, self.stream, self._reset = address.name, address.stream, reset
        self._next: dict[str, Any] = dict((offsets or {}).get("next", {}))
        self._given = offsets

    def fetch(self, n: int, wait: float) -> list[Message]:
        """Read messages.

        Parameters
        ----------
        n : int
            The maximum number of messages.
        wait : float
            How long to wait for them, in seconds.

        Returns
        -------
        list of Message
            The messages that arrived in that time; may be empty.
        """
        raise NotImplementedError

    @property
    def offsets(self) -> dict[str, Any]:
        """Where the next message will be read, as values that JSON can hold; to be stored with the rows."""
        return {"source": self.name, "cluster": self.cluster, "next": dict(self._next)}

    def is_after(self, message: Message, offsets: Mapping[str, Any] | None) -> bool:
        """Whether a message was not yet read by a consumer with these offsets.

        Parameters
        ----------
        message : Message
            The message.
        offsets : mapping or None
            The value of `offsets` of that consumer; None if it has read nothing.

        Returns
        -------
        bool
            Whether it was not read.
        """
        raise NotImplementedError

    def furthest(self, offsets: Mapping[str, Any], known: Mapping[str, Any] | None) -> dict[str, Any]:
        """Join offsets of this consumer with those of a reader that may have read further in some partitions.

        Parameters
        ----------
        offsets : mapping
            A value of `offsets`.
        known : mapping or None
            The value of `offsets` that the reader stored last; None if it has read nothing.

        Returns
        -------
        dict
            The offsets, in no partition before the known ones.
        """
        places = dict(offsets["next"])
        for name, place in (known or {}).get("next", {}).items():
            if self._is_valid(name, known):
                places[name] = max(place, places.get(name, place), key=_order_of)
        return {**offsets, "next": places}

    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_valid(self, partition: str, offsets: Mapping[str, Any] | None) -> bool:
        """Whether stored offsets mean anything in this partition: it may have been made again since."""
        raise NotImplementedError

    def _check_same(self, is_same: bool) -> None:
        """Refuse offsets of another topic or stream: they mean nothing here."""
        if self._given is not None and not is_same:
            raise InputError(
                f"The store was fed from {self._given.get('source')}, not from {self.name}: its offsets mean "
                "nothing there.",
                code="other_topic",
                remedy="Use a store of its own for each topic or stream.",
            )

    def _gone(self, what: str) -> BrokerError:
        return BrokerError(
            f"{what} of {self.name}: they were removed before they were read.",
            code="messages_gone",
            remedy='To go on without them, pass offset_reset="earliest", or "latest" to go on with the next '
            "message that arrives.",
        )


class Publisher:
    """Publishes JSON objects to a topic or a stream.

    Attributes
    ----------
    name : str
        The address, without anything secret.
    """

    name: str

    def publish(self, messages: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Publish messages; when it returns, the broker has them all.

        Parameters
        ----------
        messages : sequence of (str, mapping)
            The key of each message, and its value: what JSON can hold.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""

    def __enter__(self) -> "Publisher":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def oldest(offsets: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """The offsets from which several readers of one topic or stream can all go on.

    Parameters
    ----------
    offsets : sequence of mapping or None
        The `Consumer.offsets` of each reader; None if it has read nothing.

    Returns
    -------
    dict or None
        For each partition the first of their offsets; None if a reader has read nothing. If some have read a
        topic that was made again since, and others have not, it is that of none of them.
    """
    known = [found for found in offsets if found is not None]
    if not known or len(known) < len(offsets):
        return None
    shared = set(known[0]["next"]).intersection(*(found["next"] for found in known))
    first = {name: min((found["next"][name] for found in known), key=_order_of) for name in sorted(shared)}
    topics = {found["topic_id"] for found in known if found.get("topic_id") is not None}  # not all know it
    one = {} if not topics else {"topic_id": topics.pop() if len(topics) == 1 else SEVERAL}
    return {**known[0], "next": first} | one


def _order_of(offset: Any) -> tuple[int, int]:
    return order(offset) if isinstance(offset, str) else (int(offset), 0)


def order(entry: str) -> tuple[int, int]:
    """The id of a Redis entry, as numbers that can be compared."""
    milliseconds, _, place = entry.partition("-")
    return int(milliseconds), int(place or 0)


def as_json(value: Mapping[str, Any]) -> str:
    """The text of a message; scalars of NumPy are numbers."""
    return json.dumps(value, ensure_ascii=False, default=lambda item: getattr(item, "item", item.__str__)())


def needs(package: str, extra: str) -> ImportError:
    """The error if the client library of a broker is not installed."""
    return ModuleNotFoundError(
        f'{package} is not installed: pip install "everlearn[{extra}]".', name=package.replace("-", "_")
    )
