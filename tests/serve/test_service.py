"""The service without HTTP: setting up a project, rows of programs, and what the log has."""

import json
import threading
from dataclasses import replace

import pytest

from everlearn.errors import BusyError, InputError
from everlearn.serve.service import AnswerIn, LearningService, RowIn, ServiceSettings
from everlearn.stream import NeverEndingLearner
from serve.service_helpers import (
    CLASSES,
    answered,
    code_of,
    is_replay,
    rows,
    set_up,
    state_of,
    table,
    work,
)

# --------------------------------------------------------------------------------------------------- starting


def test_an_empty_store_says_so_and_can_be_set_up():
    with LearningService(":memory:", random_state=0) as service:
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
    with LearningService(":memory:", random_state=0) as service:
        found = service.inspect_upload(table(labels=True).encode(), "points.csv")
        assert {field.name: field.note for field in found.fields}["color"] == "2 categories"
        with pytest.raises(InputError, match="'label' is given as label, but label_column is None"):
            service.set_up(found.upload, kinds={"label": "label"})
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
    with LearningService(":memory:", random_state=0) as service:
        with pytest.raises(InputError) as caught:
            service.inspect_upload(content, name)
        assert "/tmp" not in str(caught.value)
        assert service.setup_needed


def test_notes_and_settings_survive_the_set_up_and_a_restart(tmp_path):
    place = tmp_path / "store"
    settings = ServiceSettings(blind=False, lease_seconds=30)
    with LearningService(place, settings, random_state=0) as service:
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


# ------------------------------------------------------------------------------------------------------- rows


def test_rows_are_predicted_stored_and_shown_as_they_were_sent(learning):
    work(learning, "ada", 20)
    before = learning.sequence
    added = learning.add_rows(rows(3), by="p", key="k")
    assert added.sequence > before
    assert not added.replayed
    assert [row.id for row in added.predictions] == ["r1000", "r1001", "r1002"]
    first = added.predictions[0]
    assert first.label in CLASSES
    assert set(first.probabilities) == set(CLASSES)
    assert sum(first.probabilities.values()) == pytest.approx(1, abs=1e-4)
    assert learning.learner.records_of(["r1001"])["r1001"] == dict(rows(3)[1].fields)


def test_predicting_stores_nothing(learning):
    work(learning, "ada", 20)
    before = state_of(learning), learning.sequence
    found = learning.predict(rows(5))
    assert [row.id for row in found.predictions] == [f"r{n}" for n in range(1000, 1005)]
    assert found.model_version == learning.learner.model_version
    assert learning.predict([RowIn({"x": 0.5, "z": 0.5, "color": "red"})]).predictions[0].id is None
    assert (state_of(learning), learning.sequence) == before


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
def test_a_bad_row_is_refused_and_nothing_is_stored(learning, bad, code):
    before = learning.sequence
    assert code_of(lambda: learning.add_rows([*rows(2), *bad] if bad else [])) == code
    assert learning.sequence == before


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 1001])
def test_ids_and_labels_are_bounded_wherever_they_come_from(learning, name):
    fields = dict(rows(1)[0].fields)
    id_field = learning.learner.schema and next(
        field["name"] for field in learning.status()["schema"] if field["kind"] == "id"
    )
    before = learning.sequence
    assert code_of(lambda: learning.add_rows([RowIn({**fields, id_field: name})])) == "bad_row"
    if name:
        assert code_of(lambda: learning.add_rows([RowIn(fields, "r5000", label=name)])) == "bad_label"
    assert learning.sequence == before


def test_a_repeated_key_returns_the_first_outcome_and_another_body_is_refused(learning):
    first = learning.add_rows(rows(3), by="p", key="k")
    before = learning.sequence
    again = learning.add_rows(rows(3), by="p", key="k")
    assert again == replace(first, replayed=True)
    assert code_of(lambda: learning.add_rows(rows(4), by="p", key="k")) == "key_reused"
    assert learning.sequence == before
    assert not learning.add_rows(rows(3, first=2000), by="another", key="k").replayed


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


def test_one_wrong_post_does_not_spoil_the_block_of_the_others(learning):
    done = []
    begun, taken = threading.Event(), threading.Event()

    def hold():
        begun.set()
        taken.wait()

    waiting = threading.Thread(target=lambda: learning._writer.do("call", hold))
    waiting.start()
    begun.wait()  # else a post may be done before it
    posts = [rows(2, first=3000), [replace(rows(1)[0], id="r1")], rows(2, first=4000)]

    def post(content):
        try:
            done.append(len(learning.add_rows(content).predictions))
        except InputError as error:
            done.append(error.code)

    threads = [threading.Thread(target=post, args=(content,)) for content in posts]
    for thread in threads:
        thread.start()
    while learning._writer.waiting() < 3:
        pass
    taken.set()
    for thread in [waiting, *threads]:
        thread.join()
    assert sorted(map(str, done)) == ["2", "2", "duplicate_id"]
    assert learning.status()["rows"] == 64


def test_a_full_queue_is_busy_and_nothing_is_done(clock):
    with set_up(clock=clock, queue_length=2) as service:
        taken, begun = threading.Event(), threading.Event()

        def hold():
            begun.set()
            taken.wait()

        threads = [threading.Thread(target=lambda: service._writer.do("call", hold)) for _ in range(3)]
        for at, thread in enumerate(threads):
            thread.start()
            assert begun.wait(60)  # the first job is being done, the others wait
            while service._writer.waiting() < at:
                pass
        with pytest.raises(BusyError) as caught:
            service.answer("ada", [AnswerIn("r1", "label", "k", "yes")])
        assert caught.value.retry_after >= 1
        taken.set()
        for thread in threads:
            thread.join()
        assert service.answer("ada", [AnswerIn("r1", "label", "k", "yes")]).results[0].status == "learned"


# ---------------------------------------------------------------------------------------------------- the log


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
