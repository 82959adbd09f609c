"""Experts that weight columns by their relevance: what they estimate, when, and what it is good for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chi2_contingency

from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert
from everlearn.adaptive._relevance import relevance
from property_helpers import property_test
from reference.adaptive_svm import relevance as plain_relevance

ONE = [Expert("rbf", gamma=2.0, relevance=True)]


def boxes(n, seed=0, noise_columns=8):
    """A box in two columns is one class; the other columns mean nothing."""
    X = np.random.default_rng(seed).normal(size=(n, 2 + noise_columns))
    return X, ((np.abs(X[:, 0]) < 0.7) & (np.abs(X[:, 1]) < 1.0)).astype(int)


@property_test(40)
@given(
    seed=st.integers(0, 10**6), n=st.integers(15, 120), classes=st.integers(2, 4), values=st.integers(2, 50)
)
def test_relevance_is_that_of_the_plain_version(seed, n, classes, values):
    random = np.random.default_rng(seed)
    X = random.integers(values, size=(n, 4)).astype(float)  # many ties
    X[:, 0] = random.normal(size=n)
    X[:, 3] = 1.0
    y = random.integers(classes, size=n).astype(np.int32)
    found = relevance(X, y, classes)
    expected = [plain_relevance(column, y.tolist()) for column in X.T]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[3] < 1e-12


def test_chi_square_is_scipys():
    random = np.random.default_rng(0)
    x, y = random.normal(size=200), random.integers(3, size=200).astype(np.int32)
    bins = np.searchsorted(np.quantile(x, [0.2, 0.4, 0.6, 0.8]), x)
    table = np.array([[np.sum((bins == b) & (y == c)) for c in range(3)] for b in range(5)])
    test = chi2_contingency(table, correction=False)
    assert relevance(x[:, np.newaxis], y, 3)[0] == pytest.approx(max(0, (test.statistic - test.dof) / 200))


def test_columns_that_tell_the_classes_apart_weigh_most():
    X, y = boxes(400)
    clf = AdaptiveSVM(ONE).partial_fit(X, y)
    weights = clf._committee.voters[0].weights
    assert weights.max() == 1.0
    assert set(np.argsort(weights)[-2:].tolist()) == {0, 1}
    assert np.sort(weights)[:-2].max() < 0.5


def test_it_beats_the_same_kernel_without_weights_where_columns_mean_nothing():
    X, y = boxes(1200)
    plain = AdaptiveSVM([Expert("rbf", gamma=2.0)]).partial_fit(X[:400], y[:400]).score(X[400:], y[400:])
    weighted = AdaptiveSVM(ONE).partial_fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert weighted > plain + 0.05


def test_sparse_rows_are_not_weighted():
    X, y = boxes(200)
    sparse_rows = AdaptiveSVM(ONE, scaling="none").partial_fit(sparse.csr_matrix(X), y)
    plain = AdaptiveSVM([Expert("rbf", gamma=2.0)], scaling="none").partial_fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(sparse_rows.decision_function(X), plain.decision_function(X))


def test_nothing_remains_of_a_forgotten_row():
    X, y = boxes(60)
    X[59] = 50.0
    clf = AdaptiveSVM(ONE, scaling="none").partial_fit(X, y).forget([59])
    other = AdaptiveSVM(ONE, scaling="none").partial_fit(X[:59], y[:59])
    np.testing.assert_allclose(clf._committee.voters[0].weights.max(), 1.0)
    other._committee.follow(other._kept())  # estimated on all rows that it keeps, as the first is
    np.testing.assert_allclose(clf._committee.voters[0].weights, other._committee.voters[0].weights)
    clf.forget(list(range(50)))
    assert clf._committee.voters[0].weights is None
