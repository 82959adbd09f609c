"""What everybody sees of a service: events, history, status, exports."""

import json
import threading
import time

import pytest

from everlearn.serve.service import AnswerIn, LearningService
from serve.service_helpers import answered, code_of, rows, set_up, work


def test_events_resume_from_a_sequence_and_tell_no_ids_and_no_labels(learning):
    before = learning.sequence
    learning.add_rows(rows(3))
    work(learning, "ada", 3)
    learning.undo(learning.history().entries[0].id, "ada")
    found = learning.events_after(before)
    kinds = [event.event for event in found]
    assert kinds[0] == "rows"
    assert {"labels", "withdrawn"} <= set(kinds)
    sequences = [event.sequence for event in found]
    assert sequences == sorted(sequences)
    assert learning.events_after(sequences[1]) == [e for e in found if e.sequence > sequences[1]]
    assert learning.events_after(learning.sequence) == []
    assert "yes" not in json.dumps([event.data for event in found])
    parts, last = [], before
    while part := learning.events_after(last, limit=2):
        parts += [event for event in part if event.event != "status"]
        last = part[-1].sequence
    assert parts == [event for event in found if event.event != "status"]


def test_those_who_listen_hear_of_every_commit(learning):
    heard = []
    end = learning.listen(heard.append)
    learning.listen(lambda sequence: 1 / 0)  # must not stop the writer
    learning.add_rows(rows(2))
    assert learning.wait_for_event(learning.sequence - 1, 5)
    assert not learning.wait_for_event(learning.sequence, 0.01)
    end()
    learning.add_rows(rows(2, first=5000))
    assert heard == [max(heard)]


def test_memory_does_not_grow_with_requests(learning, clock):
    """Blocks of rows and skips are forgotten, also if nobody reads the status."""
    for number in range(50):
        learning.add_rows(rows(1, first=2000 + number))
        clock.now += 1.0
    assert len(learning._arrivals) <= 12
    assert learning.status()["rows_per_second"] == 1.0
    for name in ("ada", "bob", "cy", "di"):
        first, second = learning.lease_questions(name, 2).questions
        learning.answer(name, [answered(first, name, kind="skip")])
        assert (first.id, name) in learning._skipped()
        learning.answer(name, [answered(second, name)])  # changes the model
        assert not learning._skipped()
        assert len(learning._skips[1]) == 1


def test_nothing_is_said_about_the_accuracy_before_it_is_measured(tmp_path):
    with set_up(tmp_path / "points.everlearn") as service:
        work(service, "ada", 12)
    with LearningService(tmp_path / "points.everlearn") as service:
        assert service.status()["stopping"]["text"] == "The accuracy is being measured."
        service.measure()
        assert "of 30 random checks" in service.status()["stopping"]["text"]


def test_history_is_searched_by_person_and_text(learning):
    learning.answer("ada", [AnswerIn("r1", "label", "a", "yes", comment="Looks Odd")])
    learning.answer("bob", [AnswerIn("r2", "label", "b", "no")])
    learning.answer("bob", [AnswerIn("r3", "skip", "c")])
    assert [entry.id for entry in learning.history().entries] == ["r3", "r2", "r1"]
    assert [entry.id for entry in learning.history(by="bob", limit=1).entries] == ["r3"]
    assert learning.history(by="bob", offset=1).entries[0].id == "r2"
    assert [entry.id for entry in learning.history(q="odd").entries] == ["r1"]
    assert learning.history(q="blue").total == 2
    learning.undo("r2", "bob")
    assert learning.history(by="bob").total == 1


def test_history_and_export_are_read_in_parts(clock, monkeypatch):
    monkeypatch.setattr("everlearn.stream._answer_methods._PART", 4)
    with set_up(clock=clock) as service:
        ids = work(service, "ada", 11)
        service.answer("bob", [AnswerIn(row, "label", f"b{row}", "no") for row in ids[:3]])
        service.undo(ids[5], "ada")
        service.answer("ada", [AnswerIn(ids[0], "label", "again", "yes")])  # the newest now
        mine = [ids[0], *[row for row in reversed(ids) if row not in (ids[0], ids[5])]]
        pages = [service.history(by="ada", offset=at, limit=3) for at in range(0, 12, 3)]
        assert [entry.id for page in pages for entry in page.entries] == mine
        assert {page.total for page in pages} == {10}
        assert service.history(limit=2).total == 13
        assert service.history(by="ada", q="again", limit=2).total == 0
        found = service.history(by="ada", q="red", offset=1, limit=2)
        assert found.total == sum(int(row[1:]) % 2 == 0 for row in mine)
        assert len(found.entries) == min(2, found.total - 1)
        pieces = list(service.export_labels("jsonl")[0])
        lines = [json.loads(line) for line in b"".join(pieces).decode().splitlines()]
        assert len(pieces) == 4
        assert [(line["id"], line["by"]) for line in lines[-4:]] == [
            *((row, "bob") for row in ids[:3]),
            (ids[0], "ada"),
        ]


