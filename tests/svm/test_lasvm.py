"""LASVM as an estimator: what it learns, beside scikit-learn's exact SVM, and what it says about it."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_circles, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import LASVM
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    assert_same_model,
    coefficients,
    dual,
    in_blocks,
    kernel_matrix,
    learned,
    snapshot,
    three_clouds,
    two_clouds,
)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


# Beside the exact SVM.

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.1, "degree": 3, "coef0": 1.0},
    "rbf": {"gamma": 0.05},
    "sigmoid": {"gamma": 0.01, "coef0": 0.0},  # nearly linear: elsewhere it is not positive definite
    "cosine": {},
    "laplacian": {"gamma": 0.05},
}


@pytest.mark.parametrize("C", [0.1, 2.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_several_epochs_reach_the_exact_svm(cancer, kernel, C):
    X, y = cancer
    ours = LASVM(C=C, kernel=kernel, epochs=5, random_state=0, **KERNELS[kernel]).fit(X, y)
    K = kernel_matrix(kernel, X, **KERNELS[kernel])
    exact = SVC(C=C, kernel="precomputed").fit(K, y)
    best = dual(coefficients(exact, len(y))[0], K)
    assert dual(coefficients(ours, len(y))[0], K) == pytest.approx(best, rel=1e-3)
    assert np.mean(ours.predict(X) == exact.predict(K)) > 0.998
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(K), rtol=0, atol=0.05)


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_one_epoch_is_close_to_the_exact_svm(make):
    X, y = make(600, noise=0.2, random_state=0)
    ours = LASVM(C=10, random_state=0).fit(X[:400], y[:400])
    exact = SVC(C=10).fit(X[:400], y[:400])
    assert ours.score(X[400:], y[400:]) == pytest.approx(exact.score(X[400:], y[400:]), abs=0.02)


def test_several_classes_are_learned_one_against_the_rest():
    X, y = load_digits(return_X_y=True)
    X, y = X[:500] / 16, y[:500]
    ours = LASVM(C=2, gamma=0.05, epochs=4, random_state=0).fit(X, y)
    exact = OneVsRestClassifier(SVC(C=2, gamma=0.05)).fit(X, y)
    scores = ours.decision_function(X)
    assert scores.shape == (500, 10)
    np.testing.assert_allclose(scores, exact.decision_function(X), rtol=0, atol=0.01)
    np.testing.assert_array_equal(ours.predict(X), ours.classes_[scores.argmax(axis=1)])
    K = kernel_matrix("rbf", X, gamma=0.05)
    for alpha, machine in zip(coefficients(ours, 500), exact.estimators_, strict=True):
        assert dual(alpha, K) == pytest.approx(dual(coefficients(machine, 500)[0], K), rel=1e-3)


def test_gamma_scale_and_auto_are_those_of_scikit_learn(cancer):
    X, y = cancer
    X = X[:200] * 1.7
    for word, value in (("scale", 1 / (X.shape[1] * X.var())), ("auto", 1 / X.shape[1])):
        ours = LASVM(gamma=word, epochs=4, random_state=0).fit(X, y[:200])
        number = LASVM(gamma=float(value), epochs=4, random_state=0).fit(X, y[:200])
        np.testing.assert_allclose(ours.decision_function(X), number.decision_function(X), rtol=0, atol=1e-3)
        exact = SVC(gamma=word).fit(X, y[:200])
        np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), rtol=0, atol=0.01)


@pytest.mark.parametrize("weight", [{"ash": 5.0}, {"ash": 0.2, "oak": 1, "yew": 3}, "balanced"])
def test_class_weight_is_that_of_svc(weight):
    X, y = three_clouds()
    X, y = X[y != "oak"][30:], y[y != "oak"][30:]
    if isinstance(weight, dict):
        weight = {label: value for label, value in weight.items() if label != "oak"}
    ours = LASVM(class_weight=weight, gamma=0.3, epochs=5, random_state=0).fit(X, y)
    exact = SVC(class_weight=weight, gamma=0.3).fit(X, y)
    plain = SVC(gamma=0.3).fit(X, y).decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), rtol=0, atol=0.01)
    assert np.abs(ours.decision_function(X) - plain).max() > 0.01


def test_sample_weight_is_that_of_svc():
    X, y = two_clouds(300)
    weight = np.random.default_rng(1).choice([0, 0.3, 1, 4], 300)
    ours = LASVM(C=2, gamma=0.3, epochs=5, random_state=0).fit(X, y, sample_weight=weight)
    exact = SVC(C=2, gamma=0.3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), rtol=0, atol=0.01)
    alpha = np.abs(coefficients(ours, 300)[0])
    assert np.all(alpha <= 2 * weight)  # the box, exactly
    assert np.any(alpha == 2 * weight)
    assert ours.n_iter_ == 5 * np.count_nonzero(weight)


def test_sample_weight_multiplies_class_weight_in_partial_fit():
    X, y = two_clouds(100)
    weight = np.random.default_rng(1).uniform(0.5, 2, 100)
    both = LASVM(gamma=0.3, class_weight={1: 3.0}).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    by_hand = LASVM(gamma=0.3).partial_fit(X, y, classes=[0, 1], sample_weight=weight * np.where(y, 3.0, 1))
    assert_same_model(both, by_hand)


# What it says about itself.


@pytest.mark.parametrize("kernel", KERNELS)
def test_attributes_reconstruct_the_decision_function(kernel):
    for X, y in (two_clouds(), three_clouds()):
        model = LASVM(kernel=kernel, random_state=0, **KERNELS[kernel]).fit(X, y)
        problems = 1 if len(model.classes_) == 2 else 3
        n_sv = len(model.support_)
        assert model.support_vectors_.shape == (n_sv, X.shape[1])
        assert model.dual_coef_.shape == (problems, n_sv)
        assert model.intercept_.shape == (problems,)
        assert model.n_features_in_ == X.shape[1]
        K = kernel_matrix(kernel, X, model.support_vectors_, **KERNELS[kernel])
        scores = K @ model.dual_coef_.T + model.intercept_
        shaped = scores[:, 0] if problems == 1 else scores
        np.testing.assert_allclose(model.decision_function(X), shaped, rtol=0, atol=1e-4)


def test_support_are_row_numbers_and_counted_by_class():
    X, y = three_clouds()
    model = LASVM(random_state=0, epochs=2).fit(X, y)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    assert len(set(model.support_)) == len(model.support_)
    counts = [np.sum(y[model.support_] == label) for label in ("ash", "oak", "yew")]
    np.testing.assert_array_equal(model.n_support_, counts)
    for alpha, label in zip(coefficients(model, len(y)), model.classes_, strict=True):
        assert np.all(alpha[y == label] >= 0)
        assert np.all(alpha[y != label] <= 0)
        assert alpha.sum() == pytest.approx(0, abs=1e-9)
    assert np.all(np.any(model.dual_coef_ != 0, axis=0))


def test_row_numbers_run_on_through_partial_fit_and_after_fit():
    X, y = two_clouds(300)
    model = in_blocks(LASVM(), X, y, 70, [0, 1])
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    model = LASVM(random_state=0).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert model.support_.max() >= 100
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)


def test_iterations_count_the_rows_taken_in():
    X, y = two_clouds()
    assert LASVM().fit(X, y).n_iter_ == 200
    assert LASVM(epochs=3).fit(X, y).n_iter_ == 600
    assert LASVM(max_iter=50).fit(X, y).n_iter_ == 50
    assert LASVM(epochs=3, max_iter=250).fit(X, y).n_iter_ == 250
    assert LASVM(max_iter=1000).fit(X, y).n_iter_ == 200
    assert LASVM(max_iter=0).fit(X, y).n_iter_ == 10  # the seeds are always taken
    assert LASVM().partial_fit(X, y, classes=[0, 1]).partial_fit(X[:7], y[:7]).n_iter_ == 207
    few = LASVM(max_iter=50, random_state=0).fit(X, y)
    assert len(few.support_) <= 50


def test_kernel_evaluations_are_counted_and_looking_costs_none():
    X, y = two_clouds(500)
    model = LASVM(C=1).partial_fit(X[:100], y[:100], classes=[0, 1])
    first = model.n_kernel_evaluations_
    assert first >= 100 * 99 / 2
    model.predict(X)
    assert model.n_kernel_evaluations_ == first
    model.partial_fit(X[100:], y[100:])
    assert model.n_kernel_evaluations_ >= first + 400 * 399 / 2 / 4
    assert LASVM(C=1, cache_size=0.01, random_state=0).fit(X, y).n_kernel_evaluations_ > (
        LASVM(C=1, random_state=0).fit(X, y).n_kernel_evaluations_
    )


def test_attributes_are_absent_before_fit_and_fit_forgets():
    model = LASVM(random_state=0)
    for name in ("support_", "dual_coef_", "intercept_", "n_support_", "n_iter_", "n_kernel_evaluations_"):
        assert not hasattr(model, name)
    X, y = three_clouds()
    model.fit(X, y)
    again = LASVM(random_state=0).fit(*two_clouds(features=3))
    assert_same_model(model.fit(*two_clouds(features=3)), again)
    assert model.n_iter_ == 200


# Online.


def test_delta_max_bounds_the_violation_after_every_row():
    X, y = two_clouds(120)
    loose, tight = LASVM(C=10, gamma=0.5), LASVM(C=10, gamma=0.5, delta_max=0.3)
    violations = []
    for k in range(120):
        for model in (loose, tight):
            model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[0, 1])
        if 0 < y[: k + 1].sum() <= k:
            assert learned(tight)["delta"][0] <= 0.3
            violations.append(learned(loose)["delta"][0])
    assert max(violations) > 0.3


def test_one_row_at_a_time_learns_as_well_as_fit(cancer):
    X, y = cancer
    model = in_blocks(LASVM(C=2, gamma=0.03), X, y, 1, [0, 1]).finish()
    assert model.n_iter_ == len(y)
    assert model.score(X, y) == pytest.approx(SVC(C=2, gamma=0.03).fit(X, y).score(X, y), abs=0.01)


def test_rows_before_the_second_class_are_kept_and_learned():
    X, y = two_clouds(250)
    first = np.flatnonzero(y == 0)[:60]
    order = np.concatenate([first, np.setdiff1d(np.arange(250), first)])
    X, y = X[order], y[order]
    model = in_blocks(LASVM(gamma=0.3), X[:60], y[:60], 20, [0, 1])
    assert model.predict(X).tolist() == [0] * 250
    assert len(model.support_) == 0
    in_blocks(model, X[60:], y[60:], 20, None).finish()
    assert model.n_iter_ == 250
    assert np.sum(model.support_ < 60) > 10
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    assert model.score(X, y) == pytest.approx(SVC(gamma=0.3).fit(X, y).score(X, y), abs=0.03)
    only_ones = LASVM().partial_fit(X[y == 1], y[y == 1], classes=[0, 1]).finish()
    assert only_ones.predict(X).tolist() == [1] * 250


def test_a_class_that_comes_late_and_one_that_never_comes():
    X, y = three_clouds()
    late = np.argsort(y == "yew", kind="stable")
    X, y = X[late], y[late]
    model = in_blocks(LASVM(gamma=0.3), X[y != "yew"], y[y != "yew"], 30, ["ash", "elm", "oak", "yew"])
    assert set(model.predict(X)) == {"ash", "oak"}
    in_blocks(model, X[y == "yew"], y[y == "yew"], 30, None).finish()
    assert set(model.predict(X)) == {"ash", "oak", "yew"}
    assert model.n_support_[1] == 0
    assert model.n_support_[3] > 0
    assert model.score(X, y) > OneVsRestClassifier(SVC(gamma=0.3)).fit(X, y).score(X, y) - 0.05
    yew = coefficients(model, len(y))[3]
    assert np.any(yew[y != "yew"] < 0)  # the early rows take part in the late class's problem
    assert np.all(model.decision_function(X)[:, 1] < 0)


def test_finishing_can_be_left_out_and_made_up_for():
    X, y = two_clouds(300)
    whole = LASVM(C=10, random_state=0, finishing="kept", reserve=0).fit(X, y)
    halves = LASVM(C=10, random_state=0, finishing=None, reserve=0).fit(X, y)
    assert learned(halves)["delta"][0] > 1e-3
    assert not np.array_equal(halves.support_, whole.support_)
    assert halves.finish() is halves
    assert_same(learned(halves), learned(whole))
    assert learned(whole)["delta"][0] <= 1e-3


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_finish_is_idempotent(data):
    X, y = data()
    model = LASVM(C=10, random_state=0).fit(X, y)
    fitted, before = learned(model), snapshot(model.finish())
    assert_same(learned(model), fitted)
    assert_same(snapshot(model.finish()), before)


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("kernel", ["rbf", lambda a, b: a @ b.T])
def test_looking_changes_nothing(data, kernel):
    X, y = data()
    model, blind = (
        LASVM(kernel=kernel, C=10).partial_fit(X[:100], y[:100], classes=np.unique(y)) for _ in range(2)
    )
    before = snapshot(model)
    model.decision_function(X), model.predict(X), model.score(X, y)
    for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_"):
        getattr(model, name)[...] = 0  # what is handed out is a copy
    assert_same(snapshot(model), before)
    for other in (model, blind):
        other.partial_fit(X[100:], y[100:])
    assert_same(snapshot(model), snapshot(blind))


def test_random_state_decides_the_order():
    X, y = two_clouds()
    one, same, other = (LASVM(random_state=seed).fit(X, y) for seed in (3, 3, 4))
    assert_same(snapshot(one), snapshot(same))
    assert not np.array_equal(one.dual_coef_, other.dual_coef_)
    generator = LASVM(random_state=np.random.RandomState(3)).fit(X, y)
    assert_same_model(generator, one)
    given = LASVM(random_state=InOrder(0), finishing=None).fit(X, y)
    assert not np.array_equal(given.support_, one.support_)


# In company.


def linear_kernel(X, Y):
    return X @ Y.T


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", linear_kernel])
def test_clone_pickle_and_deepcopy(kernel):
    X, y = three_clouds()
    if kernel == "precomputed":
        X = X @ X.T
    model = LASVM(C=3, gamma=0.2, kernel=kernel, random_state=0)
    model.partial_fit(X[:150], y[:150], classes=np.unique(y))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "support_")
    copies = []
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model)):
        assert_same(snapshot(copy), snapshot(model))
        before = snapshot(model)
        copy.partial_fit(X[150:], y[150:]).finish()
        assert_same(snapshot(model), before)
        copies.append(copy)
    model.partial_fit(X[150:], y[150:]).finish()
    for copy in copies:
        assert_same(learned(copy), learned(model))


def test_pipeline_and_grid_search():
    X, y = make_moons(300, noise=0.2, random_state=0)
    pipe = make_pipeline(StandardScaler(), LASVM(random_state=0))
    grid = GridSearchCV(pipe, {"lasvm__C": [1e-4, 10], "lasvm__kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
    assert grid.best_params_ == {"lasvm__C": 10, "lasvm__kernel": "rbf"}
    assert grid.best_score_ > 0.9
    K = kernel_matrix("rbf", X, gamma=1.0)
    grid = GridSearchCV(LASVM(kernel="precomputed", random_state=0), {"C": [1e-4, 10]}, cv=3).fit(K, y)
    assert grid.best_params_ == {"C": 10}


def test_progress_goes_to_stderr_when_asked_for_and_nowhere_otherwise(capfd):
    X, y = two_clouds()
    for verbose, words in ((True, True), (1, True), (False, False), (0, False)):
        model = LASVM(random_state=0, verbose=verbose, C=10).fit(X, y)
        model.partial_fit(X, y).finish().predict(X)
        out, err = capfd.readouterr()
        assert out == ""
        assert ("learning" in err and "200/200" in err and "finishing" in err) == words
        assert words or err == ""
