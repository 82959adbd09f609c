"""Consumers of a Redis server and of a Kafka-compatible broker: where they go on, and what they refuse."""

import json
import subprocess
import sys
import time
import warnings

import pytest
import redis

from broker.broker_helpers import Topic, mock_cluster, new_name, remote, rows
from everlearn.broker import oldest, open_consumer, open_publisher
from everlearn.broker._kafka import KafkaConsumer
from everlearn.errors import BrokerError, InputError
from servers import NoBrokerError, free_port, running


@pytest.fixture(params=["redis", "kafka"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


def numbers(messages):
    return [json.loads(message.value)["n"] for message in messages]


def read_all(consumer, n, seconds=20.0):
    """Read n messages, in several fetches."""
    found, end = [], time.monotonic() + seconds
    while len(found) < n and time.monotonic() < end:
        found += consumer.fetch(7, 0.5)
    return found


def test_goes_on_at_any_offset(server):
    topic = Topic(server)
    topic.add(*rows(50))
    with open_consumer(topic.url) as consumer:
        first = read_all(consumer, 20)
        offsets = consumer.offsets
    topic.add(*rows(10, first=50))
    with open_consumer(topic.url, offsets=offsets) as consumer:
        rest = read_all(consumer, 60 - len(first))
        assert [consumer.is_after(message, offsets) for message in first] == [False] * len(first)
        assert [consumer.is_after(message, offsets) for message in rest] == [True] * len(rest)
        assert consumer.is_after(first[0], None)
        later = consumer.offsets
        assert consumer.furthest(offsets, later)["next"] == later["next"] != offsets["next"]
        assert consumer.furthest(later, offsets) == consumer.furthest(later, None) == later
    assert sorted(numbers(first + rest)) == list(range(60))
    by_partition = {}
    for message in first + rest:
        by_partition.setdefault(message.partition, []).append(message.offset)
    if server.kind == "kafka":
        assert all(found == list(range(len(found))) for found in by_partition.values())
        assert len(by_partition) == 2
    else:
        assert numbers(first + rest) == list(range(60))


def test_latest_skips_what_is_there(redis_server):
    topic = Topic(redis_server)
    topic.add(*rows(5))
    with open_consumer(topic.url, offset_reset="latest") as consumer:
        assert consumer.fetch(10, 0.1) == []
        topic.add(*rows(3, first=5))
        assert numbers(read_all(consumer, 3)) == [5, 6, 7]


def test_offsets_of_another_topic_are_refused(server):
    topic, other = Topic(server), Topic(server)
    for each in (topic, other):
        each.add(*rows(3))
    with open_consumer(topic.url) as consumer:
        read_all(consumer, 3)
        offsets = consumer.offsets
    with pytest.raises(InputError, match=f"was fed from .*{topic.name}, not from .*{other.name}"):
        open_consumer(other.url, offsets=offsets)


def test_an_unknown_topic_is_refused(server):
    Topic(server).add(*rows(1))
    with pytest.raises(BrokerError, match=r"no (topic|stream) 'nobody'") as caught:
        open_consumer(f"{server.url}/nobody")
    assert caught.value.code == "no_topic"


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_a_broker_that_is_down_is_an_error(kind, monkeypatch):
    monkeypatch.setattr("everlearn.broker._kafka._TIMEOUT", 1.0)
    plain = "?security.protocol=PLAINTEXT"
    for opens in (open_consumer, open_publisher):
        with pytest.raises(BrokerError, match="cannot be reached") as caught:
            opens(f"{kind}://me:geheim@127.0.0.1:{free_port()}/rows" + plain * (kind == "kafka"))
        assert caught.value.code == "broker_down"
        assert "geheim" not in str(caught.value)


def test_an_unknown_setting_of_kafka_is_an_error():
    with pytest.raises(BrokerError, match=r"cannot be opened.*no\.such\.thing"):
        open_consumer("kafka://127.0.0.1:1/rows?no.such.thing=1")


def test_published_messages_are_read(server):
    topic = Topic(server)
    with open_publisher(topic.url) as publisher:
        publisher.publish([(str(n), {"n": n, "text": "é"}) for n in range(30)])
    with open_consumer(topic.url) as consumer:
        found = read_all(consumer, 30)
    assert sorted(numbers(found)) == list(range(30))
    if server.kind == "kafka":
        assert sorted(int(message.key) for message in found) == list(range(30))


# ------------------------------------------------------------------------------------ what happens to brokers


def first_warning(consumer, seconds=20.0):
    """Read nothing until there is a warning; its text."""
    end = time.monotonic() + seconds
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        while not given and time.monotonic() < end:
            assert consumer.fetch(5, 0.5) == []
    return "".join(str(each.message) for each in given)


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_a_broker_that_is_cut_off_is_waited_for(kind):
    try:
        with remote(kind) as server:
            topic = Topic(server)
            topic.add(*rows(40))
            with open_consumer(topic.url) as consumer:
                found = read_all(consumer, 40)
                server.line.cut()
                assert "cannot be reached" in first_warning(consumer)
                server.line.mend()
                topic.add(*rows(20, first=40))
                found += read_all(consumer, 20)
    except NoBrokerError as error:
        pytest.skip(f"no broker: {kind}: {error}")
    assert sorted(numbers(found)) == list(range(60))


SLOW_READER = """
import sys, time
import psutil
from everlearn.broker import open_consumer

process = psutil.Process()
with open_consumer(sys.argv[1]) as consumer:
    before = process.memory_info().rss
    while not consumer.fetch(1, 0.5):
        pass
    time.sleep(2.0)  # what is read ahead comes meanwhile
    print(process.memory_info().rss - before)
"""


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_what_is_not_read_stays_at_the_broker(kind):
    try:
        with running(kind) as server:  # of its own: 100 MB would slow down the one of the other tests
            topic = Topic(server, partitions=1)
            for _ in range(10):
                topic.add(*[{"n": n, "x": "x" * 100_000} for n in range(100)])
            command = [sys.executable, "-c", SLOW_READER, topic.url]
            said = subprocess.run(command, capture_output=True, check=True).stdout
    except NoBrokerError as error:
        pytest.skip(f"no broker: {kind}: {error}")
    assert int(said) < 40e6


def test_readers_some_of_which_do_not_know_the_id_of_the_topic_go_on_together(kafka_server):
    topic = Topic(kafka_server, partitions=1)
    topic.add(*rows(10))
    with open_consumer(topic.url) as consumer:
        known = consumer.offsets | {"next": {"0": 7}}
    for unknown in (
        known | {"topic_id": None},
        {name: known[name] for name in ("source", "cluster", "next")},
    ):
        for pair in ((known, unknown), (unknown, known)):
            shared = oldest(pair)
            with open_consumer(topic.url, offsets=shared) as consumer:
                assert numbers(read_all(consumer, 3)) == [7, 8, 9]
                assert consumer.offsets["topic_id"] == known["topic_id"]


@pytest.mark.parametrize("more", [3, 300])
def test_a_topic_that_was_made_again_is_an_error(server, more):
    """Even if it is longer by now than it was: its first messages would be left out."""
    topic = Topic(server)
    topic.add(*rows(60))
    with open_consumer(topic.url) as consumer:
        read_all(consumer, 60)
        offsets = consumer.offsets
    topic.make_again()
    topic.add(*rows(more))
    if server.kind == "redis":  # its ids are times: that the last one is gone is seen with the first new one
        with (
            open_consumer(topic.url, offsets=offsets) as consumer,
            pytest.raises(BrokerError, match="removed"),
        ):
            read_all(consumer, 1)
    else:
        with pytest.raises(BrokerError, match="deleted and made again") as caught:
            open_consumer(topic.url, offsets=offsets)
        assert caught.value.code == "made_again"
    with open_consumer(topic.url, offsets=offsets, offset_reset="earliest") as consumer:
        found = read_all(consumer, more)
        assert sorted(numbers(found)) == list(range(more))
        assert all(consumer.is_after(message, offsets) for message in found)
        assert consumer.furthest(consumer.offsets, offsets) == consumer.offsets  # those of another topic
        offsets = consumer.offsets
        assert not any(consumer.is_after(message, offsets) for message in found)
    with open_consumer(topic.url, offsets=offsets) as consumer:
        assert consumer.fetch(5, 0.2) == []


# ------------------------------------------------------------------------------------------------------ Redis


def test_redis_refuses_a_wrong_password_without_showing_it():
    try:
        with running("redis", "--requirepass", "right") as server:
            with pytest.raises(BrokerError, match="refuses the login") as caught:
                open_consumer(f"redis://:geheim@127.0.0.1:{server.port}/rows")
            assert "geheim" not in str(caught.value)
            redis.Redis(port=server.port, password="right").xadd("rows", {"a": 1})
            with open_consumer(f"redis://:right@127.0.0.1:{server.port}/rows") as consumer:
                assert len(consumer.fetch(5, 1)) == 1
                assert "right" not in str(consumer.offsets)
    except NoBrokerError as error:
        pytest.skip(f"no broker: redis: {error}")


def test_what_is_not_a_stream_is_refused(redis_server):
    topic = Topic(redis_server)
    topic.client.set(topic.name, "text")
    with pytest.raises(BrokerError, match="is a string, not a stream"):
        open_consumer(topic.url)


def read_and_trim(topic, keep):
    """Read 10 of 30 entries, keep the last ones only; the offsets behind the 10."""
    topic.add(*rows(30))
    with open_consumer(topic.url) as consumer:
        assert numbers(consumer.fetch(10, 1)) == list(range(10))
        offsets = consumer.offsets
    topic.client.xtrim(topic.name, maxlen=keep, approximate=False)
    return offsets


def test_a_stream_that_was_trimmed_before_it_was_read_is_an_error(redis_server):
    topic = Topic(redis_server)
    offsets = read_and_trim(topic, keep=15)
    with (
        open_consumer(topic.url, offsets=offsets) as consumer,
        pytest.raises(BrokerError, match="removed before they were read") as caught,
    ):
        consumer.fetch(10, 1)
    assert caught.value.code == "messages_gone"
    with open_consumer(topic.url, offsets=offsets, offset_reset="earliest") as consumer:
        assert numbers(consumer.fetch(100, 1)) == list(range(15, 30))
    with open_consumer(topic.url, offsets=offsets, offset_reset="latest") as consumer:
        assert consumer.fetch(100, 0.1) == []
        topic.add(*rows(2, first=30))
        assert numbers(consumer.fetch(100, 1)) == [30, 31]


def test_a_stream_that_was_trimmed_as_far_as_it_was_read_goes_on(redis_server):
    topic = Topic(redis_server)
    offsets = read_and_trim(topic, keep=21)
    with open_consumer(topic.url, offsets=offsets) as consumer:
        assert numbers(consumer.fetch(100, 1)) == list(range(10, 30))


def test_a_deleted_entry_is_no_gap(redis_server):
    topic = Topic(redis_server)
    topic.add(*rows(30))
    with open_consumer(topic.url) as consumer:
        consumer.fetch(10, 1)
        topic.client.xdel(topic.name, consumer.offsets["next"][""])
        assert numbers(consumer.fetch(100, 1)) == list(range(10, 30))


def test_a_stream_that_was_made_again_is_an_error(redis_server):
    topic = Topic(redis_server)
    topic.client.xadd(topic.name, {"json": '{"n": 0}'}, id="9999999999999-0")
    with open_consumer(topic.url) as consumer:
        consumer.fetch(10, 1)
        offsets = consumer.offsets
    topic.client.delete(topic.name)
    topic.add(*rows(3))
    with pytest.raises(BrokerError, match="deleted and made again"):
        open_consumer(topic.url, offsets=offsets)
    with open_consumer(topic.url, offsets=offsets, offset_reset="earliest") as consumer:
        found = consumer.fetch(10, 1)
        assert numbers(found) == [0, 1, 2]
        assert all(consumer.is_after(message, offsets) for message in found)  # though their ids are lower


def test_a_server_that_is_restarted_is_waited_for():
    try:
        with running("redis") as server:
            topic = Topic(server)
            topic.add(*rows(5))
            with open_consumer(topic.url) as consumer:
                assert numbers(consumer.fetch(5, 1)) == list(range(5))
                server.stop()
                with pytest.warns(UserWarning, match="cannot be reached"):
                    assert consumer.fetch(5, 0.3) == []
                server.start()
                topic.add(*rows(2, first=5))
                assert numbers(read_all(consumer, 2)) == [5, 6]
    except NoBrokerError as error:
        pytest.skip(f"no broker: redis: {error}")


# ------------------------------------------------------------------------------------------------------ Kafka


def test_a_new_partition_is_found(kafka_server, monkeypatch):
    topic = Topic(kafka_server, partitions=2)
    topic.add(*rows(40))
    look = KafkaConsumer._topic
    one = type("", (), {"partitions": {0: None}})()
    with monkeypatch.context() as patch:  # when it is opened, there is one partition
        patch.setattr(KafkaConsumer, "_topic", lambda self: (look(self), one)[1])
        consumer = open_consumer(topic.url)
    with consumer:
        first = [message for _ in range(4) for message in consumer.fetch(10, 0.2)]
        assert {message.partition for message in first} == {"0"}
        monkeypatch.setattr("everlearn.broker._kafka._METADATA_SECONDS", 0.0)
        assert sorted(numbers(first + read_all(consumer, 40 - len(first)))) == list(range(40))


def test_a_topic_that_is_deleted_while_it_is_read_is_an_error(kafka_server, monkeypatch):
    topic = Topic(kafka_server)
    topic.add(*rows(10))
    with open_consumer(topic.url) as consumer:
        read_all(consumer, 10)
        # librdkafka 2.16 crashes on Tansu's answer to a request for messages of a deleted topic: send none.
        consumer._kafka.pause(consumer._kafka.assignment())
        time.sleep(1.0)
        topic.delete()
        assert consumer.fetch(5, 0.1) == []
        monkeypatch.setattr("everlearn.broker._kafka._METADATA_SECONDS", 0.0)
        with pytest.raises(BrokerError, match=f"no topic '{topic.name}'"):
            consumer.fetch(5, 0.1)
        topic._create()
        with pytest.raises(BrokerError, match="deleted and made again"):
            consumer.fetch(5, 0.1)


@pytest.fixture
def no_ids(monkeypatch):
    """The mock cluster does not say what topics are called: do not wait for it."""
    monkeypatch.setattr("everlearn.broker._kafka._ID_TIMEOUT", 0.1)


def mock_topic(client, n, size):
    """A topic of the mock cluster with n messages of a size in one partition."""
    name = new_name("mock")
    for number in range(n):
        client.produce(name, b'{"n": %d, "x": "%s"}' % (number, b"x" * size), partition=0)
        if number % 500 == 0:
            client.flush(10)
    assert client.flush(20) == 0
    return name


def test_a_truncated_topic_is_an_error(no_ids):
    """Against the mock cluster of librdkafka, which drops messages above 5 MB; Tansu cannot truncate."""
    with mock_cluster() as (port, client):
        name = mock_topic(client, 8000, 1000)
        url = f"kafka://127.0.0.1:{port}/{name}"
        with open_consumer(url, offset_reset="earliest") as consumer:
            message = next(m for _ in range(50) for m in consumer.fetch(1, 1))
            low, cluster = message.offset, consumer.cluster
        assert low > 0
        offsets = {"source": url, "cluster": cluster, "next": {"0": 5}}
        with pytest.raises(BrokerError, match=f"Offsets 5 to {low - 1} of partition 0.*removed"):
            open_consumer(url, offsets=offsets)
        with open_consumer(url, offsets=offsets, offset_reset="earliest") as consumer:
            assert numbers(read_all(consumer, 1))[0] == low
        with open_consumer(url, offsets=offsets, offset_reset="latest") as consumer:
            assert consumer.offsets["next"]["0"] == 8000


def test_offsets_beyond_the_end_are_an_error(no_ids):
    """A topic that was deleted and made again; against the mock cluster of librdkafka."""
    with mock_cluster() as (port, client):
        name = mock_topic(client, 10, 10)
        url = f"kafka://127.0.0.1:{port}/{name}"
        with open_consumer(url) as consumer:
            cluster = consumer.cluster
        offsets = {"source": url, "cluster": cluster, "next": {"0": 500}}
        with (
            open_consumer(url, offsets=offsets) as consumer,
            pytest.raises(BrokerError, match="Offset 500 of partition 0"),
        ):
            read_all(consumer, 1, seconds=10)
        with open_consumer(url, offsets=offsets, offset_reset="earliest") as consumer:
            found = read_all(consumer, 10)
            assert numbers(found) == list(range(10))
            assert all(consumer.is_after(message, offsets) for message in found)
