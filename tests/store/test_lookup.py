"""Lookup: rows by id, ids by row, the events of rows and of their labels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from everlearn.errors import StoreError
from everlearn.store.log import Log
from everlearn.store.lookup import id_key, some
from everlearn.stream import NeverEndingLearner
from store.log_helpers import ROWS, arrived, filled, ids
from store.store_helpers import X
from stream.stream_helpers import opened


def test_ids_of_every_kind_come_back_as_they_were(tmp_path):
    names = [1, "1", -5, 10**30, "", "é\0\ud800", "None", " 1", 2**63, np.int64(7), np.str_("seven")]
    with opened(tmp_path / "store") as learner:
        learner.step(X[: len(names)], ids=names)
        numbers = learner._log.numbers_of(names)
        assert numbers.tolist() == list(range(len(names)))
        assert learner._log.ids_of(numbers) == names
        learner.label(names, ["a", "b"] * 5 + ["a"])
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert learner._log.ids_of(range(len(names))) == names


def test_more_ids_than_fit_into_a_question(tmp_path):
    rows = np.random.default_rng(0).normal(size=(1700, 2))
    with opened(tmp_path / "store", label_rate=0.0) as learner:
        learner.step(rows, ids=[f"row {i}" for i in range(1700)])
        order = np.random.default_rng(1).permutation(1700).tolist()
        assert learner._log.numbers_of([f"row {i}" for i in order]).tolist() == order
        assert learner._log.ids_of(order) == [f"row {i}" for i in order]
        np.testing.assert_array_equal(learner._log.rows_of(np.array(order)), rows[order])
        learner.label([f"row {i}" for i in order], [i % 2 for i in order])
        assert len(learner._log.labeled_at(np.array(order), 99)) == 1700
        with pytest.raises(ValueError, match="row 3"):
            learner.step(rows[:2], ids=["new", "row 3"])


# ------------------------------------------------------------------------------------------ without a learner


def test_rows_come_in_the_order_that_was_asked_for():
    log = filled()
    order = np.array([9, 0, 5, 4, 0])
    np.testing.assert_array_equal(log.rows_of(order), ROWS[order])
    assert log.numbers_of(["row 9", "row 0"]).tolist() == [9, 0]
    assert log.ids_of([9, 0]) == ["row 9", "row 0"]
    with pytest.raises(ValueError, match="at least one row number"):
        log.rows_of(np.zeros(0, dtype=np.int64))


def test_sparse_and_dense_rows_come_together():
    log = Log(":memory:")
    with log.writing() as writing:
        for first, kind in ((0, sparse.csr_matrix), (2, sparse.csr_matrix), (4, np.asarray)):
            rows = kind(ROWS[first : first + 2])
            writing.add(replace(arrived(first, 2, 0.0), X=rows), ids(first, 2))
    assert sparse.issparse(log.rows_of(np.array([3, 0])))
    np.testing.assert_array_equal(log.rows_of(np.array([3, 0])).toarray(), ROWS[[3, 0]])
    np.testing.assert_array_equal(log.rows_of(np.array([5, 3])), ROWS[[5, 3]])


def test_ids_without_a_row_are_named():
    log = filled()
    with pytest.raises(ValueError, match="No row with the id 'nobody', 3 in the store"):
        log.numbers_of(["row 1", "nobody", 3])
    with pytest.raises(StoreError, match="Row number 99 is no longer in"):
        log.ids_of([1, 99])
    assert log.known(["row 1", "nobody", 3]) == log.in_index(["row 1", "nobody", 3]) == ["row 1"]


def test_ids_given_as_text_are_those_of_the_store():
    log = Log(":memory:")
    names = [5, "6", 7, "7", "x", -3]
    with log.writing() as writing:
        writing.add(arrived(0, 6, 0.0), names)
    assert log.find_ids(["5", "6", "x", "-3", "8", "x", "007"]) == [5, "6", "x", -3, "8", "007"]
    with pytest.raises(ValueError, match="Ambiguous id: the store has both '7' and 7"):
        log.find_ids(["5", "7"])


def test_the_events_of_rows_and_labels():
    log = filled()
    assert log.batches() == [1, 2, 6]
    assert log.arrived_in(np.array([0, 3, 11])) == {1, 6}
    assert log.marked_in(np.array([0, 1])) == {1, 3, 4}
    every = np.arange(12)
    assert log.labeled_at(every, 4) == {0: 1, 1: 3, 5: 3}
    assert log.labeled_at(every, 6) == {0: 1, 5: 5}
    assert log.labeled_at(every, 99) == {0: 1, 5: 5, 8: 6, 11: 6}
    assert log.replaced(99) == [(1, 3, 4), (5, 3, 5)]
    assert log.replaced(4) == [(1, 3, 4)]
    assert log.scales() == []
    assert log.meters()[:, 0].tolist() == [4, 8, 8, 8, 8, 12]


@pytest.mark.parametrize("given", [1.0, None, True, np.bool_(True), b"x", (1,)])
def test_ids_are_integers_or_strings(given):
    with pytest.raises(TypeError, match="ids must be integers or strings"):
        id_key(given)


def test_a_message_names_five_values_at_most():
    assert some([1, "a"]) == "1, 'a'"
    assert some(range(9)) == "0, 1, 2, 3, 4, ..."
