"""Predictions remembered until their label becomes known, against the plain version."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.evaluate.pending_predictions import PendingPredictions
from property_helpers import property_test
from reference.prequential import PlainPendingPredictions
from state_helpers import is_plain, same_bits

IDS = st.integers(0, 9) | st.sampled_from(["0", "1", "x\0", ""])
PREDICTIONS = st.none() | st.sampled_from(["a", "b"])
SCORES = st.none() | st.integers(-3, 3).map(float)
STEPS = st.lists(
    st.tuples(st.just("add"), st.lists(st.tuples(IDS, PREDICTIONS, SCORES), max_size=8))
    | st.tuples(st.just("take"), st.lists(IDS, max_size=6)),
    max_size=12,
)


def values(scores):
    return [None if score != score else score for score in scores.tolist()]


@property_test(100)
@given(STEPS, st.integers(1, 6), st.booleans())
def test_remembered_is_the_plain_version(steps, capacity, saved):
    plain, remembered = PlainPendingPredictions(capacity), PendingPredictions(capacity)
    for what, block in steps:
        if what == "add":
            ids, predictions, scores = ([row[i] for row in block] for i in range(3))
            plain.add(ids, predictions, scores)
            remembered.add(ids, predictions, scores)
        else:
            found, predictions, scores = remembered.take(block)
            expected = plain.take(block)
            assert found.tolist() == [entry is not None for entry in expected]
            assert predictions.tolist() == [None if entry is None else entry[0] for entry in expected]
            assert values(scores) == [None if entry is None else entry[1] for entry in expected]
        if saved:
            state = remembered.state()
            assert is_plain(state)
            remembered = PendingPredictions.from_state(state)
            assert same_bits(remembered.state(), state)
        assert len(remembered) == len(plain.held)
        assert [key in remembered for key, *_ in plain.held] == [True] * len(plain.held)


def test_one_row_after_the_other_is_a_block():
    random = np.random.default_rng(0)
    labels, scores = random.integers(0, 3, 2000).tolist(), random.standard_normal((2000, 3))
    for values in (scores, scores[:, 0]):
        whole, one_by_one = PendingPredictions(1500), PendingPredictions(1500)
        whole.add(range(2000), labels, values)
        for at in range(2000):
            one_by_one.add([at], labels[at : at + 1], values[at : at + 1])
        assert same_bits(one_by_one.state(), whole.state())


def test_the_oldest_fall_out():
    remembered = PendingPredictions(capacity=3)
    remembered.add([1, 2, 3], ["a", "b", "c"])
    remembered.add([1], ["again"])  # is the newest now
    remembered.take([3])
    remembered.add([4, 5], ["d", "e"])
    assert remembered.take([1, 2, 3, 4, 5])[1].tolist() == ["again", None, None, "d", "e"]
    remembered.add(range(10), ["z"] * 10)
    assert remembered.take(range(10))[0].tolist() == [False] * 7 + [True] * 3


def test_rows_of_decision_values_of_unequal_widths():
    remembered = PendingPredictions()
    remembered.add([1, 2], ["a", "b"], [0.5, 1.5])
    remembered.add(np.array([3, 4]), ["a", "c"], [[1, 2, 3], None])
    remembered = PendingPredictions.from_state(remembered.state())
    scores = remembered.take([4, 3, 1])[2]
    np.testing.assert_array_equal(scores, [[np.nan] * 3, [1, 2, 3], [np.nan] * 3])
    np.testing.assert_array_equal(remembered.take([2])[2], [1.5])
    remembered.add([5], ["a"], [7.0])  # in a slot that had three values
    np.testing.assert_array_equal(
        PendingPredictions.from_state(remembered.state()).take([5, 6])[2], [7.0, np.nan]
    )


def test_many_ids_are_saved_as_an_array_and_come_back():
    for ids in (
        [2**63, 5],
        [-5, 2**63 - 1],
        ["a", 5],
        ["é", "x" * 5],
        ["a\0", "b"],
        ["a" * 1000, *map(str, range(99))],
    ):
        remembered = PendingPredictions()
        remembered.add(ids, None)
        assert PendingPredictions.from_state(remembered.state()).take(ids)[0].all()
    remembered = PendingPredictions(capacity=5000)
    remembered.add(range(20_000), None)
    assert remembered.state()["ids"].dtype == np.int64
    assert len(remembered._codes) == len(remembered) == 5000


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([1.5], ["a"]), TypeError, "ids must be integers or strings, got float"),
        (([True], ["a"]), TypeError, "got bool"),
        (([None], ["a"]), TypeError, "got NoneType"),
        (([1, 2], ["new"]), ValueError, "predictions must be as many as ids, got 1 and 2"),
        (([1, 2], ["new", "b"], [1.0]), ValueError, "for each of the 2 rows"),
    ],
)
def test_remembered_refuses_bad_input_and_does_not_change(arguments, error, words):
    remembered = PendingPredictions()
    remembered.add([1], ["a"])
    state = remembered.state()
    with pytest.raises(error, match=words):
        remembered.add(*arguments)
    assert same_bits(remembered.state(), state)
    remembered.add([7], ["new"])
    assert remembered.take([7])[1].tolist() == ["new"]
    with pytest.raises(ValueError, match="'capacity' of PendingPredictions must be an integer from 1"):
        PendingPredictions(0)