def test_status_has_what_the_page_shows(clock):
    with set_up(clock=clock, n=300) as service:
        work(service, "ada", 150)
        service.measure()
        status = service.status()
        json.dumps(status)
        assert status["labels"] == 150
        assert (
            0 <= status["accuracy"]["low"] <= status["accuracy"]["value"] <= status["accuracy"]["high"] <= 1
        )
        assert status["curve"][-1]["labels"] <= 150
        assert status["budget"]["left"] is None
        assert set(service._empty_status()) == set(status)
        assert {"stop", "text", "expected_gain_100", "largest_gain_100"} == set(status["stopping"])


def test_the_report_and_the_model_are_exported(learning):
    assert code_of(learning.export_model) == "no_model"
    work(learning, "ada", 15)
    assert "<html" in learning.report_html()
    assert len(learning.export_model()) > 1000


def test_labels_are_exported_and_imported_with_who_when_and_why(learning, tmp_path):
    ids = work(learning, "ada", 3)
    learning.answer("bob", [AnswerIn("r1" if "r1" not in ids else "r2", "label", "b", "no", comment="=1+1")])
    content, media = learning.export_labels("jsonl")
    lines = [json.loads(line) for line in b"".join(content).decode().splitlines()]
    assert media == "application/x-ndjson"
    assert [line["id"] for line in lines[:3]] == ids
    assert all(line["by"] == "ada" and line["why_asked"] and line["at"] for line in lines[:3])
    csv = b"".join(learning.export_labels("csv")[0]).decode()
    assert "'=1+1" in csv
    import pyarrow.parquet as pq

    (tmp_path / "labels.parquet").write_bytes(b"".join(learning.export_labels("parquet")[0]))
    assert pq.read_table(tmp_path / "labels.parquet").num_rows == 4
    assert code_of(lambda: learning.export_labels("xls")) == "unknown_format"
    with set_up() as other:
        given = other.import_labels(csv.encode(), by="import", key="k")
        assert len(given.results) == 4
        assert other.learner.labels_of(ids) == learning.learner.labels_of(ids)
        again = other.import_labels(csv.encode(), by="import", key="k")
        assert {result.status for result in again.results} == {"replayed"}
        whose = [(entry.id, entry.by) for entry in other.history().entries]
        assert sorted(whose) == sorted((line["id"], line["by"]) for line in lines)


def test_votes_of_several_people_are_imported_at_once(learning):
    table = "id,label,by\nr1,yes,Ada\nr1,no,Bob\nr2,no,\nr3,yes,Ada\n"
    before = learning.sequence
    given = learning.import_labels(table.encode(), by="admin")
    assert {result.status for result in given.results} == {"learned", "vote"}
    assert learning._votes.ballots == {
        "r1": {"Ada": "yes", "Bob": "no"},
        "r2": {"admin": "no"},
        "r3": {"Ada": "yes"},
    }
    assert learning.learner.labels_of(["r1"]) == {"r1": "yes"}
    learning.undo("r1", "Ada")
    assert learning.learner.labels_of(["r1"]) == {"r1": "no"}
    assert learning.sequence > before


def test_tables_that_wait_together_are_checked_by_the_writer(learning):
    given, threads = [], []

    def start(*call):
        threads.append(threading.Thread(target=call[0], args=call[1:]))
        threads[-1].start()

    def hold():
        held, release = threading.Event(), threading.Event()
        start(learning._writer.do, "call", lambda: held.set() or release.wait(30))
        return held, release

    def bring_in(table):
        given.append(learning.import_labels(table.encode(), by="ada"))

    def wait_for(count):
        until = time.monotonic() + 5
        while learning._writer.waiting() < count and time.monotonic() < until:
            time.sleep(0.001)

    held, release = hold()
    assert held.wait(30)
    start(learning.add_rows, rows(1, first=7000))
    held, release_second = hold()
    wait_for(2)
    release.set()
    assert held.wait(30)  # now it is the turn of the rows, or they are done
    start(bring_in, "id,label\nr1,yes\n")
    start(bring_in, "id,label\nr7000,no\n")
    wait_for(3)
    release_second.set()
    for thread in threads:
        thread.join()
    assert [result.status for found in given for result in found.results] == ["learned", "learned"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("id,label\nr1,yes\nnone,no\n", "unknown_id"),
        ("id,label\nr1,yes\nr2,perhaps\n", "unknown_label"),
        ("row,answer\nr1,yes\n", "bad_table"),
        ('id,label\nr1,"yes\n', "bad_table"),
        ("garbage", "bad_table"),
        ("id,label\n", "bad_table"),
        ("id,label,by\nr1,yes,Ada\nr2,perhaps,Bob\n", "unknown_label"),
        ("id,label,by\nr1,yes,Ada\nr1,no,Ada\n", "duplicate_id"),
        ("id,label,by\nr1,yes," + 101 * "a" + "\n", "bad_table"),
    ],
)
def test_a_bad_table_imports_nothing(learning, content, code):
    before = learning.sequence
    assert code_of(lambda: learning.import_labels(content.encode(), by="ada")) == code
    assert learning.sequence == before
