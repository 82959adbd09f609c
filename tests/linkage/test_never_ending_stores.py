"""Never-ending linkage of two tables, and in a PostgreSQL database."""

import subprocess
import sys

import numpy as np
import pytest

from everlearn.errors import InputError, StoreError
from everlearn.linkage import AuthorName, Blocking, NeverEndingLinker, Tokens
from linkage import killed_linker
from linkage.never_ending_helpers import PEOPLE, asked, groups, some_authors
from stream.postgres_server import new_database, restartable_server

TABLE, PERSON = some_authors()
RECORDS = [{"id": at, **row} for at, row in enumerate(TABLE)]
BLOCKING = Blocking(AuthorName(), Tokens("affiliation"), max_block_size=60)


def pairs_of(linker):
    (block,) = linker.learner.linked.all_pairs()
    ends = zip(block.left.tolist(), block.right.tolist(), block.n_keys.tolist(), strict=True)
    return {(a, b) for a, b, n_keys in ends if n_keys}


def test_only_records_of_different_tables_are_compared():
    sides = {at: "left" if at % 3 else "right" for at in range(len(RECORDS))}
    with NeverEndingLinker.open(":memory:", blocking=BLOCKING, two_tables=True) as linker:
        for part in np.array_split(np.arange(len(RECORDS)), 6):
            for table in ("left", "right"):
                linker.add([RECORDS[at] for at in part if sides[at] == table], table=table)
        names = dict(enumerate(linker.clusters()))  # by number
        found = {tuple(sorted((names[a], names[b]))) for a, b in pairs_of(linker)}
        asked(linker, PERSON, 60)
        linker.link()
        linker.forget([4, 5])
        assert not {4, 5} & {end for pair in pairs_of(linker) for end in (names[pair[0]], names[pair[1]])}
    assert all(sides[a] != sides[b] for a, b in found)
    with NeverEndingLinker.open(":memory:", blocking=BLOCKING) as one:
        one.add(RECORDS)
        assert found == {(a, b) for a, b in pairs_of(one) if sides[a] != sides[b]}


def test_records_that_repeat_in_one_table_are_linked_by_one_of_the_other():
    names = ["Ann Lee", "Bob Ray", "Cy Orr", "Dora Fink", "Ed Moss", "Flo Hart", "Gus Wynn", "Hal Quist"]
    spelled = [str, str.upper, lambda name: name + "e", lambda name: name[:-1]]
    cities = ["Rome", "Oslo"]

    def rows(side, spell):
        return [
            {"id": f"{side}{at}", "name": spell(name), "city": cities[at % 2]}
            for at, name in enumerate(names)
        ]

    with NeverEndingLinker.open(":memory:", blocking=Blocking("city"), two_tables=True) as linker:
        linker.add(rows("left", spelled[0]), table="left")
        linker.add([row for at in (1, 2) for row in rows(f"{at}.", spelled[at])], table="right")
        for _ in range(30):
            for question in linker.ask(1):
                linker.tell(question.id, question.left_id[-1] == question.right_id[-1])
        assert len(set(linker.link().values())) == len(names)
        for row in rows("3.", spelled[3]):  # attached at once
            (cluster,) = linker.add([row], table="right").clusters
            assert cluster == linker.clusters()[f"left{row['id'][-1]}"]
        expected = [sorted(f"{side}{at}" for side in ("left", "1.", "2.", "3.")) for at in range(len(names))]
        assert groups(linker.clusters()) == groups(linker.link()) == sorted(expected)


def test_tables_that_are_not_there_are_refused():
    with NeverEndingLinker.open(":memory:", blocking=Blocking("city"), two_tables=True) as linker:
        with pytest.raises(ValueError, match="must be 'left' or 'right' in a store of two tables, got None"):
            linker.add(PEOPLE)
        linker.add(PEOPLE[:3], table="left")
        linker.add(PEOPLE[3:], table="right")
        with pytest.raises(InputError, match="'a' and 'b' are in the same table"):
            linker.answer("a", "b", True)
        with pytest.raises(InputError, match="Duplicate id 'a'"):
            linker.add(PEOPLE[:1], table="right")
        linker.answer("c", "d", True)
        assert groups(linker.clusters())[2] == ["c", "d"]
    refused = pytest.raises(ValueError, match="table='left', but the store links the records of one table")
    with NeverEndingLinker.open(":memory:", blocking=Blocking("city")) as linker, refused:
        linker.add(PEOPLE, table="left")


def test_a_store_of_one_table_is_not_opened_as_one_of_two(tmp_path):
    with NeverEndingLinker.open(tmp_path / "one", blocking=Blocking("city")) as linker:
        linker.add(PEOPLE)
    with pytest.raises(InputError, match="two_tables=True is not that of the store, False"):
        NeverEndingLinker.open(tmp_path / "one", two_tables=True)


@pytest.fixture(scope="module")
def postgres():
    """The URL of a server, and functions that stop and start it."""
    with restartable_server() as found:
        yield found


def test_a_store_in_postgresql_is_the_same_as_one_in_a_file(postgres, tmp_path):
    def run(store):
        with NeverEndingLinker.open(store, blocking=BLOCKING) as linker:
            for part in np.array_split(np.arange(len(RECORDS)), 3):
                linker.add([RECORDS[at] for at in part])
                asked(linker, PERSON, 10)
            linker.answer(3, 90, True)
            linker.answer(3, 90, None)
            linker.forget([3, 40])
        with NeverEndingLinker.open(store) as linker:
            linker.add([{**RECORDS[3], "id": "é"}])
            assert linker.find_ids(["é", "4"]) == ["é", 4]
            journal = [(c.kind, c.before, c.after, c.reason) for c in linker.journal()]
            return linker.link(), journal, linker.ask(3), linker.status() | {"store": ""}

    assert run(new_database(postgres[0], "linked")) == run(tmp_path / "linked.everlearn")


def content(linker):
    clusters = linker.link()
    journal = [(change.kind, change.before, change.after, change.reason) for change in linker.journal()]
    return clusters, journal, linker.status() | {"store": ""}


def test_a_linker_in_postgresql_that_is_killed_again_and_again_ends_as_one_that_is_not(postgres):
    url = new_database(postgres[0], "killed")
    moments = ["3", "16", "29"]
    subprocess.run([sys.executable, killed_linker.__file__, url, *moments], check=True)
    with killed_linker.opened(url) as linker, killed_linker.opened(":memory:") as whole:
        killed_linker.run(linker)
        killed_linker.run(whole)
        assert content(linker) == content(whole)


def test_a_linker_continues_after_its_server_was_shut_down(postgres):
    url, (stop, start) = new_database(postgres[0], "stopped"), postgres[1]
    with NeverEndingLinker.open(url, blocking=BLOCKING) as linker:
        linker.add(RECORDS[:40])
        asked(linker, PERSON, 10)
        before = content(linker)
        stop()
        try:
            with pytest.raises(StoreError):
                linker.add(RECORDS[40:])
        finally:
            start()
    with (
        NeverEndingLinker.open(url) as linker,
        NeverEndingLinker.open(":memory:", blocking=BLOCKING) as whole,
    ):
        assert content(linker) == before
        whole.add(RECORDS[:40])
        asked(whole, PERSON, 10)
        whole.link()
        for each in (linker, whole):
            each.add(RECORDS[40:])
            asked(each, PERSON, 10)
        assert content(linker) == content(whole)
