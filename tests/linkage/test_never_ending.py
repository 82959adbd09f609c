"""Records arrive in parts, are linked, and are taken back."""

import subprocess
import sys

import numpy as np
import pytest

from everlearn import LASVM, NeverEndingLearner
from everlearn.datasets import make_author_records
from everlearn.errors import InputError, StoreError
from everlearn.linkage import AuthorName, Blocking, PairFeatures, Tokens, b_cubed_scores
from everlearn.linkage.never_ending import NeverEndingLinker
from everlearn.store.linked import LinkedRecords
from linkage import killed_linker

NAMES = {"J. Smith": (40, 6), "M. Jones": (30, 6), "C. Chen": (26, 6)}
PEOPLE = [
    {"id": "a", "name": "Ann Lee", "city": "Rome"},
    {"id": "b", "name": "Anne Lee", "city": "Rome"},
    {"id": "c", "name": "Bob Ray", "city": "Oslo"},
    {"id": "d", "name": "Bob Rae", "city": "Oslo"},
    {"id": "e", "name": "Ann Ley", "city": "Rome"},
    {"id": "f", "name": "Rob Ray", "city": "Oslo"},
]


@pytest.fixture(scope="module")
def authors():
    table, person = make_author_records(NAMES, scale=1, random_state=3)
    order = np.random.default_rng(0).permutation(len(table))
    return [table[at] for at in order], person[order]


def opened(store=":memory:", **options):
    return NeverEndingLinker.open(store, blocking=Blocking(AuthorName()), **options)


def people(store=":memory:", **options):
    return NeverEndingLinker.open(store, blocking=Blocking("city"), **options)


def asked(linker, person, n):
    """Answer questions by the truth; the answers, by numbers of records."""
    given = []
    for _ in range(n):
        for question in linker.ask(1):
            same = bool(person[question.left_id] == person[question.right_id])
            linker.tell(question.id, same)
            given.append((question.left_id, question.right_id, same))
    return given


def f1(person, clusters):
    return b_cubed_scores([person[record] for record in clusters], list(clusters.values())).f1


def groups(clusters):
    found = {}
    for record, cluster in clusters.items():
        found.setdefault(cluster, set()).add(record)
    return sorted(map(sorted, found.values()))


# ------------------------------------------------------------------------------------------------- in parts


def test_ten_parts_end_where_all_at_once_does(authors):
    table, person = authors
    with opened() as parts:
        answers = []
        for part in np.array_split(np.arange(len(table)), 10):
            parts.add([table[at] for at in part])
            answers += asked(parts, person, 7)
        found = parts.link()
        assert parts.status()["up_to_date"]
    with opened() as once:
        once.add(table)
        for left, right, same in answers:
            once.answer(left, right, same)
        expected = once.link()
    assert list(found) == list(expected) == list(range(len(table)))
    assert f1(person, expected) > 0.85
    assert abs(f1(person, found) - f1(person, expected)) < 0.005
    assert b_cubed_scores(list(expected.values()), list(found.values())).f1 > 0.99


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


# ------------------------------------------------------------------------------------------------ taken back


def test_an_answer_joins_and_separates_at_once_and_is_withdrawn():
    with people() as linker:
        linker.add(PEOPLE)
        linker.answer("a", "f", True, by="Ada")  # nobody would guess it
        joined = linker.clusters()
        assert joined["a"] == joined["f"] == 0
        linker.answer("a", "f", False)
        assert linker.clusters()["a"] != linker.clusters()["f"]
        linker.answer("a", "f", True)
        linker.answer("a", "f", None)
        assert groups(linker.clusters()) == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]
        reasons = [change.reason for change in linker.journal()]
        assert reasons == [
            "answer a = f",
            "answer a ≠ f",
            "answer a = f",
            "answer a = f was withdrawn",
        ]
        assert [change.kind for change in linker.journal()] == ["merge", "split", "merge", "split"]
        assert linker.journal()[0].before == [0, 5]
        assert linker.journal()[0].after == [0]
        assert [change.number for change in linker.journal(after=2)] == [3, 4]


