"""Questions: leased to one person, with a reason, and what an empty queue says."""

import json
from dataclasses import asdict

from everlearn.serve.service import ServiceSettings
from serve.service_helpers import CLASSES, answered, code_of, set_up, work


def test_a_question_has_a_lease_a_reason_and_the_fields_of_the_row(learning):
    question = learning.lease_questions("ada").questions[0]
    assert question.lease.expires_in == 90
    assert question.why.kind in ("cold_start", "random")
    assert question.why.text
    assert question.why.rank == 1
    assert [(field.name, field.kind) for field in question.fields] == [
        ("x", "number"),
        ("z", "number"),
        ("color", "category"),
    ]
    assert question.prediction is None
    assert question.evidence == []
    json.dumps(asdict(question))


def test_uncertain_questions_say_between_which_classes_and_evidence_is_shown_unless_blind(clock):
    with set_up(clock=clock, n=200, settings=ServiceSettings(blind=False)) as service:
        work(service, "ada", 40)
        kinds = {}
        for question in service.lease_questions("ada", 20).questions:
            kinds[question.why.kind] = question
        question = kinds["uncertain"]
        assert "boundary between no and yes" in question.why.text
        assert question.why.between == CLASSES
        assert question.why.like_it >= 0
        assert question.why.utility is not None
        assert question.prediction.label in CLASSES
        assert {found.speaks for found in question.evidence} <= {"for", "against"}
        assert 0 < len(question.evidence) <= 6
        assert all(0 < found.share <= 1 for found in question.evidence)
        assert all("x: " in found.summary for found in question.evidence)
        assert "random" in kinds


def test_nobody_gets_the_question_of_another(learning):
    ids = [q.id for by in ("ada", "bob") for q in learning.lease_questions(by, 5).questions]
    assert len(set(ids)) == 10
    more = learning.lease_questions("ada", 5, exclude=ids)
    assert not {q.id for q in more.questions} & set(ids)


def test_an_empty_queue_says_why_and_until_when(clock):
    with set_up(clock=clock, n=12) as service:
        assert code_of(lambda: service.lease_questions("ada", queue="other")) == "unknown_queue"
        assert code_of(lambda: service.lease_questions("ada", 0)) == "bad_count"
        taken = service.lease_questions("ada", 12).questions
        assert len(taken) == 12
        clock.now += 30
        empty = service.lease_questions("bob").empty
        assert (empty.reason, empty.retry_after) == ("all_leased", 60)
        assert service.lease_questions("ada").empty.reason == "all_leased"
        clock.now += 61
        found = service.lease_questions("bob", 12).questions
        assert len(found) == 12
        service.answer("bob", [answered(question, "bob") for question in found])
        empty = service.lease_questions("bob").empty
        assert (empty.reason, empty.retry_after) == ("all_answered", None)
        for queue in ("disagreements", "suspects"):
            assert service.lease_questions("bob", queue=queue).empty.reason == "all_answered"
        before = service.sequence
        service.lease_questions("bob")
        assert service.sequence == before  # polling an empty queue writes nothing


def test_a_skipped_row_comes_back_to_the_same_person_when_the_model_has_changed(clock):
    with set_up(clock=clock, n=3) as service:
        first, second, third = service.lease_questions("ada", 3).questions
        given = service.answer("ada", [answered(first, "ada", kind="skip")])
        assert given.results[0].status == "skipped"
        assert not given.results[0].changed_model
        service.release([(second.lease.id, second.lease.token), (third.lease.id, third.lease.token)])
        ids = {q.id for q in service.lease_questions("ada", 3).questions}
        assert ids == {second.id, third.id}
        empty = service.lease_questions("ada").empty
        service.answer("ada", [answered(second, "ada"), answered(third, "ada", kind="unsure")])
        assert [q.id for q in service.lease_questions("ada", 3).questions] == [first.id]
        assert empty.reason == "all_leased"
        found = service.lease_questions("bob", 3).questions  # unsure: others may know
        assert [q.id for q in found] == [third.id]


def test_nobody_takes_all_questions(clock):
    with set_up(clock=clock, n=200) as service:
        found = [service.lease_questions("ada", 60).questions for _ in range(3)]
        assert list(map(len, found)) == [60, 40, 0]
        empty = service.lease_questions("ada").empty
        assert (empty.reason, empty.retry_after) == ("all_leased", 90)
        assert "You hold 100 questions already" in empty.message
        assert len(service.lease_questions("bob", 5).questions) == 5
        service.answer("ada", [answered(found[0][0], "ada")])
        assert len(service.lease_questions("ada", 5).questions) == 1


def test_whom_others_left_nothing_asks_again_soon(clock, monkeypatch):
    with set_up(clock=clock, n=200) as service:
        assert service.lease_questions("ada", 3).questions
        monkeypatch.setattr(service, "_ask_more", lambda *_: False)  # others take all that is asked
        empty = service.lease_questions("bob").empty
        assert (empty.reason, empty.retry_after) == ("all_leased", 1)
        assert "More are on their way" in empty.message
        monkeypatch.undo()
        assert service.lease_questions("bob").questions


def test_release_and_renew(learning, clock):
    question = learning.lease_questions("ada").questions[0]
    clock.now += 50
    assert learning.renew(question.lease.id, question.lease.token) == 90
    assert code_of(lambda: learning.renew(question.lease.id, "guess")) == "lease_gone"
    assert learning.release([(question.lease.id, question.lease.token), ("none", "none")]) == 1
    assert code_of(lambda: learning.renew(question.lease.id, question.lease.token)) == "lease_gone"
    assert question.id in [q.id for q in learning.lease_questions("bob", 5).questions]
