"""Records, answers and requests beside the events: in the same transaction, gone with their rows."""

import numpy as np
import pytest

from everlearn.errors import InputError
from everlearn.store.beside import Request
from everlearn.stream import NeverEndingLearner
from everlearn.stream.answers import AnswerFor

X = np.random.default_rng(0).uniform(-1, 1, size=(12, 2))
IDS = [f"r{n}" for n in range(12)]
RECORDS = [{"text": f"row {n}"} for n in range(12)]


def request(key, digest="d", outcome="first"):
    return Request(key, digest, lambda result, sequence, version: [outcome, sequence, version])


def filled(place=":memory:", **settings):
    learner = NeverEndingLearner.open(place, random_state=0, **settings)
    learner.step(X, ids=IDS, records=RECORDS, requests=[request("rows")], time=100.0)
    about = {"comment": "odd", "why_text": "between no and yes"}
    learner.answer(
        [
            AnswerFor("r1", "yes", "ada", about=about),
            AnswerFor("r2", "no", "ada"),
            AnswerFor("r3", by="bob", kind="skip"),
        ],
        time=101.0,
        requests=[request("answers")],
    )
    return learner


def kept(learner):
    return [(row, a.by, a.kind, a.label) for row, a in learner.given_answers()]


def test_records_and_answers_are_read_back():
    with filled() as learner:
        assert learner.records_of(["r3", "r1"]) == {"r3": RECORDS[3], "r1": RECORDS[1]}
        assert kept(learner) == [
            ("r1", "ada", "label", "yes"),
            ("r2", "ada", "label", "no"),
            ("r3", "bob", "skip", None),
        ]
        assert learner.given_answers(["r1"])[0][1].about["comment"] == "odd"
        learner.withdraw(["r1"], answers_by="ada")
        learner.withdraw(["r2"])
        learner.take_back("r3", "bob")
        assert kept(learner)[3:] == [
            ("r1", "ada", "withdrawn", None),
            ("r2", None, "withdrawn", None),
            ("r3", "bob", "withdrawn", None),
        ]


def test_a_request_is_found_again_and_a_reused_key_is_refused():
    with filled() as learner:
        done, outcome = learner.outcome_of("answers", "d")
        assert done
        assert outcome == ["first", learner.sequence, learner.model_version]
        assert learner.outcome_of("other", "d") == (False, None)
        with pytest.raises(InputError) as caught:
            learner.outcome_of("rows", "another body")
        assert caught.value.code == "key_reused"
        learner.forget_requests(2e10)
        assert learner.outcome_of("rows", "d") == (False, None)


def test_a_failure_writes_neither_events_nor_what_is_beside_them():
    def broken(result, sequence, version):
        raise RuntimeError("no outcome")

    with filled() as learner:
        before, answers = learner.sequence, kept(learner)
        with pytest.raises(RuntimeError, match="no outcome"):
            learner.answer([AnswerFor("r5", "yes", "ada")], requests=[Request("k", "d", broken)])
        with pytest.raises(ValueError, match="kind"):
            learner.answer([AnswerFor("r5", "yes", "ada", kind="guess")])
        assert (learner.sequence, kept(learner)) == (before, answers)
        assert learner.outcome_of("k", "d") == (False, None)
        learner.answer([AnswerFor("r5", "yes", "ada")])


def test_the_model_version_grows_with_the_model_only_and_survives_opening(tmp_path):
    with filled(tmp_path / "store") as learner:
        version = learner.model_version
        learner.answer([AnswerFor("r4", by="ada", kind="unsure")])
        learner.step(X + 1, time=102.0)
        assert learner.sequence > version
        rescaled = learner.model_version
        learner.label(["r5"], ["yes"], by="bob")
        learner.label(["r5"], ["no"], by="eve")
        assert learner.model_version > rescaled
        version = learner.model_version
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert learner.model_version == version


def test_what_is_erased_or_expires_leaves_nothing_beside_the_events(tmp_path):
    with filled(tmp_path / "a") as learner:
        learner.erase(["r1"], verify=False)
        assert "r1" not in [row for row, *_ in kept(learner)]
        assert learner.outcome_of("rows", "anything") == (True, None)
        assert "r1" not in learner.records_of(["r2"])
    assert b'row 1"' not in (tmp_path / "a").read_bytes()
    with filled(tmp_path / "b", max_age="10s") as learner:
        learner.step(X + 1, ids=[f"s{n}" for n in range(12)], records=RECORDS[::-1], time=200.0)
        assert kept(learner) == []
        assert learner.outcome_of("rows", "anything") == (True, None)
        assert len(learner.records_of([f"s{n}" for n in range(12)])) == 12


def test_a_class_that_only_erased_rows_had_is_named_nowhere(tmp_path):
    with filled(tmp_path / "a") as learner:
        learner.answer([AnswerFor("r6", "SECRET", "ada")])
        about = {"why_text": "between SECRET and yes"}
        learner.answer([AnswerFor("r7", "yes", "ada", about=about)])
        learner.erase(["r6"], verify=False)
        assert learner.given_answers(["r7"])[0][1].label == "yes"
    assert b"SECRET" not in (tmp_path / "a").read_bytes()


def test_dropped_rows_lose_their_records_but_not_their_answers(tmp_path):
    options = {"retention": "needed", "memory_rows": 2, "snapshot_every": 4, "label_rate": 0.0}
    with NeverEndingLearner.open(tmp_path / "a", random_state=0, **options) as learner:
        for start in range(0, 12, 2):
            part = slice(start, start + 2)
            learner.step(X[part], ids=IDS[part], records=RECORDS[part])
            learner.label([IDS[start]], ["no" if start % 4 else "yes"], by="ada")
    with NeverEndingLearner.open(tmp_path / "a") as learner:
        assert len(learner.records_of(learner.with_rows(IDS))) < 12
        assert len(learner.given_answers()) == 6
