"""When asking more is of no use: by the clusters, or by a stopping rule; also in a store opened again."""

import pytest

from everlearn.linkage import NeverEndingLinker
from everlearn.linkage._stopping import share_moved, stability
from everlearn.query.stopping import LabelBudget, MarginExhausted, SupportSaturation
from linkage.never_ending_helpers import PEOPLE, asked, opened, people, some_authors


@pytest.fixture(scope="module")
def authors():
    return some_authors()


def test_moved_records_are_counted_among_those_that_share_a_cluster():
    before = {0: 0, 1: 0, 2: 2, 3: 3, 4: 4, 5: 5}
    assert share_moved(before, before) == 0
    assert share_moved(before, before | {3: 2}) == 1 / 4  # 0, 1, 2 and 3 share one
    assert share_moved({0: None, 1: 1}, {0: 0, 1: 1}) == 0


@pytest.mark.parametrize(
    ("looks", "n_labels", "stop", "words"),
    [
        ([], 30, False, "over the last 0 labels; 20 are needed"),
        ([[10, 20, 0.0]], 20, False, "over the last 10 labels; 20 are needed"),
        (
            [[0, 10, 0.5], [10, 20, 0.004], [20, 30, 0.006]],
            30,
            True,
            "20 labels changed the clusters of 1.0 %",
        ),
        (
            [[0, 10, 0.0], [10, 20, 0.0], [20, 30, 0.02]],
            30,
            False,
            "of 2.0 % of the linked records, more than",
        ),
        ([[370, 400, 0.0]], 400, False, "over the last 30 labels; 40 are needed"),
        ([[350, 400, 0.0]], 400, True, "50 labels changed the clusters of 0.0 %"),
    ],
)
def test_stable_clusters_are_a_reason_to_stop(looks, n_labels, stop, words):
    verdict = stability(looks, n_labels)
    assert verdict.stop == stop
    assert words in verdict.reason


def test_the_verdict_comes_with_stable_clusters_and_lasts(authors, tmp_path):
    table, person = authors
    with opened(tmp_path / "store") as linker:
        linker.add(table[:75])
        asked(linker, person, 12)
        assert not linker.verdict().stop
        for _ in range(30):
            if linker.verdict().stop:
                break
            asked(linker, person, 6)
        verdict, n = linker.verdict(), linker.status()["same"] + linker.status()["different"]
        assert verdict.stop
        assert 20 <= n < 190
        assert linker.ask(1) != []  # advice, not a limit
    with NeverEndingLinker.open(tmp_path / "store") as linker:
        assert linker.verdict() == verdict


def stopped_after(store, make, authors, reopened):
    """How many questions a rule allows, and its reason; the store is opened again now and then."""
    table, person = authors
    linker, n = opened(store, stopping=make()), 0
    linker.add(table[:50])
    while (question := linker.ask(1)) and n < 60:
        linker.tell(question[0].id, bool(person[question[0].left_id] == person[question[0].right_id]))
        n += 1
        if reopened and n % 5 == 0:
            linker.close()
            linker = NeverEndingLinker.open(store, stopping=make())
    with linker:
        assert linker.verdict().stop
        return n, linker.verdict().reason


@pytest.mark.parametrize(
    "make", [lambda: SupportSaturation(8, 0.4), lambda: MarginExhausted(2) | LabelBudget(30)]
)
def test_a_stopping_rule_ends_the_questions_of_a_store(authors, tmp_path, make):
    found = stopped_after(tmp_path / "one", make, authors, False)
    assert found == stopped_after(tmp_path / "two", make, authors, True)
    assert 5 < found[0] < 60
    with NeverEndingLinker.open(tmp_path / "one") as linker:
        assert linker.ask(1) != []  # without the rule


def test_a_rule_that_knows_nothing_of_the_store_begins_anew():
    with people(stopping=LabelBudget(2)) as linker:
        linker.add(PEOPLE)
        linker.answer("a", "b", True)
        linker.answer("a", "b", None)
        assert not linker.verdict().stop
        linker.answer("a", "b", True)
        assert linker.ask(1) == []
