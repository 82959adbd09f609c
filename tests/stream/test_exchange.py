"""Questions to a stream, and answers from one, with a real Redis server."""

import json
import time

import pytest

from broker.broker_helpers import Topic, remote
from everlearn import LASVM, NeverEndingLearner
from everlearn.broker import open_consumer
from everlearn.errors import BrokerError, InputError
from everlearn.stream import Exchange
from servers import NoBrokerError, free_port
from stream.stream_helpers import xor

X, Y = xor(120)
Y = [["no", "yes"][int(label > 0)] for label in Y]


@pytest.fixture
def learner():
    with NeverEndingLearner.open(":memory:", LASVM(), label_rate=0.1, random_state=0) as learner:
        yield learner


@pytest.fixture
def topics(redis_server):
    asked, answers = Topic(redis_server), Topic(redis_server)
    answers.add({"id": 0, "label": "skipped"})  # a stream must exist
    return asked, answers


def answer(exchange, answers, *messages):
    answers.add(*messages)
    return exchange.take(1.0)


def test_questions_and_answers(learner, topics):
    asked, answers = topics
    with Exchange(learner, questions=asked.url, answers=answers.url, offset_reset="latest") as exchange:
        records = [{"n": n} for n in range(60)]
        exchange.publish(learner.step(X[:60], records=records).questions)
        published = asked.values()
        assert [question["id"] for question in published] == [q.id for q in learner.open_questions()[::-1]]
        assert all(question["row"] == {"n": question["id"]} for question in published)
        given = [{"id": q["id"], "label": Y[q["id"]], "by": "ann"} for q in published]
        assert answer(exchange, answers, *given) == len(given) == 6
        assert learner.open_questions() == []
        assert answer(exchange, answers, {"id": "7", "kind": "unsure", "comment": "blurred"}) == 1
        assert learner.n_labels == 6
    with Exchange(learner, questions=asked.url, answers=answers.url) as exchange:
        assert exchange.take(0.2) == 0  # each answer once
    assert len(asked.values()) == 6


def test_the_last_answer_of_a_person_counts(learner, topics):
    _, answers = topics
    learner.step(X[:30])
    with Exchange(learner, answers=answers.url, offset_reset="latest") as exchange:
        first, second = ({"id": 3, "label": label, "by": "ann"} for label in ("a", "b"))
        answer(exchange, answers, first, {"id": 3, "label": "c", "by": "bob"}, second)
    assert [(found.by, found.label) for found in learner.answers([3])[3]] == [("bob", "c"), ("ann", "b")]


@pytest.mark.parametrize(
    ("classes", "given", "learned"),
    [([0, 1], "1", 1), ([0, 1], 1, 1), (["no", "yes"], "yes", "yes"), (None, 5, 5), (None, "x", "x")],
)
def test_labels_have_the_type_of_the_classes(topics, classes, given, learned):
    _, answers = topics
    with NeverEndingLearner.open(":memory:", LASVM(), classes=classes) as learner:
        learner.step(X[:30])
        with Exchange(learner, answers=answers.url, offset_reset="latest") as exchange:
            assert answer(exchange, answers, {"id": 2, "label": given}) == 1
        assert learner.labels_of([2]) == {2: learned}


def test_a_new_class_must_be_allowed(learner, topics):
    _, answers = topics
    learner.step(X[:30], ["no", "yes"] * 15)
    with Exchange(learner, answers=answers.url, offset_reset="latest") as exchange:
        assert answer(exchange, answers, {"id": 2, "label": "maybe"}) == 0
        assert exchange.reasons == {"not a known class": 1}
    with Exchange(learner, answers=answers.url, new_classes=True) as exchange:
        assert answer(exchange, answers, {"id": 2, "label": "maybe"}) == 1
    assert "maybe" in learner.classes


def test_questions_that_a_replaced_label_changes_are_published(learner, topics):
    """Without the label, other questions would have been asked: those are open then."""
    asked, answers = topics
    with Exchange(learner, questions=asked.url, answers=answers.url, offset_reset="latest") as exchange:
        for start in range(0, 120, 20):
            part = slice(start, start + 20)
            exchange.publish(learner.step(X[part], [*Y[part][:3], *[None] * 17]).questions)
        other = {"no": "yes", "yes": "no"}
        wrong = [{"id": n, "label": other[Y[n]], "by": "ann", "weight": 5} for n in (0, 1, 20, 21)]
        before = {q.id for q in learner.open_questions()}
        answer(exchange, answers, *wrong)
        assert {q.id for q in learner.open_questions()} != before
    assert {q.id for q in learner.open_questions()} <= {question["id"] for question in asked.values()}


def test_after_a_crash_open_questions_are_published_again(learner, topics):
    asked, _ = topics
    first = Exchange(learner, questions=asked.url)
    first.publish(learner.step(X[:60]).questions)
    with Exchange(learner, questions=asked.url):  # the first one was not closed
        pass
    names = [question["id"] for question in asked.values()]
    assert len(names) == 12
    assert len(set(names)) == 6


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_a_broker_that_is_cut_off_loses_no_question(learner, kind, monkeypatch):
    monkeypatch.setattr("everlearn.broker._kafka._DELIVERY_MS", 1000)
    try:
        with remote(kind) as server:
            asked = Topic(server)
            first = learner.step(X[:60]).questions
            exchange = Exchange(learner, questions=asked.url)  # publishes what is open
            server.line.cut()
            second = learner.step(X[60:]).questions
            with pytest.raises(BrokerError, match=f"did not take {len(second)} messages"):
                exchange.publish(second)
            exchange.close()
            server.line.mend()
            with Exchange(learner, questions=asked.url), open_consumer(asked.url) as consumer:
                published, end = [], time.monotonic() + 20
                while len(published) < len(first) + len(second) and time.monotonic() < end:
                    published += [json.loads(message.value)["id"] for message in consumer.fetch(50, 0.5)]
    except NoBrokerError as error:
        pytest.skip(f"no broker: {kind}: {error}")
    assert sorted(published) == sorted(question.id for question in [*first, *second])


def test_what_is_wrong_is_an_error(learner, redis_server, topics):
    asked, answers = topics
    with pytest.raises(BrokerError, match="cannot be reached"):
        Exchange(learner, questions=f"redis://127.0.0.1:{free_port()}/asked")
    with pytest.raises(BrokerError, match="no stream"):
        Exchange(learner, answers=f"{redis_server.url}/nothing")
    learner.step(X[:30])
    with Exchange(learner, answers=answers.url) as exchange:
        exchange.take(1.0)
    asked.add({"id": 1, "label": 2})
    with pytest.raises(InputError, match="was fed from"):
        Exchange(learner, answers=asked.url)