def test_records_that_are_not_the_same_stay_apart_whatever_the_model_says(authors):
    table, person = authors
    with opened() as linker:
        linker.add(table)
        asked(linker, person, 40)
        clusters = linker.link()
        a, b = max(groups(clusters), key=len)[:2]
        linker.answer(a, b, False)
        assert linker.clusters()[a] != linker.clusters()[b]
        linker.relink()
        assert linker.clusters()[a] != linker.clusters()[b]
        linker.answer(a, b, None)
        assert f1(person, linker.link()) > 0.75


def test_ids_of_clusters_last(authors):
    table, person = authors
    with opened() as linker:
        linker.add(table[:60])
        asked(linker, person, 40)
        before = linker.link()
        linker.add(table[60:])
        after = linker.clusters()
        kept = sum(before[record] == after[record] for record in before)
        assert kept > 0.8 * len(before)
        used = {cluster for change in linker.journal() for cluster in change.before + change.after}
        assert used | set(after.values()) <= set(range(max({*used, *after.values()}) + 1))


def test_the_journal_leads_from_one_clustering_to_the_next(authors):
    table, person = authors
    with opened() as linker:
        linker.add(table[:50])
        asked(linker, person, 30)
        before, last = linker.link(), len(linker.journal())
        linker.add(table[50:])
        asked(linker, person, 10)
        after = linker.link()
        moved = {(before[record], after[record]) for record in before if before[record] != after[record]}
        changed = [set(change.before) | set(change.after) for change in linker.journal(after=last)]
        for old, new in moved:  # through one change or several
            reached, grown = {old}, True
            while grown:
                wider = reached.union(*(change for change in changed if change & reached))
                grown, reached = wider != reached, wider
            assert new in reached


def test_forgetting_some_records_leaves_what_a_run_without_them_gives(authors):
    table, person = authors
    gone = [7]
    kept = [at for at in range(len(table)) if at not in gone]
    rows = [{"id": at, **row} for at, row in enumerate(table)]
    with opened() as linker:
        linker.add(rows[:50])
        linker.add(rows[50:])
        answers = asked(linker, person, 50)
        linker.forget(gone)
        found = linker.link()
        left = [answer for answer in answers if not {*answer[:2]} & set(gone)]
        assert linker.status()["records"] == len(kept)
        with pytest.raises(InputError, match="No record with the id 7"):
            linker.answer(7, 8, True)
    with opened() as other:
        other.add([row for row in rows[:50] if row["id"] in kept])
        other.add([row for row in rows[50:] if row["id"] in kept])
        for a, b, same in left:
            other.answer(a, b, same)
        expected = other.link()
    assert list(found) == list(expected) == kept
    assert b_cubed_scores(list(expected.values()), list(found.values())).f1 > 0.99
    assert abs(f1(person, found) - f1(person, expected)) < 0.005


def test_a_forgotten_record_that_held_a_cluster_together_splits_it():
    with people(clustering="components") as linker:
        linker.add(PEOPLE)
        linker.answer("a", "c", True)
        linker.answer("a", "d", True)
        assert groups(linker.clusters()) == [["a", "c", "d"], ["b"], ["e"], ["f"]]
        linker.forget(["a"])
        assert groups(linker.clusters()) == [["b"], ["c"], ["d"], ["e"], ["f"]]
        assert [change.reason for change in linker.journal()] == [
            "answer (forgotten) = c",
            "answer (forgotten) = d",
            "records were forgotten",
        ]


def test_no_byte_of_a_forgotten_record_remains(tmp_path):
    store = tmp_path / "people.everlearn"
    with people(store) as linker:
        linker.add([*PEOPLE, {"id": "secret-id", "name": "Zebulon Quux", "city": "Oslo"}])
        linker.answer("secret-id", "c", True)
        linker.answer("a", "c", False)
        linker.forget(["secret-id"])
        linker.forget(["e"])  # was not in a row of the log, perhaps
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        for trace in (b"Zebulon", b"Quux", b"quux", b"secret-id", b"Ann Ley"):
            assert trace not in content
        assert b"Bob Ray" in content or path != store


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


# ------------------------------------------------------------------------------------------------- bad input


