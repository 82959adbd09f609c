"""Rewriting: events without some of their rows, and where the values of the others are then."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everlearn.store.events import Answered, Arrived, Asked, Labeled, Withdrawn
from everlearn.store.rewriting import move, positions_without, rewrite, without_rows
from property_helpers import property_test
from store.log_helpers import ROWS, filled


def contents(event):
    """The values and the labels of the rows of a batch, by number."""
    X = event.X.toarray() if sparse.issparse(event.X) else event.X
    values = dict(zip(event.numbers.tolist(), X.tolist(), strict=True))
    labels = dict(zip(event.numbers[event.labeled].tolist(), event.labels.tolist(), strict=True))
    return values, labels


@property_test(60)
@given(
    st.integers(1, 8),
    st.sets(st.integers(0, 7)),
    st.lists(st.sets(st.integers(0, 25)), min_size=1, max_size=3),
    st.booleans(),
)
def test_a_batch_loses_these_rows_and_no_others(count, labeled, removals, is_sparse):
    places = np.array(sorted(place for place in labeled if place < count), dtype=np.int64)
    X = np.arange(1.0, 2 * count + 1).reshape(count, 2)
    event = Arrived(10, sparse.csr_matrix(X) if is_sparse else X, places, places * 2, 0.0)
    values, labels = contents(event)
    for removal in removals:
        event = without_rows(event, np.array(sorted(removal), dtype=np.int64))
        values = {number: row for number, row in values.items() if number not in removal}
        labels = {number: label for number, label in labels.items() if number not in removal}
        assert contents(event) == (values, labels)
        assert event.count == count


def test_labels_and_withdrawals_lose_these_rows():
    numbers = np.array([4, 2, 9])
    left = without_rows(Labeled(numbers, np.array(["a", "b", "c"]), "me", 0.0), np.array([2, 3]))
    assert (left.numbers.tolist(), left.labels.tolist(), left.by) == ([4, 9], ["a", "c"], "me")
    left = without_rows(Answered(numbers, np.array(["a", "b", "c"]), "me", 0.0), np.array([2, 3]))
    assert (left.numbers.tolist(), left.labels.tolist()) == ([4, 9], ["a", "c"])
    taken = Answered(numbers, np.zeros(0, dtype=np.int64), "me", 0.0, retracted=True)
    assert without_rows(taken, np.array([4])).numbers.tolist() == [2, 9]
    assert without_rows(Withdrawn(numbers, "me", 0.0), np.array([4, 9])).numbers.tolist() == [2]


def test_an_event_without_rows_stays():
    event = Asked(3, 0.0)
    assert without_rows(event, np.array([0])) is event


@pytest.mark.parametrize("gone", [[5], [4, 7], [6, 5, 4, 7]])
def test_rows_are_found_after_their_event_was_rewritten(gone):
    log = filled()
    with log.transaction() as db:
        left = positions_without(db, 2, gone)
        assert left == [(number, number - 4) for number in range(4, 8) if number not in gone]
        rewrite(db, 2, "rows", without_rows(log.event(2), np.array(gone)))
        move(db, left, gone)
    log.forget_events()
    rest = np.array([number for number in range(12) if number not in gone])
    np.testing.assert_array_equal(log.rows_of(rest), ROWS[rest])
    assert log.values_of(np.array(gone)) is None
    assert log.positions_without(2, []) == [(number, place) for place, (number, _) in enumerate(left)]
