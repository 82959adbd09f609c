"""RampRegion: rows that can lie inside the ramp of some binary problem."""

import numpy as np
import pytest

from everlearn.query import RampRegion
from query.query_helpers import Given, column, three_class_model, two_class_model

ABOVE = np.nextafter(1, 2)


def test_rows_within_one_are_asked_about_both_ends_included():
    rows = column(0.0, 1.0, -1.0, ABOVE, -ABOVE, 0.5, 7.0)
    np.testing.assert_array_equal(RampRegion().query(Given(), rows), [0, 1, 2, 5])


def test_utilities_are_how_far_inside_a_row_is():
    rows = column(0.0, 1.0, -1.0, 0.25, -3.0)
    np.testing.assert_array_equal(RampRegion().utilities(Given(), rows), [1.0, 0.0, 0.0, 0.75, -2.0])


@pytest.mark.parametrize(
    ("s", "reach"), [(0, 1.0), (-0.5, 1.0), (-1, 1.0), (-2.5, 2.5), (np.float32(-3), 3.0), (-(10**6), 1e6)]
)
def test_the_longer_side_of_the_ramp_counts(s, reach):
    rows = column(reach, -reach, np.nextafter(reach, 1e9), -np.nextafter(reach, 1e9))
    np.testing.assert_array_equal(RampRegion(s).query(Given(), rows), [0, 1])
    np.testing.assert_array_equal(RampRegion(s).utilities(Given(), column(0.25)), [reach - 0.25])


@pytest.mark.parametrize("s", [-np.inf, float("-inf"), np.float32("-inf")])
def test_a_ramp_without_end_asks_about_every_row(s):
    rows = column(0.0, 1e300, -5.0)
    strategy = RampRegion(s)
    assert strategy.asks_every_row
    np.testing.assert_array_equal(strategy.query(Given(), rows), [0, 1, 2])
    np.testing.assert_array_equal(strategy.utilities(Given(), rows), [np.inf] * 3)
    np.testing.assert_array_equal(strategy.query(Given(), rows, n=2), [0, 1])


def test_a_ramp_with_an_end_does_not():
    assert not RampRegion(s=-1e300).asks_every_row
    assert RampRegion().rows_per_question == 1


def test_with_more_classes_one_ramp_is_enough():
    rows = np.array([[3.0, -2.0, -2.0], [2.0, -0.5, -3.0], [-1.0, -4.0, -2.0], [ABOVE, -2.0, 2.0]])
    np.testing.assert_array_equal(RampRegion().query(Given(), rows), [1, 2])
    np.testing.assert_allclose(RampRegion().utilities(Given(), rows), [-1.0, 0.5, 0.0, 1 - ABOVE])


def test_a_limit_takes_the_nearest_in_the_order_of_rows():
    rows = column(0.9, 0.1, 5.0, -0.2, 0.5)
    np.testing.assert_array_equal(RampRegion().query(Given(), rows, n=2), [1, 3])
    np.testing.assert_array_equal(RampRegion().query(Given(), rows, n=3), [1, 3, 4])
    np.testing.assert_array_equal(RampRegion().query(Given(), rows, n=100), [0, 1, 3, 4])


def test_of_equal_rows_the_first_is_taken():
    np.testing.assert_array_equal(RampRegion().query(Given(), column(0.5, -0.5, 0.5, 0.5), n=2), [0, 1])
    many = column(*np.tile([0.5, -0.5, 0.25], 100))
    np.testing.assert_array_equal(RampRegion().query(Given(), many, n=50), np.arange(2, 152, 3))


def test_nothing_may_be_asked_about():
    asked = RampRegion().query(Given(), column(2.0, -2.0))
    assert asked.shape == (0,)
    assert asked.dtype == np.intp


@pytest.mark.parametrize("make", [two_class_model, three_class_model])
def test_a_learner_is_asked_by_its_decision_values(make):
    model, X = make()
    f = model.decision_function(X).reshape(len(X), -1)
    wanted = np.flatnonzero((np.abs(f) <= 1).any(axis=1))
    assert 0 < len(wanted) < len(X)
    np.testing.assert_array_equal(RampRegion().query(model, X), wanted)


@pytest.mark.parametrize("s", [0.1, np.nan, np.inf, "low", None, True, False, [-1.0], np.array([-1.0, -2.0])])
def test_a_bad_end_is_refused_when_it_is_used(s):
    strategy = RampRegion(s=s)
    words = r"The parameter 's' of RampRegion must be a number, 0 or below, or -inf, got"
    for call in (strategy.query, strategy.utilities):
        with pytest.raises(ValueError, match=words):
            call(Given(), column(0.0))
    with pytest.raises(ValueError, match=words):
        _ = strategy.asks_every_row
