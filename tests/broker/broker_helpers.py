"""Topics and streams with rows, on either kind of broker."""

import contextlib
import itertools
import json
import random
import socket
import threading

import confluent_kafka as ck
import redis
from confluent_kafka.admin import AdminClient, NewTopic

from servers import free_port, running

NAMES = itertools.count()


def new_name(stem="rows"):
    return f"{stem}{next(NAMES)}"


class Topic:
    """A topic or a stream of a server, to which tests add messages."""

    def __init__(self, server, name=None, partitions=2):
        self.server, self.name = server, name or new_name()
        self.url = f"{server.url}/{self.name}"
        self._kafka, self._partitions = server.kind == "kafka", partitions
        if self._kafka:
            self._admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}", "log_level": 0})
            self._create()
            self.client = producer(server.port)
        else:
            self.client = redis.Redis(port=server.port)

    def _create(self):
        self._admin.create_topics([NewTopic(self.name, self._partitions)])[self.name].result()

    def delete(self):
        """Delete it with its messages."""
        if self._kafka:
            self._admin.delete_topics([self.name])[self.name].result()
        else:
            self.client.delete(self.name)

    def make_again(self):
        """Delete it, and make another one of the same name; in Redis, the first entry makes it."""
        self.delete()
        if self._kafka:
            self._create()

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
        """All messages, in the order of the stream or of each partition."""
        if self._kafka:
            return [
                json.loads(text) for text in read_partitions(self.server.port, self.name, self._partitions)
            ]
        return [json.loads(fields[b"json"]) for _, fields in self.client.xrange(self.name)]


def producer(port):
    """A producer that adds no message twice, also when it repeats a request."""
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0, "linger.ms": 1}
    return ck.Producer(settings | {"enable.idempotence": "true"})


def read_partitions(port, name, partitions):
    """The messages of a topic, by a consumer that has nothing of ours."""
    client = ck.Consumer(
        {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "reader", "enable.partition.eof": "true"}
    )
    found, ended = [], set()
    try:
        client.assign([ck.TopicPartition(name, number, 0) for number in range(partitions)])
        while len(ended) < partitions:
            message = client.poll(20)
            assert message is not None, f"{name} does not end"
            if message.error() is None:
                found.append(message.value())
            else:
                assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
                ended.add(message.partition())
    finally:
        client.close()
    return found


class Line:
    """A line to a server, by which everything goes; it can be cut, and mended."""

    def __init__(self):
        self.port, self._server, self._sockets, self._listener = free_port(), None, [], None

    def lead_to(self, port):
        self._server = port
        self.mend()

    def mend(self):
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self):
        for found in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)
            found.close()
        self._sockets = []

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                self._sockets += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)


class Remote:
    """A broker behind a line."""

    def __init__(self, kind, line):
        self.kind, self.port, self.line = kind, line.port, line
        self.url = f"{kind}://127.0.0.1:{line.port}"


@contextlib.contextmanager
def remote(kind):
    """A broker that can be cut off; it keeps its messages meanwhile."""
    line = Line()
    with running(kind, reached_at=line.port) as server:
        line.lead_to(server.port)
        try:
            yield Remote(kind, line)
        finally:
            line.cut()


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
