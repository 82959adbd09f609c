"""QPS3VM with more than two classes: the exact optimum by brute force, exchanges, two classes, real rows."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from everlearn import QPS3VM, SubmodS3VM, load, save
from everlearn._submodular.choice import StoredSimilarities
from everlearn.semi._cuts import exact_cut
from everlearn.semi._partition import Partition, best_partition, exact_partition
from everlearn.semi._transduce import choice_of_positives
from property_helpers import property_test
from reference.welfare import welfare_value
from semi.semi_helpers import matrices, quarters


@st.composite
def partitions(draw, classes=(3, 4)):
    """A small problem, and the matrix and label scores it was made of."""
    K = draw(matrices(3, 7))
    n, Q = len(K), draw(st.sampled_from(classes))
    edges = sorted(draw(st.lists(st.integers(0, n), min_size=Q - 1, max_size=Q - 1)))
    s = draw(quarters((n, Q)))
    return K, s, Partition(StoredSimilarities(K), s, np.diff([0, *edges, n]), 1.0, 1.5)


def labelings(sizes):
    return [np.array(each) for each in set(permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))]


@property_test(60)
@given(partitions())
def test_the_exact_labeling_is_the_best_of_all(drawn):
    K, s, problem = drawn
    best = max(welfare_value(K, s.T, labels, 1.0, 1.5) for labels in labelings(problem.sizes))
    found = exact_partition(problem)
    np.testing.assert_array_equal(np.bincount(found, minlength=len(problem.sizes)), problem.sizes)
    assert welfare_value(K, s.T, found, 1.0, 1.5) == pytest.approx(best, abs=1e-6)
    assert problem.value(found) == pytest.approx(welfare_value(K, s.T, found, 1.0, 1.5), abs=1e-9)


@property_test(60)
@given(partitions(), st.integers(0, 3))
def test_no_exchange_of_two_rows_is_better_than_what_was_found(drawn, seed):
    """Whether exchanges begin at any labeling or where the search ends."""
    K, s, problem = drawn
    random = np.random.default_rng(seed)
    start = random.permutation(np.repeat(np.arange(len(problem.sizes)), problem.sizes))
    swapped = problem.swap(start)
    assert problem.value(swapped) >= problem.value(start) - 1e-12
    searched, _ = best_partition(problem, 1, random, float(max(0.0, K.max())))
    for found in (swapped, searched):
        np.testing.assert_array_equal(np.bincount(found, minlength=len(problem.sizes)), problem.sizes)
        value = welfare_value(K, s.T, found, 1.0, 1.5)
        for i, j in combinations(range(len(found)), 2):
            other = found.copy()
            other[[i, j]] = other[[j, i]]
            assert welfare_value(K, s.T, other, 1.0, 1.5) <= value + 1e-9


@property_test(40)
@given(partitions(classes=(2,)))
def test_two_classes_are_the_binary_problem(drawn):
    K, s, problem = drawn
    k = int(problem.sizes[1])
    choice = choice_of_positives(StoredSimilarities(K), s[:, 1] - s[:, 0], 1.0, 1.5, float(max(0.0, K.max())))
    labels = np.zeros(len(K), dtype=np.int64)
    labels[exact_cut(choice, k)] = 1
    assert problem.value(exact_partition(problem)) == pytest.approx(problem.value(labels), abs=1e-6)


def partly(X, y, labels, seed):
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    first = np.concatenate([np.flatnonzero(y == c)[:labels] for c in np.unique(y)])
    return X, y, np.where(np.isin(np.arange(len(y)), first), y, -1)


SETTINGS = {"kernel": "rbf", "unlabeled": -1, "random_state": 0}


@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_the_optimum_of_small_problems(seed):
    X, _, known = partly(*load_iris(return_X_y=True), 2, seed)
    rows = np.concatenate([np.flatnonzero(known >= 0), np.flatnonzero(known < 0)[:14]])
    settings = SETTINGS | {"estimator": None, "rho": 3.0}
    exact = QPS3VM(exact=True, **settings).fit(X[rows], known[rows])
    search = QPS3VM(**settings).fit(X[rows], known[rows])
    assert search.objective_ == pytest.approx(exact.objective_, abs=1e-7)
    assert exact.objective_ >= SubmodS3VM(**settings).fit(X[rows], known[rows]).objective_ - 1e-7


def test_it_finds_better_labelings_than_greedy():
    better = 0
    for seed in range(4):
        X, _, known = partly(*load_iris(return_X_y=True), 3, seed)
        settings = SETTINGS | {"rho": 1.0, "estimator": None}
        thorough, greedy = (cls(**settings).fit(X, known).objective_ for cls in (QPS3VM, SubmodS3VM))
        assert thorough >= greedy - 1e-9
        better += thorough > greedy + 1e-6
    assert better > 0


def test_clusters_help_to_label_digits():
    found, alone = [], []
    for seed in range(3):
        X, y, known = partly(*load_digits(n_class=4, return_X_y=True), 5, seed)
        free = np.flatnonzero(known[:500] < 0)
        shares = dict(enumerate((np.bincount(y[free]) / len(free)).tolist()))
        clf = QPS3VM(unlabeled=-1, positive_fraction=shares, random_state=0).fit(X[:500], known[:500])
        found.append(np.mean(clf.transduction_ == y[:500]))
        alone.append(np.mean(clf.supervised_transduction_ == y[:500]))
        given = known[:500] >= 0
        np.testing.assert_array_equal(clf.transduction_[given], known[:500][given])
        assert clf.score(X[500:], y[500:]) > 0.85
        assert clf.decision_function(X[500:]).shape == (len(y) - 500, 4)
        assert clf.scores_.shape == (500, 4)
    assert np.mean(found) > max(0.88, np.mean(alone))


def test_sizes_and_labels_alone():
    X, _, known = partly(*load_iris(return_X_y=True), 3, 1)
    shares = {0: 0.5, 1: 0.3, 2: 0.2}
    clf = QPS3VM(positive_fraction=shares, estimator=None, **SETTINGS).fit(X, known)
    free = known < 0
    np.testing.assert_allclose(np.bincount(clf.transduction_[free]) / free.sum(), [0.5, 0.3, 0.2], atol=0.01)
    alone = QPS3VM(positive_fraction=shares, estimator=None, rho=0.0, **SETTINGS).fit(X, known)
    np.testing.assert_array_equal(alone.transduction_, alone.supervised_transduction_)
    assert np.any(clf.transduction_ != clf.supervised_transduction_)


def test_a_saved_learner_is_the_same(tmp_path):
    X, _, known = partly(*load_iris(return_X_y=True), 3, 1)
    clf = QPS3VM(**SETTINGS).fit(X, known)
    save(clf, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), clf.decision_function(X))
    assert loaded.positive_fraction_ == clf.positive_fraction_


def test_similarities_that_overflow_are_refused():
    K = np.eye(9) * 1e308
    y = np.array([0, 1, 2, -1, -1, -1, -1, -1, -1])
    with pytest.raises(ValueError, match="overflow"):
        QPS3VM(kernel="precomputed", unlabeled=-1, rho=1e3, label_scores="similarity").fit(K, y)
