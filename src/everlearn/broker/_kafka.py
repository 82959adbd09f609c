"""Kafka, with confluent-kafka (librdkafka).

All partitions of the topic are assigned to the consumer, without a consumer group: the offsets are in the
store, and who may write to a store is decided by its lock. After a failure, librdkafka
connects again by itself.
"""

import logging
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BrokerError
from ._address import Address
from ._messages import MADE_AGAIN_REMEDY, SEVERAL, Consumer, Message, Publisher, as_json, needs

try:
    import confluent_kafka as ck
    from confluent_kafka.admin import AdminClient
except ModuleNotFoundError as error:
    raise needs("confluent-kafka", "kafka") from error

_LOGGER = logging.getLogger("everlearn.broker")
_LOGGER.addHandler(
    logging.NullHandler()
)  # librdkafka's lines are for who asks for them, not for the terminal
_TIMEOUT = 10.0  # seconds for one question to the broker
_ID_TIMEOUT = 5.0  # seconds for the id of the topic, which not every broker knows
_METADATA_SECONDS = 30.0  # how often new partitions are looked for
_DELIVERY_MS = 30_000
_SHOWN_TOPICS = 10
_NO_ID = "A" * 22  # zero: the id of topics of brokers that give none
_CONSUMER = {
    "group.id": "everlearn",  # required, but nobody joins it
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "auto.offset.reset": "error",
    "allow.auto.create.topics": "false",
    # Back-pressure: librdkafka fetches no more than this ahead of the learner.
    "queued.min.messages": "20000",
    "queued.max.messages.kbytes": "16384",
    "fetch.max.bytes": "8388608",
}
_GONE = (ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE)
_REFUSED = (
    ck.KafkaError._AUTHENTICATION,
    ck.KafkaError.SASL_AUTHENTICATION_FAILED,
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED,
    ck.KafkaError.UNKNOWN_TOPIC_OR_PART,
)


def _settings(address: Address) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap.servers": address.server}
    if address.user is not None:
        found |= {"sasl.username": address.user, "sasl.password": address.password or ""}
        found |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
    return found | dict(address.options)


def _make(kind: Any, settings: dict[str, Any], name: str) -> Any:
    try:
        return kind(settings, logger=_LOGGER)
    except ck.KafkaException as error:  # a setting that librdkafka does not know
        raise BrokerError(f"{name} cannot be opened: {error.args[0].str()}.", code="bad_address") from None


def _words(error: Any) -> str:
    """What librdkafka says about an error."""
    found = error.args[0] if isinstance(error, ck.KafkaException) else error
    return str(found.str()).rstrip(".") if isinstance(found, ck.KafkaError) else str(found)


def _another(topic_id: str | None, other: str | None) -> bool:
    """Whether two ids are known, and are of different topics."""
    return topic_id is not None and other is not None and topic_id != other


