"""Submodular: the figures and the plain version, what a batch is, the loop, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import GaussianNB

from everlearn import LASVM, ActiveLearner
from everlearn.query import Margin, Submodular
from property_helpers import property_test
from query.query_helpers import Given, column, two_class_model
from reference.questions import choice_of_questions, questions
from semi.semi_helpers import clouds, digits, gram
from svm.lasvm_helpers import three_clouds

LINEAR = {"kernel": "linear", "scaling": "none", "pool_size": None}
RBF = {"kernel": "rbf", "gamma": 0.3, "scaling": "none", "pool_size": None}


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_figures(convert):
    """Digits 3 and 8, the first four rows labeled."""
    X, y = digits()
    strategy, pool, labeled = (
        Submodular((1, 10, 0.11331445), **LINEAR),
        convert(X[4:]),
        (convert(X[:4]), y[:4]),
    )
    problem = strategy._problem(None, pool, 20, labeled)
    order = problem.greedy(20).order
    assert (4 + order[:6]).tolist() == [159, 313, 292, 20, 228, 126]
    assert problem.value(order) == pytest.approx(-864.775588, abs=1e-4)
    assert strategy.query(None, pool, 20, labeled=labeled).tolist() == sorted(order)


@property_test(60)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([None, (1, 2, 0), (1, 1, 0.3), (2, 0, 0)]))
def test_by_labels_it_is_the_plain_version(seed, M, weights):
    X, y = clouds(30, seed, features=3)
    for strategy, K in (
        (Submodular(weights, **LINEAR), gram(X)),
        (Submodular(weights, **RBF), rbf_kernel(X, gamma=0.3)),
    ):
        asked = strategy.query(None, X[5:], M, labeled=(X[:5], y[:5]))
        assert asked.tolist() == sorted(questions(K[5:, 5:], K[:5, 5:], y[:5], M, weights))


@property_test(60)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([None, (1, 2, 0), (1, 1, 0.3)]))
def test_by_a_model_margins_stand_for_the_labels(seed, M, weights):
    X, y = clouds(30, seed, features=3)
    model = GaussianNB().fit(X[:8], np.r_[y[:6], -1, 1])
    margin = np.abs(np.diff(model.predict_proba(X[8:]), axis=1))[:, 0]
    strategy = Submodular(weights, **RBF)
    K = rbf_kernel(X[8:], gamma=0.3)
    usual = (1, M / (2 * np.median(margin)), 0) if np.median(margin) > 0 else (1, 1, 0)
    choice, h = choice_of_questions(K, margin, weights or usual)
    path = choice.lazy(M, h)
    assert strategy.query(model, X[8:], M).tolist() == sorted(path.order)
    worth = strategy.candidates(model, X[8:], M, 0)[1]
    np.testing.assert_allclose(worth[path.order], path.gains, atol=1e-9)  # K ≥ 0: gains fall
    assert set(np.argsort(-worth, kind="stable")[:M]) == set(path.order)


def test_utilities_are_what_a_row_adds_alone():
    model, X = two_class_model()
    margin = np.abs(model.decision_function(X))
    for weights, expected in (
        ((1, 2, 0), -2 * margin - 1),
        ((3, 1, 0), -margin - 3),
        (None, -margin / (2 * np.median(margin)) - 1),
    ):
        strategy = Submodular(weights, kernel="rbf")
        np.testing.assert_allclose(strategy.utilities(model, X), expected)
        assert strategy.query(model, X)[0] == np.argmin(margin)
    labeled = (X[:2], [0, 1])
    strategy = Submodular((1, 1, 0), **RBF)
    K = rbf_kernel(X[:2], X, gamma=0.3)
    np.testing.assert_allclose(strategy.utilities(None, X, labeled), -np.abs(K[1] - K[0]) - 1)


def test_without_a_weight_on_likeness_it_is_the_margin():
    model, X = two_class_model()
    for n in (1, 5, 20, None):
        asked = Submodular((0, 1, 0), pool_size=None).query(model, X, n)
        np.testing.assert_array_equal(asked, Margin(pool_size=None).query(model, X, n))


def test_a_batch_holds_no_row_twice():
    """Every row is there five times: the margin asks about the same row again and again."""
    model, X = two_class_model()
    pool = np.repeat(X, 5, axis=0)
    apart, near = (
        len(np.unique(pool[strategy.query(model, pool, 10)], axis=0))
        for strategy in (Submodular(gamma=20, pool_size=None), Margin(pool_size=None))
    )
    assert near == 2
    assert apart == 10


def test_several_classes():
    X, y = three_clouds(150, 3)
    model = LASVM(gamma=0.3, random_state=0).fit(X[:60], y[:60])
    assert len(Submodular().query(model, X[60:], 8)) == 8
    labels = np.array(["a", "b", "c"])[np.unique(y, return_inverse=True)[1][:6]]
    K = rbf_kernel(X[:6], X[60:], gamma=0.3)
    sums = np.sort([K[labels == name].sum(axis=0) for name in np.unique(labels)], axis=0)
    strategy = Submodular((0, 1, 0), **RBF)
    np.testing.assert_allclose(strategy.utilities(None, X[60:], (X[:6], labels)), sums[-2] - sums[-1])


def test_labels_that_are_missing_do_not_count():
    X, y = clouds(40, 0)
    strategy, known = Submodular(**RBF), [*y[:5], None, np.nan]
    expected = strategy.query(None, X[7:], 6, labeled=(X[:5], y[:5]))
    np.testing.assert_array_equal(strategy.query(None, X[7:], 6, labeled=(X[:7], known)), expected)
    one_class = strategy.utilities(None, X[7:], (X[:1], [3]))
    np.testing.assert_allclose(one_class, -2 * rbf_kernel(X[:1], X[7:], gamma=0.3)[0] - 1)


def test_similarities_below_zero_keep_the_batch_together():
    """Gains may rise from row to row then; the rows asked about are those that greedy takes all the same."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        X, f = np.random.default_rng(seed).standard_normal((15, 2)), rng.standard_normal(15)
        choice, h = choice_of_questions(gram(X), np.abs(f), (1, 0.1, 0))
        strategy = Submodular((1, 0.1, 0), **LINEAR)
        assert strategy.query(Fixed(f), X, 6).tolist() == sorted(choice.lazy(6, h).order)


