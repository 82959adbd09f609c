"""`everlearn run --shards`: a topic that is split by a key into several stores."""

import json
import subprocess
import sys
import threading
from itertools import chain

import numpy as np
import onnxruntime
import pytest

from broker.broker_helpers import Topic, rows
from cli.cli_helpers import everlearn
from everlearn import NeverEndingLearner
from everlearn.stream import ShardedLearner

RUN = (
    "--batch-size",
    50,
    "--infer-rows",
    100,
    "--random-state",
    0,
    "--learner",
    "LASVM",
    "--param",
    "gamma=0.5",
)


@pytest.fixture(params=["redis", "kafka"])
def topic(request):
    return Topic(request.getfixturevalue(f"{request.param}_server"))


def customers(n, first=0, labeled=True):
    return [row | {"customer": f"c{row['n'] % 17}"} for row in rows(n, first=first, labeled=labeled)]


def run(topic, folder, *options, n=None, code=0):
    ends = (
        ["--idle", 0.3 if topic.server.kind == "redis" else 2] if n is None else ["--limit", n, "--idle", 30]
    )
    options = ["--kind", "customer=ignore", *options] if "--shards" in options else options
    return everlearn("run", topic.url, "--store", folder, *RUN, *ends, *options, code=code)


def numbers_in(folder):
    """The numbers of the rows of each shard."""
    with ShardedLearner.open(folder, read_only=True) as sharded:
        return {
            shard: learner.rows_by_number(range(learner.n_rows))[:, 0].astype(int).tolist()
            for shard, learner in sharded.learners.items()
        }


def check(folder, n):
    found = numbers_in(folder)
    assert sorted(chain.from_iterable(found.values())) == list(range(n))
    keys = {shard: {number % 17 for number in numbers} for shard, numbers in found.items()}
    assert sum(map(len, keys.values())) == 17  # each customer in one shard


def test_rows_are_split_by_a_field(topic, tmp_path):
    folder = tmp_path / "shards"
    topic.add(*customers(300))
    said = run(topic, folder, "--shards", 3, "--shard-by", "customer", n=300)
    assert "all" in said.stdout
    topic.add(*customers(60, first=300))
    run(topic, folder, n=60)  # the folder knows its shards and its key
    check(folder, 360)


def test_one_status_one_report_one_model(redis_server, tmp_path):
    topic, folder = Topic(redis_server), tmp_path / "shards"
    topic.add(*customers(300))
    run(topic, folder, "--shards", 2, "--shard-by", "customer")
    shown = everlearn("status", folder).stdout
    assert "2 shards" in shown
    found = json.loads(everlearn("status", folder, "--json").stdout)
    assert (found["rows"], found["shards"], len(found["stores"])) == (300, 2, 2)
    assert found["stores"][0]["offsets"] == found["stores"][1]["offsets"]
    everlearn("report", folder, "--out", tmp_path / "report.html")
    assert "2 shards, each with a model of its own" in (tmp_path / "report.html").read_text()
    everlearn("export", folder, tmp_path / "model.onnx")
    with ShardedLearner.open(folder, read_only=True) as sharded:
        X = np.concatenate([found.rows_by_number(range(50)) for found in sharded.learners.values()])
        expected = sharded.merged().decision_function(X)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert np.allclose(session.run(["scores"], {"X": X.astype(np.float32)})[0], expected, atol=1e-2)
    said = everlearn("ask", folder, code=2).stderr.replace("\n", " ")
    assert "folder of shards" in said
    assert "1 shard" not in everlearn("status", folder / "shard-0.everlearn").stdout
    with NeverEndingLearner.open(folder / "shard-1.everlearn") as alone:
        assert alone.records_of(["1:0"])["1:0"]["customer"].startswith("c")


