"""LocalSVM: the plain version row by row, retraining, and what must hold after every row of any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from everlearn import LocalSVM
from everlearn.datasets import make_banana
from property_helpers import property_test
from svm.lasvm_helpers import assert_same, in_blocks, learned, three_clouds
from svm.local_svm_helpers import (
    QUIET,
    PlainLocalSVM,
    by_row,
    dual,
    gram,
    reach,
    retrained,
    signs,
    streams,
    violation,
)

# -------------------------------------------------------------------------------------- the plain version


@pytest.mark.parametrize("C", [0.3, 10.0])
@pytest.mark.parametrize(
    ("neighborhood", "min_neighbors"), [(0.5, 0), (1.0, 10), (2.0, 0), (2.0, 50), ("grow", 0), ("grow", 7)]
)
def test_every_row_is_learned_as_in_the_plain_version(neighborhood, min_neighbors, C):
    X, y = signs(90)
    plain = PlainLocalSVM(gram(X, 0.4), y, C, neighborhood, min_neighbors, 1e-9)
    model = LocalSVM(C, gamma=0.4, radius=neighborhood, min_neighbors=min_neighbors, tol=1e-9, **QUIET)
    sizes = []
    for k in range(len(y)):
        near = plain.learn(k)
        sizes += [len(near)] if near else []
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        np.testing.assert_allclose(by_row(model, len(y)), plain.alpha, rtol=0, atol=2e-4 * C)
        np.testing.assert_allclose(model.intercept_, plain.b, rtol=0, atol=2e-4)
    assert model.n_updates_ == [len(sizes)]
    np.testing.assert_allclose(model.mean_neighbors_, np.mean(sizes))
    assert len(set(sizes)) > 4, "neighborhoods of many sizes"


def test_a_row_far_from_all_others_can_move():
    X = np.array([[0.0], [1.0], [500.0], [-900.0]])
    model = LocalSVM(gamma=1.0, min_neighbors=0, radius=0.1, **QUIET)
    model.partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    assert np.all(by_row(model, 4) != 0)


# -------------------------------------------------------------------------------------------- retraining


@pytest.mark.parametrize("neighborhood", [1e6, np.inf])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_the_neighborhood_of_everything_is_retraining(neighborhood, C):
    X, y = signs(160, seed=3)
    K = gram(X, 0.3)
    model = LocalSVM(C, gamma=0.3, radius=neighborhood, **QUIET)
    for end in range(20, 161, 20):
        model.partial_fit(X[end - 20 : end], y[end - 20 : end], classes=[-1, 1])
        reference, best = retrained(X[:end], y[:end], C, 0.3)
        alpha, most = by_row(model, end), dual(best, K[:end, :end], y[:end])
        assert (most - dual(alpha, K[:end, :end], y[:end])) / most < 1e-3
        np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=0.02)
    assert model.n_full_passes_ == [0]


@pytest.mark.parametrize("neighborhood", [2.0, "grow"])
def test_local_updates_come_close_to_retraining(neighborhood):
    X, labels = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), np.where(labels == 1, 1, -1)
    model = LocalSVM(gamma=1 / 30, radius=neighborhood, random_state=0).fit(X[:114], y[:114])
    model.partial_fit(X[114:342], y[114:342])
    reference, best = retrained(X[:342], y[:342], 1.0, 1 / 30)
    K = gram(X[:342], 1 / 30)
    gap = (dual(best, K, y[:342]) - dual(by_row(model, 342), K, y[:342])) / dual(best, K, y[:342])
    assert gap < 0.02
    assert abs(model.score(X[342:], y[342:]) - reference.score(X[342:], y[342:])) <= 0.005
    assert 0 < model.n_updates_[0] < 228 + 114


@pytest.mark.parametrize("neighborhood", [0.5, "grow"])
def test_finish_is_the_svm_of_all_rows(neighborhood):
    X, y = signs(200, seed=1)
    model = LocalSVM(3.0, gamma=0.3, radius=neighborhood, min_neighbors=0, tol=1e-6, **QUIET)
    model.partial_fit(X, y, classes=[-1, 1])
    reference, best = retrained(X, y, 3.0, 0.3)
    assert dual(by_row(model, 200), gram(X, 0.3), y) < 0.999 * dual(best, gram(X, 0.3), y)
    model.finish()
    np.testing.assert_allclose(by_row(model, 200), best, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-4)
    assert model.n_kept_ == 200
    assert_same(
        learned(LocalSVM(3.0, gamma=0.3, random_state=1).fit(X, y)),
        learned(LocalSVM(3.0, gamma=0.3, random_state=1, finishing=None).fit(X, y).finish()),
    )


# ------------------------------------------------------------------------------------------ after every row


# No distance on the grid is at one of these radii, where rounding would decide.
STRATEGIES = st.sampled_from([(0.53, 0), (1.07, 3), (2.03, 0), (1e9, 0), ("grow", 0), ("grow", 4)])


@property_test(120)
@given(streams(), STRATEGIES, st.sampled_from([0.1, 1.0]))
def test_after_every_row(stream, strategy, gamma):
    X, y, C = stream
    K, box = gram(X, gamma), np.array([np.minimum(0, y * C), np.maximum(0, y * C)])
    neighborhood, least = strategy
    model = LocalSVM(gamma=gamma, radius=neighborhood, min_neighbors=least, **QUIET)
    alpha, b = np.zeros(len(y)), 0.0
    for k in range(len(y)):
        before, f = alpha, K[k] @ alpha + b
        updates = model.n_updates_[0] if k else 0
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1], sample_weight=C[[k]])
        alpha, old, b = by_row(model, len(y)), b, model.intercept_[0]
        # the box and the sum hold, and the gradients are those of the coefficients
        assert abs(alpha.sum()) < 1e-10
        assert np.all((alpha >= box[0]) & (alpha <= box[1]))
        g = y - K @ alpha
        np.testing.assert_allclose(learned(model)["g"][0], g[: k + 1], atol=1e-4)
        if len(set(y[: k + 1])) == 1:
            assert b == y[0]
            continue
        # a row on the right side of the margin changes nothing
        if y[k] * f >= 1 + 1e-5:
            assert np.array_equal(alpha, before)
            assert b == old
        # what is outside the neighborhood stays as it was, and within it the conditions hold
        if neighborhood != "grow" and model.n_updates_[0] > updates:
            others = sorted(range(k), key=lambda i: (-K[k, i], i))
            inside = [k, *others[: reach(K[k], y[k], before, box, others, neighborhood, least)]]
            assert set(np.flatnonzero(alpha != before)) <= set(inside)
            assert violation(alpha, g, box, inside) <= model.tol + 1e-4
        # b is that of all free support vectors
        free = (alpha > box[0] + 1e-9) & (alpha < box[1] - 1e-9)
        if model.n_updates_[0] > updates and free.any():
            np.testing.assert_allclose(b, g[free].mean(), atol=1e-4)


# --------------------------------------------------------------------------------------------- full passes


def test_a_full_pass_makes_the_conditions_hold_everywhere():
    X, y = signs(150, seed=2)
    K, box = gram(X, 0.5), np.array([np.minimum(0, y * 2.0), np.maximum(0, y * 2.0)])
    model = LocalSVM(2.0, gamma=0.5, radius=0.3, min_neighbors=0, full_pass_every=7, full_pass_sample=0)
    loose = 0
    for k in range(len(y)):
        passes = model.n_full_passes_[0] if k else 0
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        alpha = by_row(model, len(y))
        worst = violation(alpha, y - K @ alpha, box, range(k + 1))
        if model.n_full_passes_[0] > passes:
            assert worst <= model.tol + 1e-5
        loose += worst > 0.1
    assert loose > 10
    assert model.n_full_passes_ == [model.n_updates_[0] // 7]


def test_drift_outside_the_neighborhood_is_seen():
    X, y = signs(150, seed=2)
    common = {"gamma": 0.5, "radius": 0.3, "min_neighbors": 0, "full_pass_every": None}
    K, box = gram(X, 0.5), np.array([np.minimum(0, y), np.maximum(0, y)])
    model = LocalSVM(full_pass_sample=3000, full_pass_tol=0.2, random_state=0, **common)
    alpha, checked = np.zeros(len(y)), 0
    for k in range(len(y)):
        before, updates = alpha, model.n_updates_[0] if k else 0
        model.partial_fit(X[[k]], y[[k]], classes=[-1, 1])
        alpha = by_row(model, len(y))
        if k == 0 or model.n_updates_[0] == updates:
            continue
        others = sorted(range(k), key=lambda i: (-K[k, i], i))
        outside = others[reach(K[k], y[k], before, box, others, 0.3, 0) :]
        pull = (y - K @ alpha - model.intercept_)[outside]
        rise, fall = (alpha < box[1])[outside], (alpha > box[0])[outside]
        # so many draws leave no row out
        assert max(pull[rise].max(initial=0), -pull[fall].min(initial=0)) < 0.2 + 1e-4
        checked += len(outside) > 0
    assert checked > 50
    some = LocalSVM(full_pass_sample=3, full_pass_tol=0.2, random_state=0, **common).partial_fit(
        X, y, classes=[-1, 1]
    )
    none = LocalSVM(full_pass_sample=0, **common).partial_fit(X, y, classes=[-1, 1])
    assert model.n_full_passes_[0] > some.n_full_passes_[0] > none.n_full_passes_[0] == 0


# ------------------------------------------------------------------------------------- kinds of input


def same_model(a, b, X, atol=1e-6):
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=atol)


@pytest.mark.parametrize("neighborhood", [1.0, "grow"])
def test_sparse_rows_are_learned_as_dense_ones(neighborhood):
    rng = np.random.default_rng(0)
    X, y = signs(200, 120)
    X = np.where(rng.random(X.shape) < 0.1, X, 0)
    options = {"gamma": 0.05, "radius": neighborhood, "full_pass_every": 30, "random_state": 3}
    dense = LocalSVM(**options).partial_fit(X, y, classes=[-1, 1])
    thin = LocalSVM(**options).partial_fit(sparse.csr_matrix(X), y, classes=[-1, 1])
    assert_same(learned(dense), learned(thin))
    assert sparse.issparse(thin.support_vectors_)


def test_the_cut_into_blocks_shows_in_the_last_digits_only():
    X, y = make_banana(500, random_state=0)
    options = {"gamma": 2.0, "C": 5, "full_pass_every": 20, "tol": 1e-6, "random_state": 3}
    whole = LocalSVM(**options).partial_fit(X, y, classes=[-1, 1])
    for size in (1, 37):
        same_model(whole, in_blocks(LocalSVM(**options), X, y, size, [-1, 1]), X, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"radius": "grow"}, {"max_idle": 30}])
def test_threads_and_cache_change_nothing(options):
    X, y = three_clouds(400)
    options = {"gamma": 0.3, "min_neighbors": 5, "full_pass_every": 25, "random_state": 5, **options}
    alone = LocalSVM(**options).partial_fit(X, y, classes=np.unique(y))
    assert np.all(alone.n_full_passes_ > 0)
    for other in ({"n_jobs": 3}, {"cache_size": 0.05}):
        shared = LocalSVM(**options, **other).partial_fit(X, y, classes=np.unique(y))
        assert_same(learned(shared), learned(alone))


@pytest.mark.parametrize("neighborhood", [1.0, "grow"])
def test_each_class_is_learned_against_the_rest(neighborhood):
    X, y = three_clouds(240)
    order = np.argsort(y == "yew", kind="stable")  # one column wakes late
    X, y = X[order], y[order]
    options = {"gamma": 0.3, "radius": neighborhood, "min_neighbors": 8, "tol": 1e-7, **QUIET}
    model = LocalSVM(**options).partial_fit(X, y, classes=["ash", "oak", "yew"])
    scores = model.decision_function(X)
    for number, name in enumerate(["ash", "oak", "yew"]):
        one = LocalSVM(**options).partial_fit(X, np.where(y == name, 1, -1), classes=[-1, 1])
        np.testing.assert_allclose(scores[:, number], one.decision_function(X), atol=1e-5)
        assert model.n_updates_[number] == one.n_updates_[0]
    assert model.score(X, y) > 0.75


def test_weights_multiply_the_cost():
    X, y = signs(120)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 3.0], len(y))
    plain = PlainLocalSVM(gram(X, 0.4), y, 2 * weights, 1.0, 5, 1e-9)
    for k in np.flatnonzero(weights):
        plain.learn(k)
    options = {"gamma": 0.4, "radius": 1.0, "min_neighbors": 5, "tol": 1e-9, **QUIET}
    options["random_state"] = 0
    model = LocalSVM(2.0, **options).partial_fit(X, y, classes=[-1, 1], sample_weight=weights)
    np.testing.assert_allclose(by_row(model, len(y)), plain.alpha, atol=1e-3)
    assert model.n_kept_ == np.count_nonzero(weights)
    by_class = LocalSVM(2.0, class_weight={1: 3.0}, **options).partial_fit(X, y, classes=[-1, 1])
    by_sample = LocalSVM(2.0, **options).partial_fit(
        X, y, classes=[-1, 1], sample_weight=np.where(y > 0, 3.0, 1.0)
    )
    assert_same(learned(by_class), learned(by_sample))


def test_one_class_first():
    X, y = signs(150)
    order = np.argsort(y, kind="stable")
    model = LocalSVM(gamma=0.4).partial_fit(X[order][:60], y[order][:60], classes=[-1, 1])
    assert np.all(model.predict(X) == -1)
    assert len(model.support_) == 0
    model.partial_fit(X[order][60:], y[order][60:]).finish()
    _, best = retrained(X[order], y[order], 1.0, 0.4)
    np.testing.assert_allclose(by_row(model, 150), best, atol=0.02)


def test_a_second_epoch_changes_little():
    X, y = signs(200)
    once = LocalSVM(gamma=0.4, random_state=0, finishing=None, **QUIET).fit(X, y)
    twice = LocalSVM(gamma=0.4, random_state=0, finishing=None, epochs=2, **QUIET).fit(X, y)
    assert (once.n_iter_, twice.n_iter_) == (200, 400)
    assert once.n_kept_ == twice.n_kept_ == 200
    _, best = retrained(X, y, 1.0, 0.4)
    K = gram(X, 0.4)
    first, second, most = (dual(alpha, K, y) for alpha in (by_row(once, 200), by_row(twice, 200), best))
    assert first < second <= most + 1e-6
