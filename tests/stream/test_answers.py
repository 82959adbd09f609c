"""Several answers for a row: all are kept and shown, and the weighted majority is learned."""

import numpy as np
import pytest

from everlearn import IDSVM, LASVM
from everlearn.store.events import Answered, Labeled
from everlearn.stream import NeverEndingLearner
from everlearn.stream.answers import Answer, majority
from stream.stream_helpers import bits, differing, of_kind, unchanged, xor

SETTINGS = {"query_strategy": None, "random_state": 0, "scaling": "none"}
X, Y = xor(40)


def opened(place=":memory:", learner=None):
    return NeverEndingLearner.open(place, learner or LASVM(gamma=2.0), **SETTINGS)


def begun(place=":memory:", learner=None):
    """A learner with 30 labeled rows, and 10 that are not."""
    found = opened(place, learner)
    found.step(X, [*Y[:30].tolist(), *[None] * 10], time=0.0)
    return found


def label_of(learner, row):
    kept = learner._state.labeled
    return dict(zip(kept.numbers.tolist(), kept.labels, strict=True)).get(row)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], None),
        ([("a", 1)], "a"),
        ([("a", 1), ("b", 1)], "b"),  # a tie: the last
        ([("a", 1), ("b", 1), ("a", 1)], "a"),
        ([("a", 1), ("b", 1), ("c", 1), ("a", 1), ("b", 1)], "b"),
        ([("a", 2.5), ("b", 1), ("b", 1)], "a"),
    ],
)
def test_the_weighted_majority(answers, expected):
    assert majority(Answer(label, str(at), weight) for at, (label, weight) in enumerate(answers)) == expected


@pytest.mark.parametrize("make", [lambda: LASVM(gamma=2.0), lambda: IDSVM(gamma=2.0)])
def test_two_answers_are_kept_and_the_majority_is_learned(make, tmp_path):
    with begun(tmp_path / "s", make()) as learner:
        learner.label([35], [0], by="Ada", time=1.0)
        learner.label([35], [1], by="Bob", time=2.0)
        assert label_of(learner, 35) == 1  # a tie: the last one
        learner.label([35], [0], by="Cem", time=3.0)
        assert label_of(learner, 35) == 0
        assert learner.answers([35]) == {
            35: [Answer(0, "Ada", 1.0, 1.0), Answer(1, "Bob", 1.0, 2.0), Answer(0, "Cem", 1.0, 3.0)]
        }
        assert list(learner.disagreements()) == [35]
        before, status = bits(learner), learner.status()
    assert status["labels"] == 31
    with NeverEndingLearner.open(tmp_path / "s") as again:
        assert bits(again) == before
        assert len(again.answers([35])[35]) == 3
    with NeverEndingLearner.replay(tmp_path / "s") as replayed:
        assert bits(replayed) == before
        assert len(replayed.answers([35])[35]) == 3


def test_the_model_is_the_one_that_saw_the_majority_only(tmp_path):
    with begun() as learner, begun() as other:
        learner.label([35], [0], by="Ada", time=1.0)
        learner.label([35], [1], by="Bob", time=1.0)
        learner.label([36], [1], by="Bob", time=1.0)
        other.label([35], [1], by="Bob", time=1.0)
        other.label([36], [1], by="Bob", time=1.0)
        assert differing(learner, other) == ["n_withdrawn"]
        with_two = bits(learner)
        learner.label([35, 36], [0, 1], by="Ada", time=2.0)  # the label of 36 stays: nothing to learn
        learner.label([35], [1], by="Bob", weight=5, time=2.0)
        assert label_of(learner, 35) == 1
        assert bits(learner) != with_two  # 35 was learned again


def test_an_answer_that_changes_nothing_is_kept_and_not_learned():
    with begun() as learner:
        learner.label([35], [1], by="Ada")
        before = bits(learner)
        learner.label([35], [1], by="Bob")
        learner.label([35], [0], by="Cem", weight=0.5)
        assert bits(learner) == before
        assert len(of_kind(learner._log, Answered)) == 2
        assert [(answer.by, answer.label) for answer in learner.answers([35])[35]] == [
            ("Ada", 1),
            ("Bob", 1),
            ("Cem", 0),
        ]


def test_an_annotator_changes_an_answer():
    with begun() as learner:
        for name, label in (("Ada", 0), ("Bob", 1), ("Cem", 1), ("Bob", 0)):
            learner.label([35], [label], by=name)
        assert label_of(learner, 35) == 0
        assert {answer.by: answer.label for answer in learner.answers([35])[35]} == {
            "Ada": 0,
            "Bob": 0,
            "Cem": 1,
        }
        learner.label([35], [1], by="Ada")
        assert label_of(learner, 35) == 1  # not Bob's, who answered before


def test_a_label_that_came_with_the_row_is_an_answer():
    with begun() as learner:
        row, label = 3, int(Y[3])
        learner.label([row], [1 - label], by="Ada")
        learner.label([row], [label], by="Bob")
        assert label_of(learner, row) == label
        assert [answer.by for answer in learner.answers([row])[row]] == ["", "Ada", "Bob"]


