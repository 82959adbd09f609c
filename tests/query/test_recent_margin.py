"""RecentMargin: one question for every block of rows."""

import numpy as np
import pytest

from everlearn.query import RecentMargin
from query.query_helpers import Given, column, smallest_margin, three_class_model, two_class_model


def test_the_nearest_row_of_each_block_is_asked_about():
    rows = column(3.0, -0.5, 1.0, 0.2, 2.0, -4.0)
    np.testing.assert_array_equal(RecentMargin(block_size=3).query(Given(), rows), [1, 3])
    np.testing.assert_array_equal(RecentMargin(block_size=2).query(Given(), rows), [1, 3, 4])
    np.testing.assert_array_equal(RecentMargin(block_size=6).query(Given(), rows), [3])


def test_utilities_are_minus_the_margin():
    utilities = RecentMargin().utilities(Given(), column(3.0, -0.5, 0.0))
    np.testing.assert_array_equal(utilities, [-3.0, -0.5, 0.0])
    assert not np.signbit(utilities[2])


def test_with_more_classes_the_margin_is_the_gap_between_the_two_largest():
    rows = np.array([[3.0, 1.0, 2.9], [5.0, -1.0, 0.0], [-2.0, -2.5, -9.0], [0.0, 0.0, -1.0]])
    np.testing.assert_allclose(RecentMargin().utilities(Given(), rows), [-0.1, -5.0, -0.5, 0.0], atol=1e-12)
    np.testing.assert_array_equal(RecentMargin(block_size=2).query(Given(), rows), [0, 3])


def test_the_first_wins_ties():
    np.testing.assert_array_equal(
        RecentMargin(block_size=4).query(Given(), column(2.0, -1.0, 1.0, -1.0)), [1]
    )
    np.testing.assert_array_equal(RecentMargin(block_size=3).query(Given(), np.zeros((6, 1))), [0, 3])
    np.testing.assert_array_equal(RecentMargin(block_size=3).query(Given(), np.zeros((6, 4))), [0, 3])


def test_a_block_that_is_not_complete_is_not_asked_about():
    rows = column(3.0, 2.0, 1.0, 0.0, 0.0)
    np.testing.assert_array_equal(RecentMargin(block_size=3).query(Given(), rows), [2])
    asked = RecentMargin(block_size=6).query(Given(), rows)
    assert asked.shape == (0,)
    assert asked.dtype == np.intp


@pytest.mark.parametrize("h", [1, 2, 3, 5, 7, 100, 101])
def test_as_many_questions_as_complete_blocks(h):
    model, X = two_class_model()
    asked = RecentMargin(block_size=h).query(model, X)
    assert len(asked) == 100 // h
    np.testing.assert_array_equal(asked // h, np.arange(100 // h))


def test_blocks_of_one_row_ask_about_every_row():
    np.testing.assert_array_equal(
        RecentMargin(block_size=1).query(Given(), column(9.0, 0.0, -5.0)), [0, 1, 2]
    )
    assert RecentMargin(block_size=1).asks_every_row
    assert not RecentMargin(block_size=2).asks_every_row


def test_a_limit_takes_the_blocks_with_the_smallest_margins():
    rows = column(0.9, 2.0, 0.1, 2.0, 0.5, 2.0, 0.1, 2.0)
    np.testing.assert_array_equal(RecentMargin(block_size=2).query(Given(), rows, n=1), [2])
    np.testing.assert_array_equal(RecentMargin(block_size=2).query(Given(), rows, n=3), [2, 4, 6])


@pytest.mark.parametrize("make", [two_class_model, three_class_model])
def test_a_learner_is_asked_by_its_decision_values(make):
    model, X = make()
    f = model.decision_function(X)
    wanted = [start + smallest_margin(f[start : start + 5]) for start in range(0, len(X), 5)]
    np.testing.assert_array_equal(RecentMargin(block_size=5).query(model, X), wanted)


def test_rows_per_question_is_h():
    assert RecentMargin().rows_per_question == 5
    assert RecentMargin(block_size=np.int64(7)).rows_per_question == 7


@pytest.mark.parametrize("h", [0, -1, 2.0, "five", None, True, np.nan, [5], 2**31])
def test_a_bad_h_is_refused_when_it_is_used(h):
    strategy = RecentMargin(block_size=h)
    words = "The parameter 'block_size' of RecentMargin must be an integer from 1 to 2147483647, got"
    for call in (strategy.query, strategy.utilities):
        with pytest.raises(ValueError, match=words):
            call(Given(), column(0.0))
    with pytest.raises(ValueError, match=words):
        _ = strategy.rows_per_question
