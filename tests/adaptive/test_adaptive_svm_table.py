"""AdaptiveSVM.fit: it chooses experts for a table, and a stream can follow."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from adaptive.adaptive_helpers import as_sparse, bits, blobs, consistent, swap
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert
from everlearn.adaptive.experts import DEFAULT, GRID
from everlearn.datasets import make_banana


def many_noise_columns(n):
    X = np.random.default_rng(0).normal(size=(n, 40))
    return X, (X[:, 0] - X[:, 1] + 0.3 * X[:, 2] ** 2 - 0.3 > 0).astype(int)


def shuffled(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


SETS = {
    "banana": lambda: make_banana(450, random_state=0),
    "many noise columns": lambda: many_noise_columns(450),
    "breast cancer": lambda: shuffled(load_breast_cancer),
    "wine": lambda: shuffled(load_wine),
}


def halves(name):
    X, y = SETS[name]()
    n = min(200, len(y) // 2)
    return X[:n], y[:n], X[n:], y[n:]


@pytest.mark.parametrize("name", list(SETS))
def test_about_as_good_as_the_best_expert_of_its_grid_in_hindsight(name):
    """Two points below, and a standard error of the test rows."""
    X, y, X_test, y_test = halves(name)
    found = AdaptiveSVM(random_state=0).fit(X, y).score(X_test, y_test)
    scores = [
        AdaptiveSVM(experts=[expert], random_state=0).fit(X, y).score(X_test, y_test) for expert in GRID
    ]
    best = max(scores)
    assert found >= best - 0.02 - np.sqrt(best * (1 - best) / len(y_test))
    assert found > np.median(scores) - 0.01


def test_rbf_for_banana():
    X, y, *_ = halves("banana")
    learner = AdaptiveSVM(random_state=0).fit(X, y)
    assert [expert.kernel for expert in learner.experts_[:3]] == ["rbf"] * 3
    assert learner.weights_[:3].sum() > 0.95


def test_linear_or_relevant_columns_where_most_columns_are_noise():
    X, y, X_test, y_test = halves("many noise columns")
    learner = AdaptiveSVM(random_state=0).fit(X, y)
    first = learner.experts_[0]
    assert first.kernel == "linear" or first.relevance
    plain = [expert for expert in GRID if expert.kernel == "rbf" and not expert.relevance]
    best = max(AdaptiveSVM(experts=[e], random_state=0).fit(X, y).score(X_test, y_test) for e in plain)
    assert learner.score(X_test, y_test) > best


def test_given_experts_are_all_kept_and_weighted_by_how_they_do():
    X, y = make_banana(300, random_state=0)
    experts = [Expert("linear"), Expert("rbf"), Expert("no-change"), GaussianNB()]
    learner = AdaptiveSVM(experts=experts, random_state=0).fit(X, y)
    assert [expert.name for expert in learner.experts_] == [
        "linear C=10", "rbf C=10 gamma=1*scale", "no-change", "GaussianNB",
    ]  # fmt: skip
    assert learner.weights_.argmax() == 1
    assert learner.weights_[1] > 0.5


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stream_can_follow(n_classes):
    X, y = blobs(260, n_classes)
    learner = AdaptiveSVM(random_state=0).fit(X[:120], y[:120])
    assert learner.ids_.tolist() == list(range(120))
    for start in range(120, 260, 20):
        learner.partial_fit(X[start : start + 20], y[start : start + 20])
    assert learner.n_kept_ == 260
    assert consistent(learner)
    learner.partial_fit(X[:20] + 9, np.full(20, 7))
    assert learner.classes_.tolist() == [*range(n_classes), 7]
    assert (learner.predict(X[:20] + 9) == 7).all()


def test_short_memories_wait_for_concept_drift():
    X, y = swap(500, 300)
    learner = AdaptiveSVM(random_state=0).fit(X[:300], y[:300])
    short = [place for place, expert in enumerate(learner.experts_) if expert.window is not None]
    assert learner.weights_[short].sum() < 0.05
    for start in range(300, 360, 10):
        learner.partial_fit(X[start : start + 10], y[start : start + 10])
    assert learner.weights_[short].sum() > 0.9
    assert learner.score(X[360:], y[360:]) > 0.8


def test_fitting_again_starts_from_nothing():
    X, y = blobs(100, 3)
    once = AdaptiveSVM(random_state=0).fit(X, y)
    again = AdaptiveSVM(random_state=0).partial_fit(X[:, :2], y + 5).fit(X[:50], y[:50]).fit(X, y)
    assert bits(again) == bits(once)
    assert bits(clone(again).fit(X, y)) == bits(once)


def test_a_row_that_is_left_out_and_a_class_that_is():
    X, y = blobs(120, 3)
    weight = np.where(y == 2, 0.0, 1.0)
    learner = AdaptiveSVM(random_state=0).fit(X, y, sample_weight=weight)
    assert learner.classes_.tolist() == [0, 1, 2]
    assert learner.ids_.tolist() == np.flatnonzero(weight).tolist()
    assert (learner.predict(X) < 2).all()
    np.testing.assert_allclose(learner.predict_proba(X).sum(axis=1), 1.0)
    assert learner.partial_fit(X[:1], y[:1]).ids_[-1] == 120


@pytest.mark.parametrize("n", [40, 400])
def test_a_class_with_a_single_row(n):
    X, y = blobs(n, 2)
    y[n // 2] = 2
    learner = AdaptiveSVM(random_state=0).fit(X, y)
    assert learner.decision_function(X).shape == (n, 3)


def test_sparse_tables():
    X, y = blobs(150, 3, features=120)
    X[np.random.default_rng(0).random(X.shape) < 0.9] = 0
    learner = AdaptiveSVM(random_state=0).fit(as_sparse(X[:100]), y[:100])
    assert learner.score(as_sparse(X[100:]), y[100:]) > 0.6
    assert np.isfinite(learner.predict_proba(X)).all()


def test_class_weights_move_the_boundary():
    X, y = blobs(200, noise=2.0)
    shares = [
        np.mean(AdaptiveSVM(class_weight=weight, random_state=0).fit(X, y).predict(X) == 1)
        for weight in ({0: 10.0}, None, {1: 10.0})
    ]
    assert shares[0] < shares[1] < shares[2]


def test_a_large_table_is_kept_whole():
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 2))
    y = (X[:, 0] ** 2 + X[:, 1] ** 2 < 1.2).astype(int)
    X[:, 0] += 0.02 * random.normal(size=20_000)
    order = np.argsort(y, kind="stable")  # as tables often come
    X, y = X[order], y[order]
    learner = AdaptiveSVM(random_state=0).fit(X, y)
    assert learner.n_kept_ == 20_000
    assert all(expert.kernel == "rbf" and expert.C > 1 for expert in learner.experts_[:3])
    assert learner.score(X, y) > 0.97
    learner.partial_fit(X[:10], y[:10])
    assert learner.n_kept_ == 20_010
    assert len(learner.experts_) == 3 + sum(e.window is not None or e.kernel == "no-change" for e in DEFAULT)


def test_in_cross_validation():
    X, y = blobs(90, 3, noise=0.5)
    assert cross_val_score(AdaptiveSVM(random_state=0), X, y, cv=3).mean() > 0.8
