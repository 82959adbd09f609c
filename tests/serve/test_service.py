"""The service without HTTP: what programs and people see, and what the log has afterwards."""

import json
import threading
from dataclasses import asdict, replace

import pytest

from everlearn._base import persist
from everlearn.errors import BusyError, InputError
from everlearn.serve.service import AnswerIn, LearningService, RowIn, ServiceSettings
from everlearn.stream import NeverEndingLearner
from serve.service_helpers import CLASSES, Clock, answered, rows, set_up, table, truth_of, work


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr("everlearn.serve._overview._FRESH", 0.0)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(clock):
    with set_up(clock=clock) as service:
        yield service


def code_of(call):
    with pytest.raises(InputError) as caught:
        call()
    return caught.value.code


def state_of(service):
    return persist.pack(service.learner._state.state())


def is_replay(service):
    """Whether the model is that of a replay of the log, bit for bit, and of the store opened again."""
    place = service._store
    bits = state_of(service)
    service.close()
    with NeverEndingLearner.replay(place) as again:
        replayed = persist.pack(again._state.state()) == bits
    with NeverEndingLearner.open(place) as opened:
        return replayed and persist.pack(opened._state.state()) == bits


# ------------------------------------------------------------------------------------------------- starting


def test_an_empty_store_says_so_and_can_be_set_up():
    with LearningService(":memory:") as service:
        assert service.setup_needed
        assert service.status()["setup_needed"]
        assert code_of(lambda: service.lease_questions("ada")) == "setup_needed"
        found = service.inspect_upload(table(labels=True).encode(), "points.csv")
        assert [(f.name, f.kind) for f in found.fields] == [
            ("id", "id"),
            ("x", "numeric"),
            ("z", "numeric"),
            ("color", "categorical"),
            ("label", "label"),
        ]
        assert (found.rows_seen, found.label_column, found.classes) == (60, "label", CLASSES)
        status = service.set_up(found.upload, label_column="label", classes=CLASSES, name="Points")
        assert (status["rows"], status["labels"], status["name"]) == (60, 60, "Points")
        assert not status["setup_needed"]
        assert code_of(lambda: service.inspect_upload(b"x\n1\n", "x.csv")) == "not_empty"
        assert code_of(lambda: service.set_up(found.upload)) == "not_empty"
        json.dumps(status)


def test_kinds_are_corrected_and_a_label_column_can_be_no_label():
    with LearningService(":memory:") as service:
        found = service.inspect_upload(table(labels=True).encode(), "points.csv")
        status = service.set_up(found.upload, kinds={"color": "ignore", "z": "categorical"})
        kinds = {field["name"]: field["kind"] for field in status["schema"]}
        assert kinds["color"] == "ignore"
        assert kinds["z"] == "categorical"
        assert kinds["label"] == "categorical"
        assert status["labels"] == 0


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"", "a.csv"), (b"\x00\x01\x02", "a.bin"), (b"[1, 2", "a.jsonl"), (b"x\n", "a.csv")],
)
def test_a_bad_file_is_the_callers_mistake_and_does_not_tell_where_it_is_kept(content, name):
    with LearningService(":memory:") as service:
        with pytest.raises(InputError) as caught:
            service.inspect_upload(content, name)
        assert "/tmp" not in str(caught.value)
        assert service.setup_needed


def test_notes_and_settings_survive_the_set_up_and_a_restart(tmp_path):
    place = tmp_path / "store"
    with LearningService(place, ServiceSettings(blind=False, lease_seconds=30)) as service:
        service.set_notes({"tokens": ["hash"]})
        upload = service.inspect_upload(table().encode(), "points.csv").upload
        service.set_up(upload, classes=CLASSES, name="Points")
        assert service.notes()["tokens"] == ["hash"]
    with LearningService(place) as service:
        assert service.settings == ServiceSettings("Points", blind=False, lease_seconds=30)
        assert service.notes()["tokens"] == ["hash"]
        assert service.classes() == CLASSES
        service.change_settings(replace(service.settings, blind=True))
        assert code_of(lambda: service.change_settings(ServiceSettings(lease_seconds=0))) == "bad_setting"
    with LearningService(place) as service:
        assert service.settings.blind


# ------------------------------------------------------------------------------------------------------ rows


