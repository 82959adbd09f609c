"""Topics and streams with rows, on either kind of broker."""

import contextlib
import itertools
import json
import random

import confluent_kafka as ck
import redis
from confluent_kafka.admin import AdminClient, NewTopic

NAMES = itertools.count()


def new_name(stem="rows"):
    return f"{stem}{next(NAMES)}"


class Topic:
    """A topic or a stream of a server, to which tests add messages."""

    def __init__(self, server, name=None, partitions=2):
        self.server, self.name = server, name or new_name()
        self.url = f"{server.url}/{self.name}"
        self._kafka = server.kind == "kafka"
        if self._kafka:
            admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}", "log_level": 0})
            admin.create_topics([NewTopic(self.name, num_partitions=partitions)])[self.name].result()
            self.client = producer(server.port)
        else:
            self.client = redis.Redis(port=server.port)

    def add(self, *values):
        """Add messages: dicts as JSON, bytes as they are."""
        if self._kafka:
            for value in values:
                text = json.dumps(value) if isinstance(value, dict) else value
                key = str(value.get("n", "")) if isinstance(value, dict) else None
                self.client.produce(self.name, text, key=key)
            assert self.client.flush(20) == 0
            return
        with self.client.pipeline() as pipe:
            for value in values:
                text = json.dumps(value) if isinstance(value, dict) else value
                pipe.xadd(self.name, {"json": text})
            pipe.execute()

    def add_fields(self, **fields):
        """Add a Redis entry with these fields."""
        self.client.xadd(self.name, fields)

    def values(self):
        """All messages, in the order of the stream; Redis only."""
        return [json.loads(fields[b"json"]) for _, fields in self.client.xrange(self.name)]


def producer(port):
    return ck.Producer({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0, "linger.ms": 1})


@contextlib.contextmanager
def mock_cluster():
    """The mock cluster of librdkafka, which drops old messages by size: its port, and a producer."""
    client = ck.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = client.list_topics(timeout=10).brokers.values()
    yield broker.port, client


def rows(n, first=0, seed=0, labeled=True):
    """Rows with a number, two features and a label."""
    draw = random.Random(seed + first)
    found = []
    for number in range(first, first + n):
        a, b = draw.uniform(-1, 1), draw.uniform(-1, 1)
        row = {"n": number, "a": round(a, 4), "b": round(b, 4)}
        found.append(row | ({"label": int(a * b > 0)} if labeled else {}))
    return found
