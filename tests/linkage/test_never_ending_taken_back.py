"""Answers and records are taken back; clusters are those of a store that never had them."""

import pytest

from linkage.never_ending_helpers import PEOPLE, asked, f1, groups, opened, people, some_authors


@pytest.fixture(scope="module")
def authors():
    return some_authors()


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