class KafkaConsumer(Consumer):
    """Reads all partitions of a topic."""

    def __init__(
        self, address: Address, offsets: Mapping[str, Any] | None = None, reset: str | None = None
    ) -> None:
        super().__init__(address, offsets, reset)
        # What the callback was told since the last message: the last failure, and whether no broker is left.
        self._failure, self._down, self._warned = "", False, False
        self._restarted: set[str] = set()  # partitions whose offsets meant nothing any more
        settings = _CONSUMER | _settings(address) | {"error_cb": self._note}
        self._kafka = _make(ck.Consumer, settings, self.name)
        try:
            topic = self._topic()
            self._admin = _make(AdminClient, _settings(address), self.name)
            before = (offsets or {}).get("topic_id")
            # A broker that does not answer in time tells nothing new.
            self.topic_id = self._topic_id() or (None if before == SEVERAL else before)
            self._check_same(self._is_same())
            self._partitions: set[int] = set()
            if _another(self.topic_id, before):
                if reset is None:
                    raise self._made_again()
                self._restarted.update(self._next)
                self._next.clear()
            self._assign(sorted(topic.partitions), first=offsets is None or bool(self._restarted))
        except BaseException:
            self._kafka.close()
            raise

    def fetch(self, n: int, wait: float) -> list[Message]:
        """Read up to n messages in up to ``wait`` seconds."""
        if time.monotonic() - self._looked > _METADATA_SECONDS:
            self._look_for_partitions()
        found = []
        for message in self._kafka.consume(n, timeout=wait):
            error = message.error()
            if error is not None:
                self._handle(error, message.partition())
                continue
            partition, offset, key = str(message.partition()), message.offset(), message.key()
            text = None if key is None else key.decode("utf-8", "surrogateescape")
            found.append(Message(message.value(), text, partition, offset))
            self._next[partition] = offset + 1
        if found:
            self._failure, self._down, self._warned = "", False, False
        elif self._down and not self._warned:
            warnings.warn(f"{self.name} cannot be reached ({self._failure}): trying again.", stacklevel=2)
            self._warned = True
        return found

    def is_after(self, message: Message, offsets: Mapping[str, Any] | None) -> bool:
        """Whether the offset of a message is not before that of its partition."""
        if not self._is_valid(message.partition, offsets):
            return True
        return bool(message.offset >= (offsets or {}).get("next", {}).get(message.partition, 0))

    @property
    def offsets(self) -> dict[str, Any]:
        """Where the next message will be read, and in which topic: one that was made again has another id."""
        return super().offsets | {"topic_id": self.topic_id}

    def close(self) -> None:
        """Close the connection."""
        self._kafka.close()

    # ------------------------------------------------------------------------------------------------ private

    def _is_valid(self, partition: str, offsets: Mapping[str, Any] | None) -> bool:
        topic_id = (offsets or {}).get("topic_id")
        made_again = partition in self._restarted and topic_id is None
        return not made_again and not _another(self.topic_id, topic_id)

    def _note(self, error: Any) -> None:
        self._failure = _words(error)
        self._down |= error.code() == ck.KafkaError._ALL_BROKERS_DOWN

    def _topic_id(self) -> str | None:
        """What the broker calls this topic, until it is deleted; None from brokers that do not say."""
        names = ck.TopicCollection([self.stream])
        try:
            found = self._admin.describe_topics(names, request_timeout=_ID_TIMEOUT)[self.stream].result()
        except ck.KafkaException:
            return None
        topic_id = str(found.topic_id or _NO_ID)
        return None if topic_id == _NO_ID else topic_id

    def _made_again(self) -> BrokerError:
        return BrokerError(
            f"The topic {self.name} was deleted and made again: the offsets so far mean nothing there.",
            code="made_again",
            remedy=MADE_AGAIN_REMEDY,
        )

    def _is_same(self) -> bool:
        """The same topic of the same cluster, by whatever host it is reached."""
        given = self._given or {}
        same_cluster = self.cluster is not None and given.get("cluster") == self.cluster
        topic = str(given.get("source", "")).rpartition("/")[2]
        return given.get("source") == self.name or (same_cluster and topic == self.stream)

    def _topic(self) -> Any:
        """What the broker says about the topic."""
        try:
            metadata = self._kafka.list_topics(self.stream, timeout=_TIMEOUT)
        except ck.KafkaException as error:
            self._kafka.poll(0)  # the reason comes by the callback
            why = self._failure or _words(error)
            raise BrokerError(
                f"{self.name} cannot be reached: {why}.",
                code="broker_down",
                remedy="Is the broker running, and are host, port and login correct?",
            ) from None
        self._looked, self.cluster = time.monotonic(), metadata.cluster_id
        topic = metadata.topics[self.stream]
        if topic.error is not None or not topic.partitions:
            names = sorted(self._kafka.list_topics(timeout=_TIMEOUT).topics)
            there = [name for name in names if not name.startswith("__")][:_SHOWN_TOPICS]
            raise BrokerError(
                f"The broker has no topic {self.stream!r}"
                + (f" ({topic.error.str()})" if topic.error is not None else "")
                + (f"; it has {there}." if there else "."),
                code="no_topic",
                remedy="Correct the name, or create the topic.",
            )
        return topic

    def _look_for_partitions(self) -> None:
        """Assign partitions that the topic has got since; a broker that is down is asked again later.

        A topic that was deleted is silent: nothing else would say so.
        """
        self._admin.poll(0)  # what it has to say would pile up
        try:
            topic = self._topic()
            if _another(self._topic_id(), self.topic_id):
                raise self._made_again()
            self._assign(sorted(topic.partitions), first=False)
        except BrokerError as error:
            if error.code != "broker_down":
                raise
            self._looked = time.monotonic()

    def _assign(self, partitions: list[int], first: bool) -> None:
        """Start to read partitions at their offsets; a new partition at its oldest message."""
        new = [number for number in partitions if number not in self._partitions]
        starts = [ck.TopicPartition(self.stream, number, self._start(number, first)) for number in new]
        if starts:
            self._kafka.incremental_assign(starts)
        self._partitions |= set(new)

    def _start(self, number: int, first: bool) -> int:
        try:
            low, high = self._kafka.get_watermark_offsets(
                ck.TopicPartition(self.stream, number), timeout=_TIMEOUT
            )
        except ck.KafkaException as error:
            raise BrokerError(
                f"{self.name} does not say what partition {number} has: {_words(error)}.", code="broker_down"
            ) from None
        wanted = self._next.get(str(number))
        if wanted is None:
            start = high if first and self._reset == "latest" else low
        elif wanted < low and self._reset is None:
            raise self._gone(f"Offsets {wanted} to {low - 1} of partition {number}")
        else:
            start = wanted if wanted >= low else (high if self._reset == "latest" else low)
        self._next[str(number)] = start
        return int(start)

    def _handle(self, error: Any, partition: int) -> None:
        """An offset that is out of range is an error, or reset; a refusal is an error; others pass."""
        code = error.code()
        if code in _GONE:
            number = str(partition)
            if self._reset is None:
                raise self._gone(f"Offset {self._next.get(number)} of partition {partition}")
            low, high = self._kafka.get_watermark_offsets(
                ck.TopicPartition(self.stream, partition), timeout=_TIMEOUT
            )
            self._restarted.add(number)
            self._next[number] = high if self._reset == "latest" else low
            place = ck.TopicPartition(self.stream, partition, self._next[number])
            self._kafka.incremental_unassign([place])  # a partition that has failed cannot be sought in
            self._kafka.incremental_assign([place])
        elif code in _REFUSED:
            raise BrokerError(f"{self.name} cannot be read: {_words(error)}.", code="broker_refused")