def test_ids_that_are_known_are_refused_or_skipped():
    with people() as linker:
        linker.add(PEOPLE[:3])
        with pytest.raises(InputError, match="Duplicate id 'c'") as caught:
            linker.add(PEOPLE[2:])
        assert caught.value.code == "duplicate_id"
        assert len(linker.clusters()) == 3
        assert linker.add(PEOPLE[2:], duplicates="skip").ids == ["d", "e", "f"]
        assert linker.add(PEOPLE, duplicates="skip").ids == []
        with pytest.raises(ValueError, match="'error' or 'skip', got 'keep'"):
            linker.add(PEOPLE, duplicates="keep")
        with pytest.raises(ValueError, match="must be distinct, but 1 of them repeat"):
            linker.add([{"id": "x", "name": "X", "city": "Y"}] * 2)


def test_records_without_ids_are_numbered_on():
    with people() as linker:
        assert linker.add([{"name": "A", "city": "B"}] * 3).ids == [0, 1, 2]
        assert linker.add([{"name": "A", "city": "B"}] * 2).ids == [3, 4]


def test_records_with_a_missing_field_and_empty_ones_are_alone():
    with people() as linker:
        linker.add(PEOPLE)
        with pytest.raises(ValueError, match="missing column: 'city'"):
            linker.add([{"id": "z", "name": "Nobody"}])
        assert linker.add([{"id": "z", "name": "", "city": None}]).pairs == 0
        assert linker.add([]).ids == []


def test_a_large_block_is_refused_sampled_or_dropped_in_words():
    rows = [{"name": f"N{at}", "city": "Rome"} for at in range(40)]
    with NeverEndingLinker.open(":memory:", blocking=Blocking("city", max_block_size=30)) as linker:
        linker.add(rows[:30])
        with pytest.raises(
            ValueError, match=r"31 records the key 'rome', more than max_block_size=30: use a finer"
        ):
            linker.add(rows[30:31])
        assert len(linker.clusters()) == 30
    sampling = Blocking("city", max_block_size=10, large_blocks="sample")
    compared = pytest.warns(UserWarning, match="each new record is compared with 5 of them")
    with NeverEndingLinker.open(":memory:", blocking=sampling) as linker, compared:
        assert 100 < linker.add(rows).pairs < 200
    with NeverEndingLinker.open(":memory:", blocking=Blocking(Tokens("city"), max_block_size=10)) as linker:
        assert linker.add(rows[:9]).pairs == 36
        assert linker.add(rows[9:10]).pairs == 9
        assert linker.add(rows[10:]).pairs == 0
        assert linker.add([{"name": "N", "city": "Rome"}]).pairs == 0


def test_settings_that_are_not_those_of_the_store_are_refused(tmp_path):
    store = tmp_path / "store"
    with NeverEndingLinker.open(store, {"name": "name", "city": "category"}) as linker:
        linker.add(PEOPLE)
    with NeverEndingLinker.open(store, {"name": None, "city": "category"}):
        pass
    with pytest.raises(InputError, match=r"schema=.* is not that of the store"):
        NeverEndingLinker.open(store, {"name": "text", "city": "category"})
    with pytest.raises(InputError, match=r"blocking=.* is not that of the store"):
        NeverEndingLinker.open(store, blocking=Blocking("name"))
    with pytest.raises(ValueError, match="depend on all records"):
        NeverEndingLinker.open(store, features=PairFeatures("thesis"))
    with pytest.raises(ValueError, match="clustering"):
        NeverEndingLinker.open(store, clustering="k-means")
    with pytest.raises(StoreError, match="No store at"):
        NeverEndingLinker.open(tmp_path / "other", create=False)


def test_a_store_of_rows_is_refused(tmp_path):
    with NeverEndingLearner.open(tmp_path / "rows", LASVM()) as learner:
        learner.step([[0.0], [1.0]])
    with pytest.raises(InputError, match="no pairs of records"):
        NeverEndingLinker.open(tmp_path / "rows", create=False)


def test_answers_about_what_is_not_there_are_refused():
    with people() as linker:
        linker.add(PEOPLE)
        with pytest.raises(InputError, match="No record with the id 'x'"):
            linker.answer("a", "x", True)
        with pytest.raises(InputError, match="is one record"):
            linker.answer("a", "a", True)
        with pytest.raises(InputError, match="no answer for 'a' and 'c'"):
            linker.answer("a", "c", None)
        with pytest.raises(InputError, match="No record with the id 'x'"):
            linker.forget(["a", "x"])
        assert len(linker.clusters()) == 6
        linker.forget([])
