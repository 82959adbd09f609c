"""One in a hundred of some hundred records is forgotten."""

import numpy as np
import pytest

from everlearn.datasets import make_author_records
from everlearn.linkage import Blocking, NeverEndingLinker, Tokens
from linkage.never_ending_helpers import content

TABLE, PERSON = make_author_records(scale=0.18, random_state=7)
ORDER = np.random.default_rng(1).permutation(len(TABLE)).tolist()
RECORDS = [{"id": at, **TABLE[at]} for at in ORDER]
SCHEMA = {"name": "name", "email": "email", "affiliation": "text", "address": "address"}
# Blocks that outgrow the limit and, once records are forgotten, shrink below it again.
BLOCKING = Blocking(Tokens("name"), Tokens("email"), max_block_size=15)
N_ANSWERS = 24


def opened(**options):
    return NeverEndingLinker.open(":memory:", SCHEMA, blocking=BLOCKING, **options)


def side_of(record):
    return "left" if record["id"] % 2 else "right"


def added(linker, records, n_parts):
    """Add records in parts; those of two tables in turn."""
    for part in np.array_split(np.arange(len(records)), n_parts):
        found = [records[at] for at in part]
        if linker.status()["two_tables"]:
            for side in ("left", "right"):
                linker.add([record for record in found if side_of(record) == side], table=side)
        else:
            linker.add(found)


def ask_in_parts(linker, n_parts):
    """Add all records in parts, with questions after each; the answers by the ids of the records."""
    given = {}
    for part in np.array_split(np.arange(len(RECORDS)), n_parts):
        added(linker, [RECORDS[at] for at in part], 1)
        for question in linker.ask(N_ANSWERS // n_parts):
            same = bool(PERSON[question.left_id] == PERSON[question.right_id])
            if not linker.follows(question.id):
                linker.tell(question.id, same)
                given[question.left_id, question.right_id] = same
    return given


@pytest.mark.parametrize("two_tables", [False, True], ids=["one table", "two tables"])
def test_forgetting_one_record_in_a_hundred_leaves_what_a_run_without_them_gives(two_tables):
    gone = set(np.random.default_rng(5).permutation(len(RECORDS))[: len(RECORDS) // 100].tolist())
    assert len(gone) >= 6
    with opened(two_tables=two_tables) as linker:
        given = ask_in_parts(linker, 2)
        before = content(linker)
        linker.forget(gone)
        found = content(linker)
    with opened(two_tables=two_tables) as without:
        kept = [record for record in RECORDS if record["id"] not in gone]
        if two_tables:  # the order of the records is that of their arrival
            for part in np.array_split(np.arange(len(RECORDS)), 2):
                added(without, [RECORDS[at] for at in part if RECORDS[at]["id"] not in gone], 1)
        else:
            added(without, kept, 1)
        for (a, b), same in sorted(given.items()):
            if not {a, b} & gone:
                without.answer(a, b, same)
        expected = content(without)
    assert found[1] == expected[1]  # pairs with their features, bit for bit
    assert found[2] == expected[2]  # decision values
    assert found[0] == expected[0]  # clusters
    assert found[1].keys() - before[1].keys()  # blocks that are small enough now
    assert len(before[1]) > len(RECORDS)
