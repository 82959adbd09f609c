"""`everlearn run` on Kafka topics, Redis streams and folders that grow."""

import json
import resource
import sys
import threading
import time
import warnings

import pytest
import redis

from broker.broker_helpers import Topic, rows
from cli.cli_helpers import everlearn, write_csv
from everlearn import LASVM, NeverEndingLearner
from everlearn.read import Schema, open_source
from servers import NoBrokerError, free_port, running

RUN = ("--batch-size", 100, "--infer-rows", 100, "--random-state", 0, "--learner", "LASVM")


@pytest.fixture(params=["redis", "kafka"])
def topic(request):
    return Topic(request.getfixturevalue(f"{request.param}_server"))


def numbers_in(store):
    with NeverEndingLearner.open(store, read_only=True) as learner:
        return sorted(learner.rows_by_number(range(learner.n_rows))[:, 0].astype(int).tolist())


def run(topic, store, *options, n=None, code=0):
    """Read n messages; without n, until none comes."""
    ends = (
        ["--idle", 0.3 if topic.server.kind == "redis" else 2] if n is None else ["--limit", n, "--idle", 30]
    )
    return everlearn("run", topic.url, "--store", store, *RUN, *ends, *options, code=code)


def test_goes_on_where_it_stopped(topic, store):
    topic.add(*rows(250))
    first = run(topic, store, "--label", "label", n=250).stderr
    assert f"Reading {topic.url} from its oldest message on" in first
    topic.add(*rows(30, first=250))
    again = run(topic, store, n=30).stderr
    assert f"Going on behind the last message of {topic.url}" in again
    if topic.server.kind == "redis":
        run(topic, store)  # nothing new
    assert numbers_in(store) == list(range(280))
    found = json.loads(everlearn("status", store, "--json").stdout)
    assert [source["name"] for source in found["run"]["sources"]] == [topic.url]
    assert found["offsets"]["source"] == topic.url
    with NeverEndingLearner.open(store, read_only=True) as learner:
        assert learner.records_of([7])[7]["n"] in range(280)
        assert learner.n_labels == 280


def test_a_store_is_the_same_as_that_of_a_file(redis_server, store, tmp_path):
    topic = Topic(redis_server)
    topic.add(*rows(300))
    run(topic, store)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(300)))
    everlearn("run", path, "--store", tmp_path / "file", *RUN)
    kept = []
    for place in (store, tmp_path / "file"):
        with NeverEndingLearner.open(place, read_only=True) as learner:
            kept.append(learner.decision_function(learner.rows_by_number(range(300))).tolist())
    assert kept[0] == kept[1]


def test_bad_messages_are_quarantined_with_their_places(topic, store, tmp_path):
    topic.add(*rows(200))
    many = {"n": 1, "a": "many", "b": 0, "label": 1}
    topic.add(b"\xff\xfe", b"{not json", b"[1]", many, {"n": 1, "c": 0}, {"n": 1, "a": "x" * 900_000})
    quarantine = tmp_path / "bad.jsonl"
    options = ("--quarantine", quarantine, "--max-row-bytes", 500_000)
    said = run(topic, store, *options).stderr
    assert "6 bad rows skipped (first at " in said
    bad = [json.loads(line) for line in quarantine.read_text().splitlines()]
    assert {row["reason"] for row in bad} == {
        "invalid UTF-8",
        "invalid JSON",
        "not a JSON object",
        "field 'a': not a number",
        "unknown field 'c'",
        "too long",
    }
    assert all(row["place"] and row["source"] == topic.url for row in bad)
    run(topic, store, *options)
    assert len(quarantine.read_text().splitlines()) == 6  # their offsets are stored, too
    assert quarantine.stat().st_size < 10_000
    assert len(numbers_in(store)) == 200


def test_a_message_without_a_value_is_bad(kafka_server, store):
    topic = Topic(kafka_server)
    topic.add(*rows(100), None)
    assert "empty message (1)" in run(topic, store).stderr