def test_many_annotators_in_one_call_are_all_or_nothing():
    with begun() as learner:
        learner.label([35], [0], by="Ada")
        ids = [35, 35, 36, 37, 37, 37, 38]
        names = ["Bob", "Cem", "Ada", "Ada", "Bob", "Cem", "Bob"]
        with unchanged(learner), pytest.raises(ValueError, match="No row with the id 99"):
            learner.label([*ids, 99], [1] * 8, by=[*names, "Ada"])
        learner.label(ids, [1, 1, 0, 0, 0, 1, 1], by=names)
        assert [label_of(learner, row) for row in (35, 36, 37, 38)] == [1, 0, 0, 1]
        assert learner.status()["labels"] == 34
        assert list(learner.disagreements()) == [35, 37]
        with NeverEndingLearner.open(":memory:", LASVM(gamma=2.0), **SETTINGS) as other:
            other.step(X, [*Y[:30].tolist(), *[None] * 10], time=0.0)
            other.label([35, 37], [1, 0], by="")
            other.label([36], [0])
            other.label([38], [1])
            rows = xor(20, seed=3)[0]
            assert np.array_equal(learner.decision_function(rows), other.decision_function(rows))


def test_a_replaced_label_and_a_decided_one_in_one_call():
    with begun() as learner:
        learner.label([35, 36], [0, 0], by="Ada")
        learner.label([36], [0], by="Bob")
        learner.label([36], [1], by="Cem", weight=3)
        learner.label([35, 36, 37, 36], [1, 0, 1, 0], by=["Ada", "Cem", "Ada", "Dan"])
        assert [label_of(learner, row) for row in (35, 36, 37)] == [1, 0, 1]
        assert len(learner.answers([36])[36]) == 4


def test_first_answers_of_several_people_are_learned_together_and_taken_back_alone(tmp_path):
    with begun(tmp_path / "s") as learner:
        start = learner.sequence
        learner.label([35, 36, 37], [0, 1, 0], by=["Ada", "Bob", "Ada"])
        events = [event for _, event in learner.events(start)]
        (labeled,) = [event for event in events if isinstance(event, Labeled)]
        assert labeled.decided
        assert labeled.numbers.tolist() == [35, 36, 37]
        assert [event.by for event in events if isinstance(event, Answered)] == ["Ada", "Bob"]
        assert learner.status()["labels"] == 33
        assert [answer.by for answer in learner.answers([36])[36]] == ["Bob"]
        learner.withdraw([36], answers_by="Bob", by="Bob")
        assert [label_of(learner, row) for row in (35, 36, 37)] == [0, None, 0]
        assert learner.disagreements() == {}
        found = bits(learner)
    with NeverEndingLearner.replay(tmp_path / "s") as again:
        assert bits(again) == found


def test_one_of_several_answers_is_withdrawn():
    with begun() as learner:
        learner.label([35], [0], by="Ada")
        learner.label([35], [1], by="Bob")
        learner.withdraw([35], answers_by="Bob", by="Eve")
        assert label_of(learner, 35) == 0
        assert [answer.by for answer in learner.answers([35])[35]] == ["Ada"]
        with unchanged(learner), pytest.raises(ValueError, match="'Bob' has no answer to withdraw for id 35"):
            learner.withdraw([35], answers_by="Bob")
        learner.withdraw([35], answers_by="Ada")
        assert label_of(learner, 35) is None
        assert learner.disagreements() == {}


def test_all_answers_are_withdrawn_together():
    with begun() as learner:
        learner.label([35], [0], by="Ada")
        learner.label([35], [1], by="Bob")
        learner.withdraw([35])
        assert label_of(learner, 35) is None
        assert learner.answers([35]) == {35: []}
        learner.label([35], [0], by="Cem")
        assert label_of(learner, 35) == 0


def test_erasing_a_row_erases_all_its_answers(tmp_path):
    with begun(tmp_path / "s") as learner:
        learner.label([35, 36], [0, 1], by="Adalbert")
        learner.label([35, 36], [1, 1], by="Bobolink")
        learner.label([35], [1], by="Cemalone", weight=0.25)
        certificate = learner.erase([35])
        assert certificate.labels == 3
        assert certificate.model_difference["bit_equal"]
        assert len(learner.answers([36])[36]) == 2
        assert not any(35 in event.numbers for event in of_kind(learner._log, Answered | Labeled))
    with NeverEndingLearner.open(tmp_path / "s") as again:
        assert again.disagreements() == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ["Ada"]}, "one for each label, got 1 for 2"),
        ({"by": "Ada", "weight": 0}, "weight must be positive"),
        ({"by": "Ada", "weight": [1, np.inf]}, "weight must be positive"),
        ({"by": "Ada", "ids": [35, 35]}, "unique for each annotator, got 35 more than once"),
    ],
)
def test_bad_answers(options, message):
    with begun() as learner, unchanged(learner), pytest.raises(ValueError, match=message):
        learner.label(**({"ids": [35, 36], "y": [0, 1]} | options))