class KafkaPublisher(Publisher):
    """Publishes to a topic; it is idempotent, so that a repeated request makes no second message."""

    def __init__(self, address: Address) -> None:
        self.name, self._topic = address.name, address.stream
        settings = {"enable.idempotence": "true", "delivery.timeout.ms": _DELIVERY_MS}
        settings |= _settings(address) | {"linger.ms": "5"}
        self._kafka = _make(ck.Producer, settings, self.name)
        try:
            self._kafka.list_topics(self._topic, timeout=_TIMEOUT)
        except ck.KafkaException as error:
            raise BrokerError(
                f"{self.name} cannot be reached: {_words(error)}.",
                code="broker_down",
                remedy="Is the broker running, and are host, port and login correct?",
            ) from None

    def publish(self, messages: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Publish messages, and wait until the broker has them."""
        failures: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(error)

        for key, value in messages:
            text = as_json(value)
            while True:
                try:
                    self._kafka.produce(self._topic, text, key=key, on_delivery=delivered)
                    break
                except BufferError:  # the queue is full
                    self._kafka.poll(0.1)
        left = self._kafka.flush(_DELIVERY_MS / 1000 + 1)
        if failures or left:
            why = _words(failures[0]) if failures else "no answer"
            raise BrokerError(f"{self.name} did not take {len(failures) + left} messages: {why}.")
