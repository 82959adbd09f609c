"""Records arrive in parts, are linked, and questions are asked."""

import subprocess
import sys

import numpy as np
import pytest

from everlearn import LASVM, NeverEndingLearner
from everlearn.linkage import AuthorName
from everlearn.linkage.never_ending import NeverEndingLinker
from everlearn.store.linked import LinkedRecords
from linkage import killed_linker
from linkage.never_ending_helpers import PEOPLE, asked, f1, opened, people, some_authors


@pytest.fixture(scope="module")
def authors():
    return some_authors()


# ------------------------------------------------------------------------------------------------- in parts


def test_a_new_record_is_compared_with_its_block_only(authors, monkeypatch):
    table, person = authors
    with opened() as linker:
        linker.add(table[:90])
        asked(linker, person, 20)
        read = []
        for name in ("all_pairs", "all_records", "all_clusters"):
            monkeypatch.setattr(LinkedRecords, name, lambda self: pytest.fail("reads everything"))
        records = LinkedRecords.records
        monkeypatch.setattr(
            LinkedRecords,
            "records",
            lambda self, numbers: records(self, read.append(set(numbers)) or read[-1]),
        )
        added = linker.add(table[90:91])
        initial = AuthorName().keys(table[90]["name"])
        block = {at for at in range(90) if AuthorName().keys(table[at]["name"]) == initial}
        assert added.pairs == len(block) > 10
        assert set().union(*read) <= block | {90}
        assert linker.add([{**table[0], "name": "Zoe Q. Unheard"}]).pairs == 0


def test_new_records_are_attached_and_may_merge_clusters():
    with people() as linker:
        assert linker.add(PEOPLE[:4]).clusters == [0, 1, 2, 3]
        linker.answer("a", "b", True)
        linker.answer("a", "c", False)
        assert linker.clusters() == {"a": 0, "b": 0, "c": 2, "d": 3} or linker.clusters()["a"] == 0
        linker.answer("c", "d", False)
        before = linker.clusters()
        added = linker.add([{"id": "g", "name": "Ann Lee", "city": "Rome"}])
        assert added.ids == ["g"]
        assert added.clusters == [before["a"]]


# ------------------------------------------------------------------------------------------------- questions


def test_nothing_is_asked_that_follows_from_answers(authors):
    table, person = authors
    with opened() as linker:
        linker.add(table)
        known = np.arange(len(table))
        for _ in range(40):
            (question,) = linker.ask(1)
            a, b = question.left_id, question.right_id
            assert known[a] != known[b]
            same = bool(person[a] == person[b])
            if same:
                known[known == known[b]] = known[a]
            linker.tell(question.id, same)
        status = linker.status()
        assert status["same"] + status["different"] >= 40
        assert linker.contradictions() == []


@pytest.mark.parametrize("change", ["withdraw", "forget"])
def test_what_followed_from_an_answer_goes_with_it(change):
    with people() as linker:
        linker.add([row for row in PEOPLE if row["city"] == "Rome"])
        linker.answer("a", "b", True)
        linker.answer("b", "e", True)
        assert linker.ask(10) == []  # the third pair follows
        assert linker.status()["same"] == 3
        if change == "withdraw":
            linker.answer("b", "e", None)
        else:
            linker.forget(["b"])
        assert linker.status()["same"] == (1 if change == "withdraw" else 0)
        assert linker.clusters()["a"] != linker.clusters()["e"]


def test_a_contradiction_is_shown_with_ids():
    with people() as linker:
        linker.add(PEOPLE)
        for left, right, same in (("a", "b", True), ("b", "e", True), ("a", "e", False)):
            linker.answer(left, right, same)
        assert [str(found) for found in linker.contradictions()] == ["a ≠ e contradicts a = b, b = e"]
        clusters = linker.clusters()
        assert clusters["a"] == clusters["b"] == clusters["e"]
        linker.answer("b", "e", None)
        assert linker.contradictions() == []
        assert linker.clusters()["a"] != linker.clusters()["e"]


