"""Answers of people: learned, voted about, taken back."""

import time
from dataclasses import replace

import pytest

from everlearn._base import persist
from everlearn.serve.service import AnswerIn, LearningService, RowIn, ServiceSettings
from serve.service_helpers import (
    CLASSES,
    answered,
    code_of,
    is_replay,
    rows,
    set_up,
    state_of,
    truth_of,
    work,
)

# ---------------------------------------------------------------------------------------------------- answers


def test_an_answer_is_learned_with_why_when_and_by_whom(learning):
    question = learning.lease_questions("ada").questions[0]
    before = learning.learner.model_version
    given = learning.answer("ada", [replace(answered(question, "ada"), comment="sure", wrong_field="x")])
    result = given.results[0]
    assert (result.status, result.learned_label, result.changed_model) == (
        "learned",
        truth_of(question),
        True,
    )
    assert given.model_version > before
    assert given.sequence == learning.sequence
    entry = learning.history(by="ada").entries[0]
    assert (entry.id, entry.label, entry.comment, entry.wrong_field) == (
        question.id,
        truth_of(question),
        "sure",
        "x",
    )
    assert entry.why == question.why.text
    assert entry.model_version == before
    assert "x: " in entry.summary


def test_the_prediction_before_the_answer_is_told_afterwards(learning):
    work(learning, "ada", 20)
    question = learning.lease_questions("ada").questions[0]
    expected = learning.predict([RowIn({f.name: f.value for f in question.fields})]).predictions[0]
    result = learning.answer("ada", [answered(question, "ada")]).results[0]
    assert result.prediction_before.label == expected.label
    assert result.prediction_before.confidence == pytest.approx(
        expected.probabilities[expected.label], abs=1e-4
    )


def test_the_same_key_is_answered_once(learning):
    question = learning.lease_questions("ada").questions[0]
    first = learning.answer("ada", [answered(question, "ada")]).results[0]
    before = learning.sequence, state_of(learning)
    again = learning.answer("ada", [answered(question, "ada")]).results[0]
    assert again == replace(first, status="replayed")
    other = {"no": "yes", "yes": "no"}[truth_of(question)]
    assert code_of(lambda: learning.answer("ada", [answered(question, "ada", label=other)])) == "key_reused"
    assert (learning.sequence, state_of(learning)) == before
    assert learning.history().total == 1


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (AnswerIn("r2", "guess", "k2"), "unknown_kind"),
        (AnswerIn("r2", "label", "k2"), "no_label"),
        (AnswerIn("r2", "label", "k2", "perhaps"), "unknown_label"),
        (AnswerIn("none", "label", "k2", "yes"), "unknown_id"),
        (AnswerIn("r2", "label", "k1", "yes"), "key_reused"),
        (AnswerIn("r1", "label", "k2", "yes"), "duplicate_id"),
        (AnswerIn("r2", "label", "", "yes"), "no_key"),
    ],
)
def test_answers_are_all_or_none(learning, wrong, code):
    before = learning.sequence
    assert code_of(lambda: learning.answer("ada", [AnswerIn("r1", "label", "k1", "yes"), wrong])) == code
    assert learning.sequence == before
    assert learning.history().total == 0


def test_a_late_answer_is_accepted_or_kept_as_a_vote_and_never_an_error(learning, clock):
    late = learning.lease_questions("ada").questions[0]
    clock.now += 91
    prompt = learning.lease_questions("bob", 30).questions
    same = next(question for question in prompt if question.id == late.id)
    first = learning.answer("bob", [answered(same, "bob", label="yes")]).results[0]
    vote = learning.answer("ada", [answered(late, "ada", label="no")]).results[0]
    assert (first.status, first.learned_label) == ("learned", "yes")
    assert (vote.status, vote.learned_label, vote.changed_model) == ("vote", "yes", False)
    assert {a.by: a.label for a in learning.learner.answers([late.id])[late.id]} == {
        "ada": "no",
        "bob": "yes",
    }
    assert learning.answer("eve", [AnswerIn(prompt[0].id, "label", "k", "no", "x", "y")]).results[0].status


def test_undo_forgets_and_redo_learns_again(tmp_path):
    with set_up(tmp_path / "store") as service:
        work(service, "ada", 10)
        before = service.learner._state.learner
        bits = persist.pack(before._get_state()) if hasattr(before, "_get_state") else None
        question = service.lease_questions("ada").questions[0]
        service.answer("ada", [answered(question, "ada")])
        version = service.learner.model_version
        undone = service.undo(question.id, "ada", key="u")
        assert undone.answers_left == 0
        assert undone.model_version > version
        if bits is not None:
            assert persist.pack(service.learner._state.learner._get_state()) == bits
        assert service.undo(question.id, "ada", key="u") == replace(undone, replayed=True)
        assert code_of(lambda: service.undo(question.id, "ada")) == "no_answer"
        assert code_of(lambda: service.undo("none", "ada")) == "unknown_id"
        redo = service.answer("ada", [answered(question, "ada", key="again")]).results[0]
        assert redo.status == "learned"
        assert service.history().total == 11
        assert is_replay(service)


