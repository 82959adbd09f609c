"""Coverage: distances to what was noted, against brute force; bounded memory; a state that goes on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from everlearn.query import Coverage
from property_helpers import property_test


def plain(rows, noted):
    return np.array([min(((row - other) ** 2).sum() for other in noted) for row in rows])


@property_test(50)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 12))
def test_distances_to_the_rows_noted_last(seed, parts, limit):
    random = np.random.RandomState(seed)
    coverage, noted = Coverage(limit), np.zeros((0, 3))
    for count in parts:
        rows = random.randn(count, 3)
        coverage.add(rows)
        noted = np.vstack([noted, rows])[-limit:]
        assert len(coverage) == len(noted)
    asked = random.randn(7, 3)
    if len(noted):
        np.testing.assert_allclose(coverage.distances(asked), plain(asked, noted), rtol=1e-9)
    else:
        assert np.isinf(coverage.distances(asked)).all()


def test_a_row_that_was_noted_is_at_distance_zero():
    X = 1e3 + np.random.RandomState(0).randn(50, 8)
    coverage = Coverage()
    coverage.add(X)
    np.testing.assert_array_equal(coverage.distances(X), 0)


def test_sparse_rows():
    X = np.random.RandomState(0).randn(30, 4) * (np.random.RandomState(1).rand(30, 4) < 0.4)
    dense, thin = Coverage(20), Coverage(20)
    for start in range(0, 20, 5):
        dense.add(X[start : start + 5])
        thin.add(sparse.csr_matrix(X[start : start + 5]))
    found = thin.distances(sparse.csr_matrix(X))
    np.testing.assert_allclose(found, dense.distances(X), atol=1e-9)
    again = Coverage.from_state(thin.state())
    np.testing.assert_array_equal(again.distances(sparse.csr_matrix(X)), found)


def test_looking_changes_nothing_and_the_rows_are_copied():
    rows = np.zeros((1, 2))
    coverage = Coverage()
    coverage.add(rows)
    rows += 5
    assert [coverage.distances([[0.0, 0.0]])[0] for _ in range(2)] == [0, 0]
    assert len(coverage) == 1


def test_a_state_goes_on():
    random = np.random.RandomState(0)
    whole, part = Coverage(5), Coverage(5)
    for number in range(12):
        rows = random.randn(2, 3)
        whole.add(rows)
        part.add(rows)
        if number == 6:
            part = Coverage.from_state(part.state())
    asked = random.randn(9, 3)
    np.testing.assert_array_equal(whole.distances(asked), part.distances(asked))
    assert len(Coverage.from_state(Coverage().state())) == 0


@pytest.mark.parametrize("limit", [0, -1, 2.5, None, True])
def test_a_bad_limit(limit):
    with pytest.raises(ValueError, match=r"max_rows must be an integer of 1 or above, got"):
        Coverage(limit)


def test_bad_rows_leave_it_as_it_was():
    coverage = Coverage()
    coverage.add([[0.0, 0.0]])
    with pytest.raises(ValueError, match="rows must have 2 features, as those before, got 3"):
        coverage.add([[0.0, 0.0, 0.0]])
    for bad in ([["a", "b"]], [[np.nan, 0.0]], [[np.inf, 0.0]]):
        with pytest.raises(ValueError, match="Distances need rows of finite numbers"):
            coverage.add(bad)
    assert len(coverage) == 1