def test_rows_are_predicted_stored_and_shown_as_they_were_sent(service):
    work(service, "ada", 20)
    before = service.sequence
    added = service.add_rows(rows(3), by="p", key="k")
    assert added.sequence > before
    assert not added.replayed
    assert [row.id for row in added.predictions] == ["r1000", "r1001", "r1002"]
    first = added.predictions[0]
    assert first.label in CLASSES
    assert set(first.probabilities) == set(CLASSES)
    assert sum(first.probabilities.values()) == pytest.approx(1, abs=1e-4)
    assert service.learner.records_of(["r1001"])["r1001"] == dict(rows(3)[1].fields)


def test_predicting_stores_nothing(service):
    work(service, "ada", 20)
    before = state_of(service), service.sequence
    found = service.predict(rows(5))
    assert [row.id for row in found.predictions] == [f"r{n}" for n in range(1000, 1005)]
    assert found.model_version == service.learner.model_version
    assert service.predict([RowIn({"x": 0.5, "z": 0.5, "color": "red"})]).predictions[0].id is None
    assert (state_of(service), service.sequence) == before


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ([], "no_rows"),
        ([RowIn({"x": "many", "z": 1.0, "color": "red"})], "bad_row"),
        ([RowIn({"x": 1.0, "z": 1.0, "color": "red", "other": 1})], "unknown_fields"),
        ([RowIn({"x": 1.0, "z": 1.0, "color": "red"}, "r1")], "duplicate_id"),
        ([RowIn({"x": 1.0, "z": 1.0, "color": "\ud800"})], "bad_row"),
        ([RowIn({"x": 1.0, "z": 1.0, "color": "red"}, label=[1])], "bad_label"),
    ],
)
def test_a_bad_row_is_refused_and_nothing_is_stored(service, bad, code):
    before = service.sequence
    assert code_of(lambda: service.add_rows([*rows(2), *bad] if bad else [])) == code
    assert service.sequence == before


def test_a_repeated_key_returns_the_first_outcome_and_another_body_is_refused(service):
    first = service.add_rows(rows(3), by="p", key="k")
    before = service.sequence
    again = service.add_rows(rows(3), by="p", key="k")
    assert again == replace(first, replayed=True)
    assert code_of(lambda: service.add_rows(rows(4), by="p", key="k")) == "key_reused"
    assert service.sequence == before
    assert not service.add_rows(rows(3, first=2000), by="another", key="k").replayed