def test_a_wrong_answer_does_not_concern_those_beside_it(learning):
    """Requests that wait together are checked together; each gets its own outcome."""
    requests = [
        ("ada", [AnswerIn("r1", "label", "a", "yes")]),
        ("bob", [AnswerIn("r2", "label", "b", "perhaps")]),
        ("cy", [AnswerIn("r3", "label", "c", "no"), AnswerIn("none", "skip", "d")]),
        ("ada", [AnswerIn("r1", "label", "e", "no")]),  # the same row again: after the first
        ("di", [AnswerIn("r3", "label", "f", "no")]),
    ]
    first, second, third, fourth, fifth = learning._write_answers(requests)
    assert (second.code, third.code) == ("unknown_label", "unknown_id")
    assert [found.results[0].status for found in (first, fourth, fifth)] == ["learned"] * 3
    assert learning.learner.labels_of(["r1", "r2", "r3"]) == {"r1": "no", "r2": None, "r3": "no"}
    assert learning._votes.ballots == {"r1": {"ada": "no"}, "r3": {"di": "no"}}


def test_the_clock_of_the_machine_may_jump(tmp_path, monkeypatch):
    """Leases have their own clock; answers keep the order of the log, and the model is that of a replay."""
    now = [1.8e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    service = set_up(tmp_path / "points.everlearn")
    order = []
    for jump in (0.0, 4e7, -9e7, 60.0, -1.7e9):
        held = service.lease_questions("bob", 2).questions
        now[0] += jump
        service.add_rows(rows(5, first=3000 + 10 * len(order)))
        assert not {q.id for q in held} & {q.id for q in service.lease_questions("ada", 5).questions}
        assert all(80 < service.renew(q.lease.id, q.lease.token) <= 90 for q in held)
        service.answer("bob", [answered(held[0], "bob")])
        order.append(held[0].id)
        service.release([(held[1].lease.id, held[1].lease.token)])
    assert [entry.id for entry in service.history(by="bob").entries] == order[::-1]
    assert service.status()["labels"] == len(order)
    service.undo(order[0], "bob")
    assert is_replay(service)


def test_a_skip_can_be_undone(clock):
    with set_up(clock=clock, n=3) as service:
        question = service.lease_questions("ada").questions[0]
        service.answer("ada", [answered(question, "ada", kind="skip")])
        assert service.undo(question.id, "ada").answers_left == 0
        assert question.id in {q.id for q in service.lease_questions("ada", 3).questions}


def test_a_clock_that_jumps_changes_neither_leases_nor_the_order_of_answers(tmp_path, clock, monkeypatch):
    with set_up(tmp_path / "store", clock=clock) as service:
        given = []
        for jump in (0.0, 86_400.0, -86_400.0, 0.0):
            now = 1.7e9 + jump
            monkeypatch.setattr("time.time", lambda now=now: now)
            (question,) = service.lease_questions("ada").questions
            assert question.lease.expires_in == pytest.approx(90, abs=0.01)
            service.answer("ada", [answered(question, "ada")])
            given.append(question.id)
        assert [entry.id for entry in service.history().entries] == given[::-1]
        times = [answer.time for _, answer in service.learner.given_answers()]
        assert times[2] < times[1], "times are those of the machine's clock; the order is that of the log"
        service.undo(given[1], "ada")
        assert is_replay(service)


def test_unsure_after_a_label_takes_the_label_back(learning):
    learning.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    result = learning.answer("ada", [AnswerIn("r1", "unsure", "b")]).results[0]
    assert (result.status, result.learned_label) == ("unsure", None)
    assert learning.learner.labels_of(["r1"]) == {"r1": None}
    assert [(entry.id, entry.kind) for entry in learning.history().entries] == [("r1", "unsure")]


def test_undo_takes_back_only_ones_own_answer(learning):
    learning.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    learning.answer("bob", [AnswerIn("r1", "label", "b", "no")])
    assert learning.undo("r1", "ada").answers_left == 1
    assert learning.learner.labels_of(["r1"]) == {"r1": "no"}
    assert code_of(lambda: learning.undo("r1", "eve")) == "no_answer"


# --------------------------------------------------------------------------------------------- several people


def test_overlap_asks_several_people_and_agreement_is_measured(clock):
    settings = ServiceSettings(overlap_answers=2, overlap_fraction=1.0)
    with set_up(clock=clock, n=20, settings=settings) as service:
        ada = work(service, "ada", 10)
        found = service.lease_questions("bob", 20).questions
        shared = [question for question in found if question.why.kind == "overlap"]
        assert {question.id for question in shared} == set(ada)
        assert "1 of 2 answers" in shared[0].why.text
        service.answer("bob", [answered(question, "bob") for question in shared])
        agreement = service.status()["agreement"]
        assert agreement["n"] == 10
        assert agreement["cohen"] == {"ada,bob": 1.0}
        assert agreement["fleiss"] == 1.0
        assert not [q for q in service.lease_questions("eve", 20).questions if q.id in ada]
        people = {person["name"]: person for person in service.status()["people"]}
        assert people["ada"]["answers"] == 10
        assert people["ada"]["reliability"] > 0.8


def test_disagreements_are_a_queue_until_there_is_a_majority(learning):
    learning.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    learning.answer("bob", [AnswerIn("r1", "label", "b", "no")])
    question = learning.lease_questions("eve", queue="disagreements").questions[0]
    assert question.id == "r1"
    assert question.why.kind == "disagreement"
    assert "two people disagree" in question.why.text
    assert learning.lease_questions("ada", queue="disagreements").empty.reason == "all_leased"
    result = learning.answer("eve", [answered(question, "eve", label="no")]).results[0]
    assert result.learned_label == "no"
    assert learning.lease_questions("ada", queue="disagreements").empty.reason == "all_answered"


def test_suspected_mistakes_are_a_queue_and_a_confirmed_one_leaves_it(clock):
    with set_up(clock=clock, n=300) as service:
        fields = {f"r{n}": service.learner.records_of([f"r{n}"])[f"r{n}"] for n in range(300)}
        right = {row: CLASSES[int(float(f["x"]) * float(f["z"]) > 0)] for row, f in fields.items()}
        wrong = max(right, key=lambda row: min(abs(float(fields[row]["x"])), abs(float(fields[row]["z"]))))
        right[wrong] = {"no": "yes", "yes": "no"}[right[wrong]]
        for start in range(0, 300, 50):
            part = list(right)[start : start + 50]
            service.answer("ada", [AnswerIn(row, "label", row, right[row]) for row in part])
        found = service.lease_questions("bob", 50, queue="suspects").questions
        assert wrong in [question.id for question in found]
        question = next(question for question in found if question.id == wrong)
        assert question.why.kind == "suspect"
        assert f"labeled {right[wrong]}, but the model disagrees" in question.why.text
        service.answer("bob", [answered(question, "bob", label=right[wrong])])
        again = service.lease_questions("eve", 50, queue="suspects").questions
        assert wrong not in [question.id for question in again]


def test_near_duplicates_are_leased_and_labeled_and_undone_together(clock):
    settings = ServiceSettings(group_duplicates=True, duplicate_similarity=0.98)
    with LearningService(":memory:", settings, clock=clock) as service:
        lines = [f"r{n},{n // 3},{-(n // 3)}" for n in range(12)]  # four groups of three equal rows
        upload = service.inspect_upload(("id,x,z\n" + "\n".join(lines)).encode(), "a.csv").upload
        service.set_up(upload, classes=CLASSES)
        question = service.lease_questions("ada").questions[0]
        group = {f"r{3 * (int(question.id[1:]) // 3) + at}" for at in range(3)}
        assert {question.id, *question.duplicates} == group
        assert not group & {q.id for q in service.lease_questions("bob", 12).questions}
        service.answer("ada", [answered(question, "ada", label="yes")])
        assert service.learner.labels_of(sorted(group)) == dict.fromkeys(sorted(group), "yes")
        service.undo(question.id, "ada")
        assert service.learner.labels_of(sorted(group)) == dict.fromkeys(sorted(group))


def test_an_undo_leaves_the_near_duplicates_that_were_labeled_again(clock):
    settings = ServiceSettings(group_duplicates=True, duplicate_similarity=0.98)
    with LearningService(":memory:", settings, clock=clock) as service:
        upload = service.inspect_upload(b"id,x\nr0,1\nr1,1\nr2,1\nr3,9\n", "a.csv").upload
        service.set_up(upload, classes=CLASSES)
        question = next(q for q in service.lease_questions("ada", 4).questions if len(q.duplicates) == 2)
        service.answer("ada", [answered(question, "first", label="yes")])
        again, other = question.duplicates
        service.answer("ada", [AnswerIn(again, "label", "second", "no")])
        service.change_settings(ServiceSettings(group_duplicates=False))
        service.undo(question.id, "ada")
        assert service.learner.labels_of([question.id, other]) == {question.id: None, other: None}
        assert service.learner.labels_of([again]) == {again: "no"}