class Fixed:
    def __init__(self, scores):
        self.scores = scores

    def decision_function(self, X):
        return self.scores


def test_a_loop_learns_with_it():
    X, y = clouds(400, 3, apart=2.5)
    loop = ActiveLearner(LASVM(gamma=0.3), Submodular(random_state=0), random_state=0)
    loop.run(X[:300], oracle=y[:300], max_labels=40, batch_size=10)
    assert len(loop.history) == 40
    assert len({record["row"] for record in loop.history}) == 40
    assert loop.estimator.score(X[300:], y[300:]) > 0.95


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"weights": (1, 2)}, "'weights' of Submodular must be None or three numbers, 0 or above, got"),
        ({"weights": (1, -2, 0)}, "'weights'"),
        ({"weights": 5}, "'weights'"),
        ({"kernel": "precomputed"}, "'kernel'"),
        ({"gamma": -1}, "'gamma'"),
        ({"scaling": "minmax"}, "'scaling'"),
        ({"pool_size": 0}, "'pool_size'"),
    ],
)
def test_bad_parameters(params, words):
    for look in ("query", "utilities"):
        with pytest.raises(ValueError, match=words):
            getattr(Submodular(**params), look)(Given(), column(0.0, 1.0))


@pytest.mark.parametrize(
    ("labeled", "words"),
    [
        (np.eye(3), "labeled must be a tuple of rows and labels"),
        ((np.eye(3)[:, :2], [1, 2]), "inconsistent numbers of samples"),
        ((np.eye(3), [1, 2, 1]), "labeled has rows with 3 features, the pool has 2"),
        ((np.eye(2), [None, np.nan]), "labeled has no label"),
    ],
)
def test_bad_labels(labeled, words):
    with pytest.raises(ValueError, match=words):
        Submodular().query(None, np.zeros((4, 2)), labeled=labeled)


def test_rows_that_are_no_numbers():
    with pytest.raises(ValueError, match="computes similarities of rows, which must be numeric"):
        Submodular().query(Fixed(np.zeros(2)), np.array([["a"], ["b"]]))
    with pytest.raises(ValueError, match="overflow"):
        Submodular(kernel="linear", scaling="none").query(Fixed(np.zeros(2)), np.full((2, 1), 1e200))