def test_posts_of_many_threads_are_grouped_and_each_gets_its_own_predictions(tmp_path):
    with set_up(tmp_path / "store") as service:
        results, start = {}, threading.Barrier(8)

        def post(worker):
            start.wait()
            for turn in range(5):
                first = 1000 + 100 * worker + 10 * turn
                results[first] = service.add_rows(rows(3, first=first), by=str(worker), key=str(turn))

        threads = [threading.Thread(target=post, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 40
        for first, added in results.items():
            assert [row.id for row in added.predictions] == [f"r{first + at}" for at in range(3)]
        assert service.status()["rows"] == 60 + 120
        assert is_replay(service)


def test_one_wrong_post_does_not_spoil_the_block_of_the_others(service):
    done = []
    taken = threading.Event()

    def hold():
        taken.wait()

    waiting = threading.Thread(target=lambda: service._writer.do("call", hold))
    waiting.start()
    posts = [rows(2, first=3000), [replace(rows(1)[0], id="r1")], rows(2, first=4000)]

    def post(content):
        try:
            done.append(len(service.add_rows(content).predictions))
        except InputError as error:
            done.append(error.code)

    threads = [threading.Thread(target=post, args=(content,)) for content in posts]
    for thread in threads:
        thread.start()
    while service._writer.waiting() < 3:
        pass
    taken.set()
    for thread in [waiting, *threads]:
        thread.join()
    assert sorted(map(str, done)) == ["2", "2", "duplicate_id"]
    assert service.status()["rows"] == 64


def test_a_full_queue_is_busy_and_nothing_is_done(clock):
    with set_up(clock=clock, queue_length=2) as service:
        taken = threading.Event()
        threads = [threading.Thread(target=lambda: service._writer.do("call", taken.wait)) for _ in range(3)]
        for at, thread in enumerate(threads):
            thread.start()
            while at and service._writer.waiting() < at:
                pass
            while not at and service._writer.waiting():
                pass
        with pytest.raises(BusyError) as caught:
            service.answer("ada", [AnswerIn("r1", "label", "k", "yes")])
        assert caught.value.retry_after >= 1
        taken.set()
        for thread in threads:
            thread.join()
        assert service.answer("ada", [AnswerIn("r1", "label", "k", "yes")]).results[0].status == "learned"


# ------------------------------------------------------------------------------------------------ questions


def test_a_question_has_a_lease_a_reason_and_the_fields_of_the_row(service):
    question = service.lease_questions("ada").questions[0]
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


def test_nobody_gets_the_question_of_another(service):
    ids = [q.id for by in ("ada", "bob") for q in service.lease_questions(by, 5).questions]
    assert len(set(ids)) == 10
    more = service.lease_questions("ada", 5, exclude=ids)
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


def test_release_and_renew(service, clock):
    question = service.lease_questions("ada").questions[0]
    clock.now += 50
    assert service.renew(question.lease.id, question.lease.token) == 90
    assert code_of(lambda: service.renew(question.lease.id, "guess")) == "lease_gone"
    assert service.release([(question.lease.id, question.lease.token), ("none", "none")]) == 1
    assert code_of(lambda: service.renew(question.lease.id, question.lease.token)) == "lease_gone"
    assert question.id in [q.id for q in service.lease_questions("bob", 5).questions]


# -------------------------------------------------------------------------------------------------- answers


def test_an_answer_is_learned_with_why_when_and_by_whom(service):
    question = service.lease_questions("ada").questions[0]
    before = service.learner.model_version
    given = service.answer("ada", [replace(answered(question, "ada"), comment="sure", wrong_field="x")])
    result = given.results[0]
    assert (result.status, result.learned_label, result.changed_model) == (
        "learned",
        truth_of(question),
        True,
    )
    assert given.model_version > before
    assert given.sequence == service.sequence
    entry = service.history(by="ada").entries[0]
    assert (entry.id, entry.label, entry.comment, entry.wrong_field) == (
        question.id,
        truth_of(question),
        "sure",
        "x",
    )
    assert entry.why == question.why.text
    assert entry.model_version == before
    assert "x: " in entry.summary


def test_the_prediction_before_the_answer_is_told_afterwards(service):
    work(service, "ada", 20)
    question = service.lease_questions("ada").questions[0]
    expected = service.predict([RowIn({f.name: f.value for f in question.fields})]).predictions[0]
    result = service.answer("ada", [answered(question, "ada")]).results[0]
    assert result.prediction_before.label == expected.label
    assert result.prediction_before.confidence == pytest.approx(
        expected.probabilities[expected.label], abs=1e-4
    )


def test_the_same_key_is_answered_once(service):
    question = service.lease_questions("ada").questions[0]
    first = service.answer("ada", [answered(question, "ada")]).results[0]
    before = service.sequence, state_of(service)
    again = service.answer("ada", [answered(question, "ada")]).results[0]
    assert again == replace(first, status="replayed")
    other = {"no": "yes", "yes": "no"}[truth_of(question)]
    assert code_of(lambda: service.answer("ada", [answered(question, "ada", label=other)])) == "key_reused"
    assert (service.sequence, state_of(service)) == before
    assert service.history().total == 1


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
def test_answers_are_all_or_none(service, wrong, code):
    before = service.sequence
    assert code_of(lambda: service.answer("ada", [AnswerIn("r1", "label", "k1", "yes"), wrong])) == code
    assert service.sequence == before
    assert service.history().total == 0


def test_a_late_answer_is_accepted_or_kept_as_a_vote_and_never_an_error(service, clock):
    late = service.lease_questions("ada").questions[0]
    clock.now += 91
    prompt = service.lease_questions("bob", 30).questions
    same = next(question for question in prompt if question.id == late.id)
    first = service.answer("bob", [answered(same, "bob", label="yes")]).results[0]
    vote = service.answer("ada", [answered(late, "ada", label="no")]).results[0]
    assert (first.status, first.learned_label) == ("learned", "yes")
    assert (vote.status, vote.learned_label, vote.changed_model) == ("vote", "yes", False)
    assert {a.by: a.label for a in service.learner.answers([late.id])[late.id]} == {"ada": "no", "bob": "yes"}
    assert service.answer("eve", [AnswerIn(prompt[0].id, "label", "k", "no", "x", "y")]).results[0].status


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


def test_a_skip_can_be_undone(clock):
    with set_up(clock=clock, n=3) as service:
        question = service.lease_questions("ada").questions[0]
        service.answer("ada", [answered(question, "ada", kind="skip")])
        assert service.undo(question.id, "ada").answers_left == 0
        assert question.id in {q.id for q in service.lease_questions("ada", 3).questions}


def test_unsure_after_a_label_takes_the_label_back(service):
    service.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    result = service.answer("ada", [AnswerIn("r1", "unsure", "b")]).results[0]
    assert (result.status, result.learned_label) == ("unsure", None)
    assert service.learner.labels_of(["r1"]) == {"r1": None}
    assert [(entry.id, entry.kind) for entry in service.history().entries] == [("r1", "unsure")]


def test_undo_takes_back_only_ones_own_answer(service):
    service.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    service.answer("bob", [AnswerIn("r1", "label", "b", "no")])
    assert service.undo("r1", "ada").answers_left == 1
    assert service.learner.labels_of(["r1"]) == {"r1": "no"}
    assert code_of(lambda: service.undo("r1", "eve")) == "no_answer"


# ------------------------------------------------------------------------------------------- several people


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


def test_disagreements_are_a_queue_until_there_is_a_majority(service):
    service.answer("ada", [AnswerIn("r1", "label", "a", "yes")])
    service.answer("bob", [AnswerIn("r1", "label", "b", "no")])
    question = service.lease_questions("eve", queue="disagreements").questions[0]
    assert question.id == "r1"
    assert question.why.kind == "disagreement"
    assert "two people disagree" in question.why.text
    assert service.lease_questions("ada", queue="disagreements").empty.reason == "all_leased"
    result = service.answer("eve", [answered(question, "eve", label="no")]).results[0]
    assert result.learned_label == "no"
    assert service.lease_questions("ada", queue="disagreements").empty.reason == "all_answered"


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
        assert f"contradicts the label {right[wrong]}" in question.why.text
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


# ------------------------------------------------------------------------------------------------ everybody


def test_events_resume_from_a_sequence_and_tell_no_ids_and_no_labels(service):
    before = service.sequence
    service.add_rows(rows(3))
    work(service, "ada", 3)
    service.undo(service.history().entries[0].id, "ada")
    found = service.events_after(before)
    kinds = [event.event for event in found]
    assert kinds[0] == "rows"
    assert {"labels", "withdrawn"} <= set(kinds)
    sequences = [event.sequence for event in found]
    assert sequences == sorted(sequences)
    assert service.events_after(sequences[1]) == [e for e in found if e.sequence > sequences[1]]
    assert service.events_after(service.sequence) == []
    assert "yes" not in json.dumps([event.data for event in found])
    parts, last = [], before
    while part := service.events_after(last, limit=2):
        parts += [event for event in part if event.event != "status"]
        last = part[-1].sequence
    assert parts == [event for event in found if event.event != "status"]


def test_those_who_listen_hear_of_every_commit(service):
    heard = []
    end = service.listen(heard.append)
    service.listen(lambda sequence: 1 / 0)  # must not stop the writer
    service.add_rows(rows(2))
    assert service.wait_for_event(service.sequence - 1, 5)
    assert not service.wait_for_event(service.sequence, 0.01)
    end()
    service.add_rows(rows(2, first=5000))
    assert heard == [max(heard)]


def test_history_is_searched_by_person_and_text(service):
    service.answer("ada", [AnswerIn("r1", "label", "a", "yes", comment="Looks Odd")])
    service.answer("bob", [AnswerIn("r2", "label", "b", "no")])
    service.answer("bob", [AnswerIn("r3", "skip", "c")])
    assert [entry.id for entry in service.history().entries] == ["r3", "r2", "r1"]
    assert [entry.id for entry in service.history(by="bob", limit=1).entries] == ["r3"]
    assert service.history(by="bob", offset=1).entries[0].id == "r2"
    assert [entry.id for entry in service.history(q="odd").entries] == ["r1"]
    assert service.history(q="blue").total == 2
    service.undo("r2", "bob")
    assert service.history(by="bob").total == 1


def test_status_has_what_the_page_shows(clock):
    with set_up(clock=clock, n=300) as service:
        work(service, "ada", 150)
        status = service.status()
        json.dumps(status)
        assert status["labels"] == 150
        assert (
            0 <= status["accuracy"]["low"] <= status["accuracy"]["value"] <= status["accuracy"]["high"] <= 1
        )
        assert status["curve"][-1]["labels"] <= 150
        assert status["budget"]["left"] is None
        assert set(service._empty_status()) == set(status)
        assert {"stop", "text", "expected_gain_100"} == set(status["stopping"])


def test_the_report_and_the_model_are_exported(service):
    assert code_of(service.export_model) == "no_model"
    work(service, "ada", 15)
    assert "<html" in service.report_html()
    assert len(service.export_model()) > 1000


def test_labels_are_exported_and_imported_with_who_when_and_why(service, tmp_path):
    ids = work(service, "ada", 3)
    service.answer("bob", [AnswerIn("r1" if "r1" not in ids else "r2", "label", "b", "no", comment="=1+1")])
    content, media = service.export_labels("jsonl")
    lines = [json.loads(line) for line in content.decode().splitlines()]
    assert media == "application/x-ndjson"
    assert [line["id"] for line in lines[:3]] == ids
    assert all(line["by"] == "ada" and line["why_asked"] and line["at"] for line in lines[:3])
    csv = service.export_labels("csv")[0].decode()
    assert "'=1+1" in csv
    import pyarrow.parquet as pq

    (tmp_path / "labels.parquet").write_bytes(service.export_labels("parquet")[0])
    assert pq.read_table(tmp_path / "labels.parquet").num_rows == 4
    assert code_of(lambda: service.export_labels("xls")) == "unknown_format"
    with set_up() as other:
        given = other.import_labels(csv.encode(), by="import", key="k")
        assert len(given.results) == 4
        assert other.learner.labels_of(ids) == service.learner.labels_of(ids)
        again = other.import_labels(csv.encode(), by="import", key="k")
        assert {result.status for result in again.results} == {"replayed"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("id,label\nr1,yes\nnone,no\n", "unknown_id"),
        ("id,label\nr1,yes\nr2,perhaps\n", "unknown_label"),
        ("row,answer\nr1,yes\n", "bad_table"),
        ('id,label\nr1,"yes\n', "bad_table"),
    ],
)
def test_a_bad_table_imports_nothing(service, content, code):
    before = service.sequence
    assert code_of(lambda: service.import_labels(content.encode(), by="ada")) == code
    assert service.sequence == before


# --------------------------------------------------------------------------------------------------- the log


def test_a_restart_forgets_leases_but_no_answer(tmp_path):
    place = tmp_path / "store"
    settings = ServiceSettings(overlap_answers=2, overlap_fraction=1.0)
    with set_up(place, settings=settings) as service:
        held = service.lease_questions("eve").questions[0]
        ids = work(service, "ada", 5, exclude=[held.id])
        service.answer("bob", [AnswerIn(ids[0], "label", "b", "no"), AnswerIn(ids[1], "skip", "c")])
        first = service.answer("bob", [AnswerIn(ids[2], "label", "d", "no")])
    with LearningService(place) as service:
        assert len(service._leases) == 0
        assert service.answer("eve", [answered(held, "eve")]).results[0].status == "learned"
        assert service.history().total == 9
        again = service.answer("bob", [AnswerIn(ids[2], "label", "d", "no")])
        assert again.results[0] == replace(first.results[0], status="replayed")
        shared = {q.id for q in service.lease_questions("tom", 50).questions if q.why.kind == "overlap"}
        assert shared == {*ids[1:2], *ids[3:], held.id}
        assert is_replay(service)


def test_an_answer_of_the_command_line_counts_too(tmp_path):
    place = tmp_path / "store"
    with set_up(place):
        pass
    with NeverEndingLearner.open(place) as learner:
        learner.label(["r1", "r2"], ["yes", "no"], by="cli")
        learner.withdraw(["r2"])
    with LearningService(place) as service:
        assert [(entry.id, entry.by) for entry in service.history().entries] == [("r1", "cli")]


def test_erased_rows_leave_no_trace_beside_the_log(tmp_path):
    place = tmp_path / "store"
    with set_up(place) as service:
        secret = "SECRETCOLOR"
        service.add_rows([RowIn({"x": 0.5, "z": 0.5, "color": secret}, "secret-row")], by="p", key="k")
        service.answer("ada", [AnswerIn("secret-row", "label", "a", "yes", comment="SECRETCOMMENT")])
        service.learner.erase(["secret-row"], verify=False)
        assert service.add_rows(
            [RowIn({"x": 0.5, "z": 0.5, "color": secret}, "secret-row")], by="p", key="k"
        ).replayed
    content = place.read_bytes()
    for word in (b"SECRETCOLOR", b"SECRETCOMMENT", b"secret-row"):
        assert word not in content


def test_a_backup_and_a_replay_have_records_answers_and_requests(tmp_path):
    with set_up(tmp_path / "store") as service:
        service.add_rows(rows(3), by="p", key="k")
        work(service, "ada", 4)
        history = service.history()
        service.learner.backup(tmp_path / "copy")
    NeverEndingLearner.replay(tmp_path / "store", into=tmp_path / "again").close()
    for name in ("copy", "again"):
        with LearningService(tmp_path / name) as service:
            assert service.history() == history
            assert service.add_rows(rows(3), by="p", key="k").replayed
            assert service.learner.records_of(["r1000"])
