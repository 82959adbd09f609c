"""Random: every row as likely as any other, and the same again with the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from everlearn import LASVM
from everlearn.query import Random
from query.query_helpers import Given
from svm.lasvm_helpers import two_clouds


@given(rows=st.integers(1, 50), n=st.integers(0, 60), seed=st.integers(0, 2**32 - 1), other=st.integers(0, 9))
def test_the_answer_is_a_function_of_seed_rows_and_n(rows, n, seed, other):
    strategy = Random(random_state=seed)
    asked = strategy.query(Given(), np.zeros((rows, 1)), n)
    assert len(asked) == min(n, rows)
    assert len(set(asked)) == len(asked)
    strategy.query(Given(), np.ones((other + 1, 1)), other)
    np.testing.assert_array_equal(Random(seed).query(None, np.full((rows, 3), other), n), asked)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 100))
def test_more_rows_hold_fewer(rows, n, seed):
    few, more = (set(Random(seed).query(None, np.zeros((rows, 1)), k)) for k in (n, n + 1))
    assert few <= more


def test_every_row_is_equally_likely():
    strategy, X, counts = Random(random_state=0), np.zeros((7, 1)), np.zeros(7)
    for draw in range(7000):
        counts[strategy.query(None, X, n=2, draw=draw)] += 1
    assert counts.sum() == 14_000
    # a row is drawn with 2/7; the bound of Bonferroni over seven rows, at a level of 1 in 10,000
    low, high = stats.binom.interval(1 - 1e-4 / 7, 7000, 2 / 7)
    assert ((low <= counts) & (counts <= high)).all()


def test_seeds_differ():
    X = np.zeros((1000, 1))
    assert len({int(Random(seed).query(None, X)[0]) for seed in range(20)}) > 15


def test_draws_of_one_seed_are_not_those_of_the_next():
    X = np.zeros((100_000, 1))
    found = {
        (seed, draw): int(Random(seed).query(None, X, draw=draw)[0]) for seed in range(9) for draw in range(9)
    }
    assert len(set(found.values())) > 75


def test_all_rows_are_worth_the_same():
    np.testing.assert_array_equal(Random().utilities(None, np.zeros((3, 2))), np.ones(3))


def test_the_model_is_not_looked_at():
    X, _ = two_clouds(20)
    assert len(Random().query(LASVM(), X, n=3)) == 3
    np.testing.assert_array_equal(Random().query(None, X, n=None), np.arange(20))


@pytest.mark.parametrize("n", [20, 21, 10_000])
def test_a_pool_that_is_smaller_is_taken_whole(n):
    np.testing.assert_array_equal(Random().query(None, np.zeros((20, 1)), n), np.arange(20))
