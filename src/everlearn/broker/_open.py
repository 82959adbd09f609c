"""Open the consumer or the publisher of an address."""

from collections.abc import Mapping
from typing import Any

from ._address import Address
from ._messages import Consumer, Publisher


def open_consumer(
    url: str, *, offsets: Mapping[str, Any] | None = None, offset_reset: str | None = None
) -> Consumer:
    """Open a topic or a stream for reading.

    Parameters
    ----------
    url : str
        The address: ``kafka://host:port/topic``, ``redis://host:port/stream`` or ``rediss://`` for TLS, with
        ``user:password@`` before the host if needed. For Kafka, settings of librdkafka may follow as in
        ``?security.protocol=SASL_SSL&sasl.mechanism=PLAIN``; for Redis, ``?db=1``.
    offsets : mapping, default=None
        Where to go on; see `Consumer.offsets`. None starts at the oldest message.
    offset_reset : {None, "earliest", "latest"}, default=None
        What to do if messages that should come next are gone; see `Consumer`.

    Returns
    -------
    Consumer
        The consumer, a context manager that closes the connection.
    """
    address = Address.parse(url)
    if address.scheme == "kafka":
        from ._kafka import KafkaConsumer

        return KafkaConsumer(address, offsets, offset_reset)
    from ._redis import RedisConsumer

    return RedisConsumer(address, offsets, offset_reset)


def open_publisher(url: str) -> Publisher:
    """Open a topic or a stream for publishing.

    Parameters
    ----------
    url : str
        The address; see `open_consumer`.

    Returns
    -------
    Publisher
        The publisher, a context manager that closes the connection.
    """
    address = Address.parse(url)
    if address.scheme == "kafka":
        from ._kafka import KafkaPublisher

        return KafkaPublisher(address)
    from ._redis import RedisPublisher

    return RedisPublisher(address)