def test_redis_entries_may_have_the_fields_of_a_row(redis_server, store):
    topic = Topic(redis_server)
    for row in rows(60):
        topic.add_fields(**row)
    topic.add(*rows(20, first=60))  # and JSON
    run(topic, store)
    assert numbers_in(store) == list(range(80))


def test_a_store_that_was_fed_from_another_topic_is_refused(topic, store):
    other = Topic(topic.server)
    for each in (topic, other):
        each.add(*rows(60))
    run(topic, store, n=60)
    said = run(other, store, code=1).stderr
    assert f"was fed from {topic.url}, not from {other.url}" in said.replace("\n", " ")
    assert numbers_in(store) == list(range(60))


def test_a_store_of_a_file_can_go_on_with_a_topic(redis_server, store, tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(100)))
    everlearn("run", path, "--store", store, *RUN)
    topic = Topic(redis_server)
    topic.add(*rows(50, first=100))
    run(topic, store)
    assert numbers_in(store) == list(range(150))


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_a_broker_that_is_down_creates_no_store(kind, store, monkeypatch):
    monkeypatch.setattr("everlearn.broker._kafka._TIMEOUT", 1.0)
    url = f"{kind}://127.0.0.1:{free_port()}/rows"
    said = everlearn("run", url, "--store", store, *RUN, "--idle", 1, code=1).stderr.replace("\n", " ")
    assert f"{url} cannot be reached" in said
    assert not store.exists()


def test_an_empty_topic_creates_no_store(kafka_server, store):
    topic = Topic(kafka_server)
    assert "is empty" in run(topic, store, "--idle", 0.2, code=1).stderr
    assert not store.exists()


def test_first_messages_that_are_no_rows_create_no_store(topic, store):
    topic.add(b"hello", b"[1]")
    said = run(topic, store, code=1).stderr.replace("\n", " ")
    assert "None of the first messages of" in said
    assert ": invalid JSON)" in said or ": not a JSON object)" in said  # two partitions
    assert "A message is a JSON object" in said
    assert not store.exists()


def test_a_topic_that_was_made_again_is_an_error_with_a_way_out(kafka_server, store):
    topic = Topic(kafka_server)
    topic.add(*rows(60))
    run(topic, store, n=60)
    topic.make_again()
    topic.add(*rows(90, first=60))
    said = run(topic, store, code=1).stderr.replace("\n", " ")
    assert "was deleted and made again" in said
    assert "--offset-reset earliest" in said
    run(topic, store, "--offset-reset", "earliest", n=90)
    assert numbers_in(store) == list(range(150))


