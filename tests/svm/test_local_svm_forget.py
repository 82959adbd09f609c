"""LocalSVM: what it unlearns, what it drops under a budget, and the ids of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn import LocalSVM
from property_helpers import property_test
from svm.lasvm_helpers import learned, refused, three_clouds
from svm.local_svm_helpers import (
    QUIET,
    by_row,
    dual,
    gram,
    reach,
    retrained,
    signs,
    streams,
    violation,
)

# ----------------------------------------------------------------------------------------------- forgetting


@pytest.mark.parametrize("C", [0.5, 20.0])
def test_with_the_neighborhood_of_everything_forgetting_is_retraining(C):
    X, y = signs(120, seed=3)
    model = LocalSVM(C, gamma=0.3, radius=1e6, tol=1e-6, **QUIET).partial_fit(X, y, classes=[-1, 1])
    order, gone = np.random.default_rng(0).permutation(120), []
    for ids in np.split(order[:90], [1, 2, 5, 20, 60]):
        model.forget(ids)
        gone.extend(ids)
        kept = np.setdiff1d(np.arange(120), gone)
        reference, best = retrained(X[kept], y[kept], C, 0.3)
        np.testing.assert_array_equal(np.sort(learned(model)["ids"]), kept)
        np.testing.assert_allclose(by_row(model, 120)[kept], best, atol=2e-3 * C)
        np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=2e-3)
    assert model.n_full_passes_ == [0]


@property_test(80)
@given(streams(), st.sampled_from([(0.53, 0), (1.07, 3), ("grow", 0)]), st.randoms(use_true_random=False))
def test_forgetting_moves_neighbors_only_and_leaves_their_conditions(stream, strategy, random):
    X, y, C = stream
    K, box = gram(X, 1.0), np.array([np.minimum(0, y * C), np.maximum(0, y * C)])
    neighborhood, least = strategy
    model = LocalSVM(gamma=1.0, radius=neighborhood, min_neighbors=least, **QUIET)
    model.partial_fit(X, y, classes=[-1, 1], sample_weight=C)
    rows = list(range(len(y)))
    for c in random.sample(rows, len(rows) - 1):
        before = by_row(model, len(y))
        model.forget(c)
        rows.remove(c)
        alpha, state = by_row(model, len(y)), learned(model)
        assert c not in state["ids"]
        assert abs(alpha.sum()) < 1e-10
        assert np.all((alpha >= box[0]) & (alpha <= box[1]))
        if len(set(y[rows])) == 1:
            assert not alpha.any()
            assert model.intercept_ == [y[rows[0]]]
            continue
        g = y - K @ alpha
        np.testing.assert_allclose(state["g"][0], g[rows], atol=1e-4)
        if before[c] == 0:
            assert np.array_equal(alpha, before)
        elif neighborhood != "grow":
            others = sorted(rows, key=lambda i: (-K[c, i], i))
            sign = np.sign(before[c])
            inside = others[: reach(K[c], -sign, before, box, others, neighborhood, least)]
            room = np.where(sign > 0, box[1] - before, before - box[0])
            if room[inside].sum() > abs(before[c]) + 1e-9:  # otherwise it takes more of them
                assert set(np.flatnonzero(alpha != before)) <= {c, *inside}
                assert violation(alpha, g, box, inside) <= model.tol + 1e-4


@pytest.mark.parametrize("neighborhood", [1.0, "grow"])
def test_after_finish_forgotten_rows_have_left_no_trace(neighborhood):
    X, y = signs(200, seed=5)
    model = LocalSVM(3.0, gamma=0.3, radius=neighborhood, min_neighbors=5, tol=1e-6, random_state=0)
    model.partial_fit(X, y, classes=[-1, 1]).forget(np.arange(0, 200, 3))
    kept = np.setdiff1d(np.arange(200), np.arange(0, 200, 3))
    reference, best = retrained(X[kept], y[kept], 3.0, 0.3)
    K, most = gram(X, 0.3), dual(best, gram(X[kept], 0.3), y[kept])
    assert (most - dual(by_row(model, 200), K, y)) / most < 0.02
    model.finish()
    np.testing.assert_allclose(by_row(model, 200)[kept], best, atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-3)


def test_forgetting_makes_full_passes_too():
    X, y = signs(150, seed=2)
    options = {
        "gamma": 0.5,
        "radius": 0.3,
        "min_neighbors": 0,
        "full_pass_every": 5,
        "full_pass_sample": 0,
    }
    model = LocalSVM(**options).partial_fit(X, y, classes=[-1, 1])
    passes = model.n_full_passes_[0]
    model.forget(model.support_[:20])
    assert model.n_full_passes_[0] >= passes + 4


def test_forgetting_a_class_and_learning_it_again():
    X, y = signs(100)
    model = LocalSVM(gamma=0.4).partial_fit(X, y, classes=[-1, 1])
    model.forget(np.flatnonzero(y == 1))
    assert len(model.support_) == 0
    assert np.all(model.predict(X) == -1)
    model.partial_fit(X[y == 1], y[y == 1]).finish()
    fresh = LocalSVM(gamma=0.4).partial_fit(X, y, classes=[-1, 1]).finish()
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=0.01)
    model.forget(learned(model)["ids"])
    assert model.intercept_ == [0.0]
    assert len(learned(model)["ids"]) == 0
    np.testing.assert_allclose(
        model.partial_fit(X, y).finish().decision_function(X), fresh.decision_function(X), atol=0.01
    )


def test_forgetting_a_class_of_three():
    X, y = three_clouds(200)
    model = LocalSVM(gamma=0.3).partial_fit(X, y, classes=np.unique(y))
    model.forget(np.flatnonzero(y == "oak")).finish()
    left = y != "oak"
    reference, _ = retrained(X[left], np.where(y[left] == "yew", 1, -1), 1.0, 0.3)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores[:, 2], reference.decision_function(X), atol=0.01)
    assert np.all(scores[:, 1] == -1)
    model.partial_fit(X[~left], y[~left]).finish()
    fresh = LocalSVM(gamma=0.3).partial_fit(X, y, classes=np.unique(y)).finish()
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), atol=0.01)


def test_a_sliding_window():
    X, y = signs(300, seed=7)
    model = LocalSVM(gamma=0.4, random_state=0).partial_fit(X[:80], y[:80], classes=[-1, 1])
    for k in range(80, 300):
        model.partial_fit(X[[k]], y[[k]]).forget(k - 80)
    assert model.n_kept_ == 80
    np.testing.assert_array_equal(learned(model)["ids"], np.arange(220, 300))
    _, best = retrained(X[220:], y[220:], 1.0, 0.4)
    K = gram(X[220:], 0.4)
    assert 1 - dual(by_row(model, 300)[220:], K, y[220:]) / dual(best, K, y[220:]) < 0.02


# ------------------------------------------------------------------------------------------------------ ids


def test_rows_under_ids_of_ones_own():
    X, y = signs(60)
    ids = np.random.default_rng(0).permutation(60) + 10**12
    model = LocalSVM(gamma=0.4).partial_fit(X, y, classes=[-1, 1], ids=ids)
    assert set(model.support_) <= set(ids.tolist())
    model.forget(ids[:10].tolist()).partial_fit(X[:10], y[:10], ids=ids[:10])
    assert model.n_kept_ == 60
    with refused(model, "Duplicate id"):
        model.partial_fit(X[:2], y[:2], ids=[5, ids[30]])
    with refused(model, "got 3 ids for 2 rows"):
        model.partial_fit(X[:2], y[:2], ids=[1, 2, 3])
    with refused(model, "more than once"):
        model.partial_fit(X[:2], y[:2], ids=[7, 7])
    with refused(model, "must be integers", TypeError):
        model.partial_fit(X[:2], y[:2], ids=[0.5, 1.5])
    with refused(model, "keeps no row with the id 3"):
        model.forget([ids[0], 3])
    model.partial_fit(X[:1], y[:1], ids=[71])
    with refused(model, "Duplicate id 71"):  # the running number has got there
        model.partial_fit(X[:1], y[:1])


# ------------------------------------------------------------------------------------------ storage budget


def idle_rows(model, column=0):
    state = learned(model)
    return state["ids"][(state["member"][column] == 1) & (state["alpha"][column] == 0)]


@pytest.mark.parametrize("most", [0, 5, 40])
def test_no_more_idle_rows_than_allowed(most):
    X, y = signs(400, seed=1)
    model = LocalSVM(gamma=0.4, max_idle=most, random_state=0)
    for start in range(0, 400, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[-1, 1])
        assert len(idle_rows(model)) <= most
    assert model.n_kept_ == len(idle_rows(model)) + len(model.support_) < 400
    everything = LocalSVM(gamma=0.4, random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert abs(model.score(X, y) - everything.score(X, y)) < 0.02
    assert len(idle_rows(model.finish())) <= most


def test_far_rows_go_first_and_of_these_the_longest_unchanged():
    X, y = signs(200, seed=1)
    model = LocalSVM(gamma=0.4, random_state=0).partial_fit(X, y, classes=[-1, 1]).finish()
    margin, idle, state = y * model.decision_function(X), idle_rows(model), learned(model)
    changed = dict(zip(state["ids"].tolist(), state["changed"][0].tolist(), strict=True))
    far, near = idle[margin[idle] > 1.5], idle[margin[idle] <= 1.5]
    youngest = sorted(far, key=lambda row: (-changed[row], row))
    assert len(far) > 4
    assert youngest != sorted(far)
    model.set_params(max_idle=len(near) + 4).finish()  # an optimum already: it drops rows, and that is all
    assert set(idle_rows(model)) == {*near, *youngest[:4]}
    model.set_params(max_idle=len(near) // 2).finish()
    nearest = sorted(near, key=lambda row: margin[row])
    assert set(idle_rows(model)) == set(nearest[: len(near) // 2])


def test_a_row_that_was_dropped_may_come_again():
    X, y = signs(200, seed=1)
    model = LocalSVM(gamma=0.4, max_idle=10, random_state=0).partial_fit(X, y, classes=[-1, 1])
    dropped = np.setdiff1d(np.arange(200), model._machine.native.kept_ids)
    with refused(model, "keeps no row with the id"):
        model.forget(dropped[0])
    # under the same id another row: far away, so that it is a support vector
    model.partial_fit(X[:1] + 50, -model.predict(X[:1] + 50), ids=dropped[-1:])
    assert dropped[-1] in model.support_
    at = np.flatnonzero(model.support_ == dropped[-1])[0]
    np.testing.assert_allclose(model.support_vectors_[at], X[0] + 50)


def test_a_budget_serves_every_class():
    X, y = three_clouds(600)
    model = LocalSVM(gamma=0.3, max_idle=15, random_state=0).partial_fit(
        X, y, classes=["ash", "oak", "yew", "zen"]
    )
    for column in range(3):
        assert len(idle_rows(model, column)) <= 15
    assert model.n_kept_ < 600
    assert np.all(model.decision_function(X)[:, 3] == -1)
