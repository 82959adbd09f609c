"""GreeDi on shards in one process: the objective is exact, and near that of greedy on all rows."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import LASVM, Exemplars
from everlearn.select.shards import check_parameters, combine, density_of, propose, shard_problem
from property_helpers import property_test


def greedi(exemplars, X, count):
    problem = shard_problem(exemplars, X, len(X))
    shards = np.array_split(np.arange(len(X)), count)
    proposals = [part[propose(problem, X[part])] for part in shards]
    rows = np.concatenate(proposals)
    density = sum(density_of(problem, X[part], X[rows]) for part in shards)
    ends = np.cumsum([0, *map(len, proposals)])
    places = [np.arange(a, b) for a, b in pairwise(ends.tolist())]
    chosen, value, best = combine(problem, X[rows], density, places)
    return rows[chosen], value, best


def objective(X, chosen, weights, gamma):
    """F, term by term."""
    K = rbf_kernel(X, gamma=gamma)
    return weights[2] * K[:, chosen].sum() - weights[0] * K[np.ix_(chosen, chosen)].sum()


@property_test(max_examples=20)
@given(n=st.integers(5, 120), k=st.integers(1, 12), count=st.integers(1, 6), seed=st.integers(0, 100))
def test_the_objective_is_that_of_all_rows(n, k, count, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    weights = (1.0, 0.0, 0.3)
    exemplars = Exemplars(n_exemplars=k, kernel="rbf", gamma=0.5, scaling="none", weights=weights)
    chosen, value, best = greedi(exemplars, X, count)
    assert len(set(chosen.tolist())) == len(chosen) == min(k, n)
    assert value == pytest.approx(objective(X, chosen, weights, 0.5), rel=1e-5, abs=1e-5)
    assert value >= best


def test_one_shard_is_greedy_itself():
    X = load_digits().data[:300]
    exemplars = Exemplars(n_exemplars=15)
    chosen, value, _ = greedi(exemplars, X, 1)
    central = exemplars.fit(X)
    np.testing.assert_array_equal(chosen, central.indices_)
    assert value == pytest.approx(central.objective_, rel=1e-6)


@pytest.mark.parametrize("count", [2, 5, 10])
@pytest.mark.parametrize("weights", [None, (1, 0, 2 * 40 / 1797)])
def test_many_shards_are_within_a_percent_of_greedy_on_all_rows(count, weights):
    X = load_digits().data  # in the order of their writers: no shard is like the others
    exemplars = Exemplars(n_exemplars=40, kernel="rbf", weights=weights)
    _, value, _ = greedi(exemplars, X, count)
    assert value > 0.99 * exemplars.fit(X).objective_


def test_bad_input_is_refused():
    X = np.eye(4)
    with pytest.raises(ValueError, match="method='greedy'"):
        shard_problem(Exemplars(method="qp"), X, 4)
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        shard_problem(Exemplars(kernel="precomputed"), X, 4)
    with pytest.raises(ValueError, match="n_components=None"):
        shard_problem(Exemplars(n_components=3), X, 4)
    with pytest.raises(TypeError, match="got LASVM"):
        check_parameters(LASVM())
