import numpy as np
import pytest

from everlearn.store.linked import LinkedPairs, LinkedRecords
from everlearn.store.log import Log


@pytest.fixture
def log():
    with_records = Log(":memory:")
    yield with_records
    with_records.close()


def pairs(*ends, same=None, rows=None):
    left, right = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    features = np.arange(3 * len(ends), dtype=np.float32).reshape(-1, 3) / 7
    none = [None] * len(ends)
    return LinkedPairs(left, right, features, rows or none, same or none, np.arange(1, len(ends) + 1))


def filled(log):
    linked = LinkedRecords(log)
    with log.writing() as writing:
        lines = [(0, "a", {"name": "Ann"}, 0), (1, 7, {"name": "Bo"}, 0), (2, "é", {"name": "王"}, 2)]
        linked.add_records(writing, lines)
        linked.add_keys(writing, np.array([-5, 3, 3]), np.array([0, 0, 2]))
        linked.add_pairs(
            writing, pairs((0, 1), (0, 2), (1, 2), same=[True, None, False], rows=["0-1", None, None])
        )
        linked.set_state(writing, "linkage", {"n": 3, "array": np.arange(2)})
        linked.add_to_journal(writing, 5.0, [("merge", [0, 1], [0], {"because": "answer"})])
    return linked


def test_what_is_written_is_read(log):
    linked = filled(log)
    assert linked.records([2, 0, 9]) == {0: ("a", {"name": "Ann"}), 2: ("é", {"name": "王"})}
    assert list(linked.all_records())[1] == (1, 7, {"name": "Bo"}, 0)
    assert linked.numbers_of(["a", "7", 7, "é"]) == {"a": 0, 7: 1, "é": 2}
    assert linked.clusters_of([1, 2]) == {1: 0, 2: 2}
    assert linked.all_clusters() == {0: 0, 1: 0, 2: 2}
    assert linked.in_clusters([0]) == {0: 0, 1: 0}
    for most, expected in (
        (None, [(-5, 0), (3, 0), (3, 2)]),
        (2, [(-5, 0), (3, 0), (3, 2)]),
        (1, [(-5, 0), (3, 0)]),
    ):
        keys, numbers, _ = linked.members(np.array([3, -5, 11]), most)
        assert sorted(zip(keys.tolist(), numbers.tolist(), strict=True)) == expected
    assert linked.state("linkage")["n"] == 3
    assert linked.state("other") is None
    (line,) = linked.journal()
    assert (line.place, line.kind, line.before, line.after, line.reason) == (
        1,
        "merge",
        [0, 1],
        [0],
        {"because": "answer"},
    )
    assert list(linked.journal(after=1)) == []


def test_pairs_come_back_in_order_with_features_rows_and_labels(log):
    linked = filled(log)
    (everything,) = linked.all_pairs()
    np.testing.assert_array_equal(everything.features, pairs((0, 1), (0, 2), (1, 2)).features)
    assert (everything.rows, everything.same) == (["0-1", None, None], [True, None, False])
    assert linked.pairs_among([0, 1]).same == [True]
    assert linked.pairs_with(2).left.tolist() == [0, 1]
    assert linked.labeled_pairs().right.tolist() == [1, 2]
    assert len(linked.pair(0, 2)) == 1
    assert len(linked.pair(2, 9)) == 0
    assert len(linked.pairs_among([])) == 0


def test_pairs_are_read_in_parts(log, monkeypatch):
    monkeypatch.setattr("everlearn.store.linked._AT_A_TIME", 2)
    linked = filled(log)
    assert [len(part) for part in linked.all_pairs()] == [2, 1]
    assert len(list(linked.all_records())) == 3


def test_changes(log):
    linked = filled(log)
    with log.writing() as writing:
        linked.set_labels(writing, [(0, 1, None), (0, 2, True)])
        linked.set_rows(writing, [(1, 2, "1-2")])
        linked.set_clusters(writing, {1: 9})
        linked.set_features(writing, pairs((1, 2)))
        linked.set_state(writing, "linkage", {"n": 4})
        linked.add_to_journal(writing, 6.0, [("split", [0], [0, 9], {}), ("merge", [1, 2], [2], {})])
    (everything,) = linked.all_pairs()
    assert (everything.rows, everything.same) == (["0-1", None, "1-2"], [None, True, False])
    np.testing.assert_array_equal(everything.features[2], pairs((1, 2)).features[0])
    assert linked.all_clusters() == {0: 0, 1: 9, 2: 2}
    assert linked.state("linkage") == {"n": 4}
    assert [line.place for line in linked.journal()] == [1, 2, 3]


def test_removed_records_take_pairs_and_keys_with_them(log):
    linked = filled(log)
    with log.writing() as writing:
        linked.remove(writing, [0], np.array([-5, 3]), np.array([0, 0]))
    assert list(linked.all_clusters()) == [1, 2]
    (left,) = linked.all_pairs()
    assert (left.left.tolist(), left.right.tolist()) == ([1], [2])
    assert linked.members(np.array([-5, 3]))[1].tolist() == [2]


def test_a_transaction_that_fails_leaves_nothing(log):
    linked = filled(log)

    def fail():
        with log.writing() as writing:
            linked.set_clusters(writing, {0: 5})
            linked.add_records(writing, [(3, "x", {}, 3)])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert linked.all_clusters() == {0: 0, 1: 0, 2: 2}
