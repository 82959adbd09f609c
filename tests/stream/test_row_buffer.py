"""Rows in memory: appended in place, dropped from the front, and removed without a trace."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everlearn.stream._row_buffer import RowBuffer
from property_helpers import property_test

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 5)),
        st.tuples(st.just("keep_last"), st.integers(0, 30)),
        st.tuples(st.just("remove"), st.integers(0, 200)),
        st.tuples(st.just("drop"), st.integers(0, 200)),
    ),
    max_size=60,
)


@property_test(80)
@given(STEPS, st.booleans(), st.booleans())
def test_a_buffer_is_a_list_of_rows_and_views_do_not_change(steps, is_sparse, labeled):
    form = sparse.csr_matrix if is_sparse else np.asarray
    buffer, rows, next_number, seen = RowBuffer(), [], 0, []
    for step, argument in steps:
        if step == "add":
            numbers = np.arange(next_number, next_number + argument)
            X = np.column_stack([numbers, numbers % 3]).astype(float).reshape(argument, 2)
            labels = [f"label {number}" for number in numbers] if labeled else None
            buffer.add(form(X), numbers, labels)
            rows += numbers.tolist()
            next_number += argument
        elif step == "keep_last":
            buffer.keep_last(argument)
            rows = rows[len(rows) - argument :] if argument < len(rows) else rows
        elif step == "remove":
            buffer.remove(np.array([argument % (next_number + 1)]))
            rows = [row for row in rows if row != argument % (next_number + 1)]
        elif rows:
            buffer.drop(argument % len(rows))
            del rows[argument % len(rows)]
        assert buffer.numbers.tolist() == rows
        if buffer.X is not None:
            X = buffer.X.toarray() if sparse.issparse(buffer.X) else buffer.X
            assert X[:, 0].tolist() == rows
            seen.append((X, X.copy()))
        if labeled:
            assert buffer.labels == [f"label {row}" for row in rows]
    for view, copy in seen:
        np.testing.assert_array_equal(view, copy)


@pytest.mark.parametrize("form", [sparse.csr_matrix, np.asarray])
def test_labels_stay_beside_their_rows_and_lists_of_others_as_they_are(form):
    given = ["first"]
    buffer = RowBuffer(form(np.zeros((1, 1))), np.zeros(1, dtype=np.int64), given)
    for number in range(1, 30):
        buffer.add(form([[float(number)]]), np.array([number]), [f"label {number}"])
        buffer.keep_last(7)
    assert buffer.labels == [f"label {number}" for number in range(23, 30)]
    assert buffer.numbers.tolist() == list(range(23, 30))
    assert given == ["first"]


def test_labels_that_were_passed_stay_as_they_are():
    labels = ["a", "b"]
    buffer = RowBuffer(np.zeros((2, 1)), np.arange(2), labels)
    buffer.add(np.ones((2, 1)), np.arange(2, 4), ["c", "d"])
    buffer.keep_last(3)
    assert buffer.labels == ["b", "c", "d"]
    assert labels == ["a", "b"]


@pytest.mark.parametrize("kept", [3, 40, 45])
def test_no_value_of_a_removed_row_stays_in_memory(kept):
    buffer, secret = RowBuffer(), 1234.5678
    for number in range(50):
        value = secret if number == 7 else float(number)
        buffer.add(np.array([[value]]), np.array([number]))
    buffer.keep_last(kept)
    buffer.remove(np.array([7]))
    gc.collect()
    held = [value for value in vars(buffer).values() if isinstance(value, np.ndarray)]
    bases = [array if array.base is None else array.base for array in held]
    assert not any((base == secret).any() for base in bases)
    assert buffer._arrays is None
    assert len(buffer) == (44 if kept == 45 else kept)  # row 7 is among the last 45
