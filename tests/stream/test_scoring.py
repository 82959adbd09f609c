"""A row is scored once: its decision values are carried from its arrival to the question about it."""

from collections import Counter

import numpy as np
import pytest

from everlearn import LASVM, query
from everlearn.evaluate import Prequential
from stream.stream_helpers import opened, xor

BATCHES = 12
BY_SCORES = {
    "auto": "auto",
    "margin": "margin",
    "few drawn": query.Margin(pool_size=9),
    "blocks": query.RecentMargin(),
}


@pytest.fixture
def scored(monkeypatch):
    """How often `LASVM.decision_function` was called, and by row how often it was scored."""
    counts, decide, inside = Counter(), LASVM.decision_function, []

    def counted(self, X):
        if not inside:  # a learner may call itself
            counts["calls"] += 1
            counts.update(map(bytes, np.ascontiguousarray(X)))
        inside.append(self)
        try:
            return decide(self, X)
        finally:
            inside.pop()

    monkeypatch.setattr(LASVM, "decision_function", counted)
    return counts


def stream(scored, strategy, size, labels=False):
    """Run a stream of batches; yields the batch, its rows scored, its questions and the calls it took."""
    X, y = xor(100 + BATCHES * size)
    settings = {
        "query_strategy": strategy,
        "scaling": "none",
        "cold_start_labels": 5,
        "label_rate": 0.1,
        "memory_rows": 500,
    }
    with opened(learner=LASVM(C=10, gamma=1.0), classes=[0, 1], **settings) as learner:
        learner.step(X[:100], y[:100])
        for first in range(100, len(X), size):
            scored.clear()
            batch = X[first : first + size]
            given = [int(y[first]) if labels and i == 0 else None for i in range(size)]
            out = learner.step(batch, given)
            yield first, batch, [q for q in out.questions if q.number >= first], scored["calls"]


@pytest.mark.parametrize("size", [5, 150])
@pytest.mark.parametrize("strategy", BY_SCORES.values(), ids=BY_SCORES)
def test_a_fresh_row_is_scored_once(scored, strategy, size):
    asked = 0
    for _, batch, questions, calls in stream(scored, strategy, size):
        assert [scored[row.tobytes()] for row in batch] == [1] * size
        assert calls <= 2  # the batch; and where it is small, older rows among which to look for questions
        assert size < 100 or calls == 1
        asked += len(questions)
    assert asked > BATCHES * size / 40


@pytest.mark.parametrize("size", [5, 150])
@pytest.mark.parametrize("strategy", BY_SCORES.values(), ids=BY_SCORES)
def test_labels_with_a_batch_make_one_more_scoring(scored, strategy, size):
    """What was learned from them changes the model, so that its earlier scores do not count."""
    for _, batch, _, calls in stream(scored, strategy, size, labels=True):
        assert {scored[row.tobytes()] for row in batch} <= {1, 2}
        assert calls <= 2


def test_predictions_of_drawn_rows_are_those_of_their_arrival(scored):
    for _, batch, questions, calls in stream(scored, query.Random(), 150):
        assert questions
        assert [scored[row.tobytes()] for row in batch] == [1] * 150
        assert calls == 1


def test_a_block_that_is_not_complete_asks_nothing():
    X, y = xor(110)
    with opened(
        query_strategy=query.RecentMargin(block_size=200), scaling="none", cold_start_labels=5, audit=0.0
    ) as learner:
        learner.step(X[:100], y[:100])
        for first in range(100, 110):
            assert learner.step(X[[first]]).questions == []


def test_scores_are_measured_when_they_are_read_and_are_those_of_their_batch():
    X, y = xor(400)
    outcomes, expected = [], []
    with opened(audit=0.5) as learner:
        for first in range(0, 400, 20):
            out = learner.step(X[first : first + 20], time=0.0)
            outcomes.append(out)
            expected.append(learner.status()["scores"]["window"] if first else {})
            if out.questions:
                learner.label([q.id for q in out.questions], [y[q.id] for q in out.questions], time=0.0)
        audit = learner._state.audit
        assert audit.n_seen > 10
        window = audit.scores()["window"]
        assert audit.accuracy("window") == (window["accuracy"], window["n"])
    assert [repr(out.scores) for out in outcomes] == list(map(repr, expected))  # NaN is not equal to itself
    assert expected[-1]["n"] > expected[1]["n"]


def test_a_batch_does_not_measure_scores_that_nobody_reads(monkeypatch):
    measured = []
    monkeypatch.setattr(Prequential, "scores", measured.append)
    X, y = xor(100)
    with opened() as learner:
        out = learner.step(X, y, time=0.0)
        assert measured == []
        assert out.scores["n"] == 0  # the first batch has no predictions
        assert out.scores is out.scores


def test_a_report_says_why_each_question_was_asked():
    X, y = xor(300)
    with opened(cold_start_labels=10, audit=0.2) as learner:
        kinds = {}
        for first in range(0, 300, 50):
            out = learner.step(X[first : first + 50], time=0.0)
            kinds |= {q.id: q.kind for q in out.questions}
            learner.label([q.id for q in out.questions], [y[q.id] for q in out.questions], time=0.0)
        told = {question["id"]: question["kind"] for question in learner.report_data()["questions"]}
    assert told == kinds
    assert set(kinds.values()) == {"cold_start", "audit", "strategy"}