def test_a_full_disk_loses_nothing(topic, store):
    """The size of files is limited: like on a full disk, writing fails, at any place of the store."""
    topic.add(*rows(2000, labeled=False))
    run(topic, store, n=100)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (store.stat().st_size + 20_000, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # there is no room for a snapshot, either
            said = run(topic, store, code=1).stderr.replace("\n", " ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f"{store} cannot be written to" in said
    stored = numbers_in(store)
    assert len(stored) == len(set(stored)) < 2000
    run(topic, store, n=2000 - len(stored))
    assert numbers_in(store) == list(range(2000))


def test_messages_that_are_gone_are_an_error_with_a_way_out(redis_server, store):
    topic = Topic(redis_server)
    topic.add(*rows(100))
    run(topic, store)
    topic.add(*rows(100, first=100))
    topic.client.xtrim(topic.name, maxlen=50, approximate=False)
    said = run(topic, store, code=1).stderr.replace("\n", " ")
    assert "removed before they were read" in said
    assert "--offset-reset earliest" in said
    run(topic, store, "--offset-reset", "earliest")
    assert numbers_in(store) == [*range(100), *range(150, 200)]


def test_a_second_consumer_is_refused_in_words(redis_server, store):
    topic = Topic(redis_server)
    topic.add(*rows(50))
    run(topic, store)
    with NeverEndingLearner.open(store):
        said = run(topic, store, code=1).stderr.replace("\n", " ")
    assert "One process at a time feeds a store" in said
    assert "--shard-by" in said


def test_doubled_messages_are_skipped_by_their_ids(redis_server, store):
    topic = Topic(redis_server)
    topic.add(*rows(100))
    run(topic, store, "--id", "n")
    topic.add(*rows(40, first=80))
    said = run(topic, store, code=1).stderr.replace("\n", " ")
    assert "Duplicate id" in said
    assert "--duplicate-ids skip" in said
    said = run(topic, store, "--duplicate-ids", "skip").stderr
    assert "20 duplicate rows skipped" in said
    topic.add(*[row for row in rows(50, first=120) for _ in range(3)])  # a producer that tries again
    said = run(topic, store, "--duplicate-ids", "skip").stderr
    assert "100 duplicate rows skipped" in said
    assert "bad" not in said
    with NeverEndingLearner.open(store, read_only=True) as learner:
        assert len(learner.known_ids([str(n) for n in range(200)])) == learner.n_rows == 170


def test_a_limit_stops_behind_a_whole_batch(redis_server, store):
    topic = Topic(redis_server)
    topic.add(*rows(500))
    run(topic, store, "--limit", 150)
    assert numbers_in(store) == list(range(200))
    run(topic, store)
    assert numbers_in(store) == list(range(500))


def test_passwords_are_neither_printed_nor_stored(store, tmp_path):
    secret = "g3heim-und-lang"
    try:
        with running("redis", "--requirepass", secret) as server:
            client = redis.Redis(port=server.port, password=secret)
            for row in [*rows(60), {"n": "x", "a": "many"}]:
                client.xadd("rows", {"json": json.dumps(row)})
            client.xadd("answers", {"id": "3", "label": "1"})
            client.xadd("answers", {"id": "none"})
            url = f"redis://:{secret}@127.0.0.1:{server.port}"
            more = ["--questions-to", f"{url}/asked", "--answers-from", f"{url}/answers", "--label-rate", 0.1]
            more += ["--quarantine", tmp_path / "bad.jsonl", "--idle", 0.3]
            said = everlearn("run", f"{url}/rows", "--store", store, *RUN, *more).output
            said += everlearn(
                "run", f"{url}/nothing", "--store", store, *RUN, "--traceback", "--idle", 1, code=1
            ).output
            said += everlearn("run", f"{url}/rows", "--store", store, *RUN, "--sql", "x", code=1).output
            said += everlearn("status", store, "--json").output
            report = tmp_path / "report.html"
            said += everlearn("report", store, "--out", report).output
            written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
            assert secret not in said
            assert secret.encode() not in written
            assert f"127.0.0.1:{server.port}/rows" in said
    except NoBrokerError as error:
        pytest.skip(f"no broker: redis: {error}")


def test_questions_are_published_and_answers_learned_once(topic, store, tmp_path):
    asked, answers = Topic(topic.server), Topic(topic.server)
    topic.add(*rows(200, labeled=False))
    answers.add({"id": 0, "label": "yes", "by": "ann", "comment": "clear"}, {"id": 9, "label": "no"})
    exchange = ["--questions-to", asked.url, "--answers-from", answers.url, "--label-rate", 0.05]
    exchange += ["--quarantine", tmp_path / "bad.jsonl"]
    run(topic, store, *exchange)
    answers.add(
        {"id": 1, "label": "no", "by": "ann"}, {"id": 2, "label": "maybe"}, {"id": 7777, "label": "no"}
    )
    answers.add(
        b"{", {"label": "no"}, {"id": 3, "label": None}, {"id": 4, "kind": "skip"}, {"id": 5, "weight": -1}
    )
    topic.add(*rows(100, first=200, labeled=False))
    said = run(topic, store, *exchange).stderr.replace("\n", " ")
    assert "2 answers learned; 6 wrong answers skipped" in said
    reasons = [json.loads(line)["reason"] for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert sorted(reasons) == [
        "invalid JSON",
        "no id",
        "no label",
        "no row with this id in the store",
        "not a known class",
        "weight is not a positive number",
    ]
    with NeverEndingLearner.open(store, read_only=True) as learner:
        answered = learner.answers([0, 1])
        counts = learner.question_counts()
    assert {name: [answer.label for answer in found] for name, found in answered.items()} == {
        0: ["yes"],
        1: ["no"],
    }
    assert counts["asked"] == 15
    if topic.server.kind == "redis":
        published = asked.values()
        assert len(published) == len({question["id"] for question in published}) == 15
        assert {"id", "kind", "reason", "predicted", "asked_row", "classes", "row"} <= published[0].keys()
        assert published[0]["row"]["n"] == published[0]["id"]


def test_questions_that_a_crash_left_unpublished_are_published(redis_server, store):
    topic, asked = Topic(redis_server), Topic(redis_server)
    topic.add(*rows(200, labeled=False))
    run(topic, store, "--label-rate", 0.05)  # asks, and publishes nothing
    run(topic, store, "--questions-to", asked.url)
    assert len(asked.values()) == 10
    run(topic, store, "--questions-to", asked.url)
    assert len(asked.values()) == 10


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("redis://h/s", ["--oracle", "label"], "--oracle is for files"),
        ("redis://h/s", ["--skip-rows", 3], "--skip-rows is for files"),
        ("redis://h/s", ["--format", "csv"], "--format is for files"),
        ("redis://h/s", ["--follow"], "--follow is for folders"),
        ("kafka://h", [], "must name one topic"),
        ("rows.csv", ["--idle", 1], "--idle is for topics"),
        ("rows.csv", ["--offset-reset", "latest"], "--offset-reset is for topics"),
    ],
)
def test_options_that_do_not_fit_are_refused(source, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "rows.csv", [])
    said = everlearn("run", source, "--store", "store", *options, code=1).stderr.replace("\n", " ")
    assert message in said


@pytest.mark.parametrize(
    ("scheme", "package", "module"), [("kafka", "kafka", "_kafka"), ("redis", "redis", "_redis")]
)
def test_a_missing_client_is_named(scheme, package, module, store, monkeypatch):
    monkeypatch.setitem(sys.modules, {"kafka": "confluent_kafka", "redis": "redis"}[scheme], None)
    monkeypatch.delitem(sys.modules, f"everlearn.broker.{module}", raising=False)
    said = everlearn("run", f"{scheme}://127.0.0.1:1/rows", "--store", store, code=1).stderr.replace(
        "\n", " "
    )
    assert f'pip install "everlearn[{package}]"' in said


# ------------------------------------------------------------------------------------------- growing folders


def test_a_folder_is_followed(tmp_path, store):
    folder = tmp_path / "in"
    folder.mkdir()
    lines = [json.dumps(row) + "\n" for row in rows(300)]

    def grow():
        (folder / "a.jsonl").write_text("".join(lines[:100]))
        (folder / ".hidden.jsonl").write_text("".join(lines[:10]))
        (folder / "notes.txt").write_text("not rows")
        time.sleep(1.2)
        with open(folder / "b.jsonl", "w") as file:  # written in parts: read when it stays as it is
            for line in lines[100:200]:
                file.write(line)
                file.flush()
                time.sleep(0.005)
        with open(folder / "a.jsonl", "a") as file:
            file.writelines(lines[200:])

    writer = threading.Thread(target=grow)
    writer.start()
    everlearn("run", folder, "--store", store, *RUN, "--follow", "--idle", 1.5)
    writer.join()
    assert numbers_in(store) == list(range(300))
    everlearn("run", folder, "--store", store, *RUN)
    assert numbers_in(store) == list(range(300))


def test_a_learner_can_be_fed_in_python(topic):
    """The loop of the documentation: offsets are notes of the batch."""
    with NeverEndingLearner.open(":memory:", LASVM()) as learner:
        for first, n in ((0, 120), (120, 30)):
            topic.add(*rows(n, first=first))
            schema = None if learner.schema is None else Schema.from_state(learner.schema)
            offsets = learner.notes.get("offsets")
            with open_source(topic.url, schema=schema, offsets=offsets, idle=10, batch_size=30) as source:
                for batch in source:
                    learner.step(batch.X, batch.y, notes=source.notes)
                    assert len(batch.messages) == len(batch)
                    if learner.n_rows == first + n:
                        break
            learner.set_schema(source.schema.state())
        assert learner.n_rows == 150
