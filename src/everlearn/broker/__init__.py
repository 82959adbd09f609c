"""Brokers: read messages from Kafka topics and Redis streams from given offsets on, and publish to them."""

from ._address import Address, is_broker
from ._messages import Consumer, Message, Publisher, oldest
from ._open import open_consumer, open_publisher

__all__ = [
    "Address",
    "Consumer",
    "Message",
    "Publisher",
    "is_broker",
    "oldest",
    "open_consumer",
    "open_publisher",
]