def crash(topic, folder, monkeypatch, call):
    """A run in which one call of `step` fails; the others, in threads for other shards, do not."""
    step, left = NeverEndingLearner.step, [call]

    def fail(learner, *args, **options):
        left[0] -= 1
        if left[0] == 0:
            raise OSError("a crash")
        return step(learner, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(NeverEndingLearner, "step", fail)
        everlearn("run", topic.url, "--store", folder, *RUN, "--idle", 5, code=1)
    assert {len(found) for found in numbers_in(folder).values()} != {200}


def test_a_crash_between_shards_neither_loses_nor_doubles(topic, tmp_path, monkeypatch):
    folder = tmp_path / "shards"
    topic.add(*customers(200))
    run(topic, folder, "--shards", 3, "--shard-by", "customer", n=200)
    topic.add(*customers(150, first=200))
    for call in (2, 3):
        crash(topic, folder, monkeypatch, call)
    run(topic, folder)
    assert sorted(row["n"] for row in topic.values()) == list(range(350))  # the broker has them once
    check(folder, 350)


def test_a_shard_that_is_ahead_keeps_its_offsets(topic, tmp_path, monkeypatch):
    """While the source is behind it, for the shard that a crash left behind."""
    folder = tmp_path / "shards"
    topic.add(*customers(200))
    run(topic, folder, "--shards", 3, "--shard-by", "customer", n=200)
    topic.add(*customers(150, first=200))
    crash(topic, folder, monkeypatch, 2)
    everlearn("run", topic.url, "--store", folder, *RUN, "--batch-size", 5, "--limit", 3, "--idle", 5)
    run(topic, folder)
    check(folder, 350)


def test_a_topic_that_was_made_again_is_read_by_every_shard(kafka_server, tmp_path):
    """Also by one that a crash left with the offsets of the topic before, while others had gone on."""
    topic, folder = Topic(kafka_server), tmp_path / "shards"
    topic.add(*customers(200))
    run(topic, folder, "--shards", 2, "--shard-by", "customer", n=200)
    topic.make_again()
    topic.add(*customers(150, first=200))
    assert "was deleted and made again" in run(topic, folder, code=1).stderr.replace("\n", " ")
    run(topic, folder, "--shard", 0, "--offset-reset", "earliest", "--idle", 2)
    assert "was deleted and made again" in run(topic, folder, code=1).stderr.replace("\n", " ")
    run(topic, folder, "--offset-reset", "earliest")
    check(folder, 350)


def test_processes_may_feed_one_shard_each(redis_server, tmp_path):
    topic, folder = Topic(redis_server), tmp_path / "shards"
    topic.add(*customers(200))
    run(topic, folder, "--shards", 2, "--shard-by", "customer", n=1)
    topic.add(*customers(100, first=200))
    run(topic, folder, "--shard", 1)
    with ShardedLearner.open(folder, only=[1]):
        run(topic, folder, "--shard", 0)  # while another one has shard 1
        said = run(topic, folder, "--shard", 1, code=1).stderr.replace("\n", " ")
    assert "One process at a time feeds a store" in said
    check(folder, 300)


def test_two_at_the_same_time_agree_on_schema_and_scale(redis_server, tmp_path):
    topic, folder = Topic(redis_server), tmp_path / "shards"
    topic.add(*customers(400))
    options = ["--shards", "2", "--shard-by", "customer", "--kind", "customer=ignore"]

    def feed(shard):
        code = "import sys; from everlearn.cli import app; app(sys.argv[1:])"
        words = [
            "run",
            topic.url,
            "--store",
            folder,
            *RUN,
            "--idle",
            1,
            "--shard",
            shard,
            *options,
            "--quiet",
        ]
        subprocess.run([sys.executable, "-c", code, *map(str, words)], check=True)

    threads = [threading.Thread(target=feed, args=(shard,)) for shard in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(folder, 400)
    with ShardedLearner.open(folder, read_only=True) as sharded:
        first, second = sharded.learners.values()
        assert np.array_equal(first.mean_, second.mean_)
        assert first.schema == second.schema
        sharded.merged()


def test_doubled_messages_are_skipped_by_their_ids(redis_server, tmp_path):
    topic, folder = Topic(redis_server), tmp_path / "shards"
    options = ("--shards", 2, "--shard-by", "customer", "--id", "n")
    topic.add(*[row for row in customers(100) for _ in range(2)])
    said = run(topic, folder, *options, "--duplicate-ids", "skip").stderr
    assert "100 duplicate rows skipped" in said
    topic.add(*customers(60, first=80))
    said = run(topic, folder, *options, code=1).stderr.replace("\n", " ")
    assert "--duplicate-ids skip" in said
    run(topic, folder, *options, "--duplicate-ids", "skip")
    with ShardedLearner.open(folder, read_only=True) as sharded:
        assert sharded.n_rows == 140


def test_the_key_of_kafka_messages(kafka_server, tmp_path):
    topic, folder = Topic(kafka_server), tmp_path / "shards"
    topic.add(*rows(100))  # their key is the number
    topic.client.produce(topic.name, json.dumps(rows(1, first=100)[0]))  # no key
    topic.client.flush(10)
    quarantine = tmp_path / "bad.jsonl"
    said = everlearn(
        "run", topic.url, "--store", folder, *RUN, "--idle", 2, "--shards", 2, "--quarantine", quarantine
    )
    assert "no key (1)" in said.stderr
    assert json.loads(quarantine.read_text())["reason"] == "no key"
    assert sorted(chain.from_iterable(numbers_in(folder).values())) == list(range(100))


def test_what_does_not_fit_is_refused(redis_server, tmp_path):
    topic, folder = Topic(redis_server), tmp_path / "shards"
    topic.add(*customers(100))

    def refused(*options, source=topic.url, store=folder):
        said = everlearn("run", source, "--store", store, *RUN, *options, code=1).stderr
        return said.replace("\n", " ")

    idle = ("--idle", 0.3)
    assert "Redis entries have no key" in refused("--shards", 2, *idle)
    assert not folder.exists()
    assert "need --shards N" in refused("--shard", 1, *idle)
    (tmp_path / "rows.jsonl").write_text("")
    assert "--shards is for Kafka topics" in refused("--shards", 2, source=tmp_path / "rows.jsonl")
    assert "for one store" in refused("--shards", 2, "--questions-to", topic.url, *idle)
    run(topic, folder, "--shards", 2, "--shard-by", "customer")
    assert "has 2 shards, not 3" in refused("--shards", 3, *idle)
    assert "split by 'customer', not by 'a'" in refused("--shard-by", "a", *idle)
    other = Topic(redis_server)
    other.add(*customers(5))
    assert "was fed from" in refused(*idle, source=other.url)
    assert "must be shards from 0 to 1" in refused("--shard", 2, *idle)