@pytest.mark.parametrize("strategy", ["margin", "random", "auto"])
def test_questions_of_every_strategy_show_both_records(strategy):
    with people(query_strategy=strategy) as linker:
        linker.add(PEOPLE)
        question = linker.ask(1)[0]
        assert question.left == {
            name: dict(PEOPLE[ord(question.left_id) - 97])[name] for name in ("name", "city")
        }
        assert question.differs == ["name"]
        linker.tell(question.id, None)
        assert linker.status()["same"] == 0


def test_another_learner_and_other_clusters(authors):
    table, person = authors
    learner = LASVM(C=10, class_weight={"different": 1, "same": 3}, random_state=0)
    with opened(learner=learner, clustering="dbscan", eps=0.3, min_pts=2) as linker:
        linker.add(table)
        asked(linker, person, 50)
        assert f1(person, linker.link()) > 0.75


# --------------------------------------------------------------------------------------------- the same store


def test_answers_that_others_gave_are_taken_up(tmp_path):
    store = tmp_path / "people.everlearn"
    with people(store) as linker:
        linker.add(PEOPLE)
        question = linker.ask(1)[0]
    with NeverEndingLearner.open(store, create=False) as learner:
        assert learner.classes == ["different", "same"]
        learner.label([question.id], ["same"], by="Bo")
    with people(store) as linker:
        clusters = linker.clusters()
        assert clusters[question.left_id] == clusters[question.right_id]
    with NeverEndingLearner.open(store, create=False) as learner:
        learner.withdraw([question.id])
    with NeverEndingLinker.open(store) as linker:
        clusters = linker.clusters()
        assert clusters[question.left_id] != clusters[question.right_id]
        assert len(linker.journal()) == 2


def test_a_store_that_is_opened_again_continues_bit_for_bit(authors, tmp_path):
    table, person = authors

    def run(store, reopened):
        linker = opened(store)
        for part in np.array_split(np.arange(len(table)), 4):
            linker.add([table[at] for at in part])
            for _ in range(2):
                if reopened:
                    linker.close()
                    linker = opened(store)
                asked(linker, person, 1)
        return linker

    with run(tmp_path / "one", False) as one, run(tmp_path / "two", True) as two:
        assert two.link() == one.link()
        assert [_without_time(change) for change in two.journal()] == [
            _without_time(change) for change in one.journal()
        ]
        assert two.ask(5) == one.ask(5)


def _without_time(change):
    return change.number, change.kind, change.before, change.after, change.reason


def test_a_run_that_is_killed_again_and_again_ends_as_one_that_is_not(tmp_path):
    store = tmp_path / "killed"
    moments = ["3", "14", "31", "8", "40", "22", "5", "17"]
    subprocess.run([sys.executable, killed_linker.__file__, store, *moments], check=True)
    with killed_linker.opened(store) as linker, killed_linker.opened(":memory:") as whole:
        killed_linker.run(linker)
        killed_linker.run(whole)
        assert linker.link() == whole.link()
        assert [_without_time(change) for change in linker.journal()] == [
            _without_time(change) for change in whole.journal()
        ]
        row = np.linspace(0, 1, linker.learner.rows_by_number([0]).shape[1])[None]
        np.testing.assert_array_equal(
            linker.learner.decision_function(row), whole.learner.decision_function(row)
        )
        assert linker.status() | {"store": ""} == whole.status() | {"store": ""}


def test_expected_records_make_the_blocks_of_the_default_blocking_smaller():
    def largest(expected):
        with NeverEndingLinker.open(":memory:", expected_records=expected) as linker:
            linker.add(PEOPLE)
            return linker._state["blocking"]["max_block_size"]

    assert [largest(n) for n in (None, 10, 20_000, 80_000, 10**6)] == [100, 100, 100, 50, 20]
