"""Never-ending linkage of two tables, and in a PostgreSQL database."""

import numpy as np
import pytest

from everlearn.errors import InputError
from everlearn.linkage import AuthorName, Blocking, NeverEndingLinker, Tokens
from linkage.never_ending_helpers import PEOPLE, asked, groups, some_authors
from stream.postgres_server import new_database, server

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


def test_a_store_in_postgresql_is_the_same_as_one_in_a_file(tmp_path):
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

    with server() as postgres:
        found = run(new_database(postgres, "linked"))
    assert found == run(tmp_path / "linked.everlearn")
