"""`forget`: against SVC on the rows left, the conditions of both optima by definition, and the way back.

Where the checks are sharp, kernel values come as a precomputed matrix that is exact in single precision: only
double rounding then lies between the core and what is computed here.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from everlearn import LASVM, FullSVM, OnlineSVMR
from property_helpers import property_test
from svm.lasvm_helpers import (
    assert_same,
    coefficients,
    in_blocks,
    kernel_matrix,
    learned,
    three_clouds,
    two_clouds,
)
from svm.noise_helpers import noisy
from svm.test_lasvm_g import single
from svm.test_lasvm_properties import TAU, costs, extremes, problems
from svm.test_online_svmr import SLOPES, check, paper

BOTH = pytest.mark.parametrize("cls", [LASVM, OnlineSVMR])


def keeper(*args, **options):
    """A LASVM that drops no row: it promises the SVM of all rows that it has learned and not forgotten."""
    model = LASVM(*args, **options)
    model._keeps_rows = True
    return model


def callable_rbf(a, b):
    return kernel_matrix("rbf", a, b, gamma=0.3)


def kept(model):
    return model._machine.native.ids


def shares(data, ids):
    """Draw an order in which rows go, and how many at a time; the last share leaves none."""
    order = data.draw(st.permutations(sorted(ids)))
    while order:
        count = data.draw(st.integers(1, max(1, len(order) // 2)))
        yield order[:count]
        order = order[count:]


# --- LASVM that keeps its rows: the exact SVM --------------------------------------------------------------

SETTINGS = {
    "rbf": {},
    "float32": {},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "coef0": 1.0, "degree": 2},
    "sparse": {},
    "callable": {"kernel": callable_rbf},
    "precomputed": {"kernel": "precomputed"},
    "class weights": {"class_weight": {0: 0.5, 1: 2.0}},
    "sample weights": {},
    "small cache": {"cache_size": 0.02},
    "threads": {"n_jobs": 2},
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_the_svm_of_the_rows_left(name, data):
    X, y = data(300, 5)
    rng = np.random.default_rng(1)
    if name == "float32":
        X = X.astype(np.float32)
    if name == "class weights" and data is three_clouds:
        y = np.searchsorted(["ash", "oak", "yew"], y)
    weights = rng.uniform(0.3, 3, 300) if name == "sample weights" else np.ones(300)
    rows = {"sparse": sparse.csr_matrix(X), "precomputed": callable_rbf(X, X)}.get(name, X)
    options = {"C": 2.0, "gamma": 0.3, "tol": 1e-5, **SETTINGS[name]}
    model = keeper(**options, random_state=0).fit(rows, y, sample_weight=weights)
    order = rng.permutation(300)
    for share in np.split(order[:150], [1, 2, 60, 61]):
        model.forget(share)
    left = np.sort(order[150:])
    assert sorted(kept(model)) == left.tolist()
    assert model.n_kept_ == 150
    assert set(model.support_) <= set(left)
    exact = {key: value for key, value in options.items() if key not in ("cache_size", "n_jobs")}
    for column, label in enumerate(np.unique(y)[1:] if data is two_clouds else np.unique(y)):
        target = np.where(y == label, 1, -1)
        if "class_weight" in exact:  # the costs of a class are its own, not those of its problem
            weights = np.array([exact["class_weight"].get(value, 1.0) for value in y])
        fit = {
            **exact,
            "class_weight": None,
            "kernel": callable_rbf if name == "precomputed" else exact.get("kernel", "rbf"),
        }
        svc = SVC(**fit).fit(X[left], target[left], sample_weight=weights[left])
        scores = model.decision_function(rows).reshape(300, -1)[:, column]
        np.testing.assert_allclose(scores, svc.decision_function(X), rtol=0, atol=2e-3)
    if name != "precomputed":
        stored = model.support_vectors_
        np.testing.assert_array_equal(stored.toarray() if name == "sparse" else stored, X[model.support_])


@property_test(80)
@given(problems(smallest=3), st.booleans(), st.booleans(), st.data())
def test_lasvm_after_every_share(problem, keeps, finished, data):
    K, y, weight = problem
    C, n = costs(y, weight), len(y)
    model = (keeper if keeps else LASVM)(kernel="precomputed", class_weight=weight, tol=TAU)
    model.partial_fit(K, y, classes=[-1, 1])
    if finished:
        model.finish()
    left = set(kept(model).tolist())
    for share in shares(data, left):
        share = [row for row in share if row in kept(model)]  # the others were dropped as idle by then
        model.forget(share)
        left -= set(share)
        state = learned(model)
        rows = state["ids"]
        assert set(rows) <= left
        assert not keeps or set(rows) == left
        alpha, g, high, low = extremes(state, K, y, C)
        assert abs(alpha.sum()) < 1e-9
        assert np.all((alpha >= np.minimum(0, C * y)) & (alpha <= np.maximum(0, C * y)))
        np.testing.assert_allclose(state["g"][0], g[rows], rtol=0, atol=1e-8)
        present = set(y[rows])
        assert state["seen"].tolist() == [-1 in present, 1 in present]
        if len(present) < 2:
            assert model.intercept_[0] == sum(present)
            assert not alpha.any()
            assert not state["member"].any()
            continue
        assert high - low <= TAU + 1e-8
        assert model.intercept_[0] == pytest.approx((high + low) / 2, abs=1e-8)
        if keeps:
            within = np.sort(rows)
            exact = SVC(kernel="precomputed", C=1.0, class_weight=weight, tol=1e-6).fit(
                K[np.ix_(within, within)], y[within]
            )
            best = np.zeros(n)
            best[within] = coefficients(exact, len(within))[0]
            gap = (best @ y - 0.5 * best @ K @ best) - (alpha @ y - 0.5 * alpha @ K @ alpha)
            assert abs(gap) <= TAU * C[rows].sum() + 1e-6


def test_an_unfinished_model_is_finished():
    X, y = two_clouds(400)
    model = LASVM(5.0, gamma=0.3, finishing=None, random_state=0).fit(X, y)
    assert learned(model)["delta"][0] > 2e-3
    model.forget(model.support_[:3])
    assert learned(model)["delta"][0] <= 1e-3


def test_rows_that_are_no_support_vectors_leave_the_coefficients_as_they_are():
    X, y = two_clouds(300)
    for model in (
        keeper(2.0, gamma=0.3, random_state=0).fit(X, y),
        OnlineSVMR(2.0, gamma=0.3, s=-np.inf).fit(X, y),
    ):
        before = coefficients(model, 300), model.intercept_
        idle = np.setdiff1d(kept(model), model.support_)
        assert len(idle) > 50
        model.forget(idle)
        np.testing.assert_array_equal(coefficients(model, 300), before[0])
        np.testing.assert_allclose(model.intercept_, before[1], rtol=0, atol=1e-3)
        assert sorted(kept(model)) == sorted(model.support_)


def test_what_was_added_can_be_taken_back():
    X, y = two_clouds(300)
    model = keeper(2.0, gamma=0.3, tol=1e-6).partial_fit(X[:200], y[:200], classes=[0, 1]).finish()
    before = model.decision_function(X)
    model.partial_fit(X[200:], 1 - y[200:]).finish()
    assert np.abs(model.decision_function(X) - before).max() > 0.5
    model.forget(np.arange(200, 300))
    np.testing.assert_allclose(model.decision_function(X), before, rtol=0, atol=1e-4)
    assert model.n_iter_ == 300
    assert max(kept(model.partial_fit(X[:1], y[:1]))) == 300  # numbers are not given twice


def test_a_slot_that_no_column_uses_any_more():
    X, y = two_clouds(400, apart=2.0)
    model = in_blocks(LASVM(2.0, gamma=0.3), X, y, 10, [0, 1])
    native = model._machine.native
    unused = native.ids[~native.get_state()["member"].any(axis=0).astype(bool)]
    assert len(unused) > 0
    model.forget(unused)
    assert not np.isin(unused, kept(model)).any()
    assert learned(model)["delta"][0] <= 1e-3


# --- OnlineSVMR: the conditions of the ramp-loss optimum ---------------------------------------------------


@property_test(100)
@given(problems(), SLOPES, st.sampled_from([None, 0, 1, 3]), st.data())
def test_ramp_after_every_share(problem, s, max_idle, data):
    K, y, weight = problem
    C = costs(y, weight)
    model = paper(kernel="precomputed", class_weight=weight, s=s, max_idle=max_idle)
    model.partial_fit(K, y, classes=[-1, 1])
    left = set(kept(model).tolist())
    for share in shares(data, left):
        share = [row for row in share if row in kept(model)]
        model.forget(share)
        left -= set(share)
        rows, alpha = check(model, K, y, C, s)
        assert set(rows) == set(kept(model)) <= left
        if max_idle is None:
            assert set(rows) == left
        else:
            assert np.sum(alpha[rows] == 0) <= max_idle
    assert len(kept(model)) == 0
    assert not model.decision_function(K).any()


@property_test(20)
@given(st.integers(0, 10**6), st.sampled_from([0.3, 3.0, 30.0]), st.sampled_from([-1.0, 0.0, -0.4]))
def test_ramp_after_every_row_of_noise(seed, C, s):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 2)), np.where(rng.random(60) < 0.5, 1, -1)
    K = single(rbf_kernel(X, gamma=1.0))
    model = paper(C, kernel="precomputed", s=s).partial_fit(K, y, classes=[-1, 1])
    for row in rng.permutation(60):
        model.forget(row)
        check(model, K, y, np.full(60, C), s)


@pytest.mark.parametrize("door", ["native", "sparse", "callable", "precomputed", "weights"])
def test_without_a_ramp_the_svm_without_a_bias_of_the_rows_left(door):
    X, y = two_clouds(250)
    weights = np.random.default_rng(0).uniform(0.3, 3, 250) if door == "weights" else np.ones(250)
    rows = {"sparse": sparse.csr_matrix(X), "precomputed": callable_rbf(X, X)}.get(door, X)
    kernel = {"callable": callable_rbf, "precomputed": "precomputed"}.get(door, "rbf")
    options = {"C": 2.0, "gamma": 0.3, "tol": 1e-6}
    model = OnlineSVMR(kernel=kernel, s=-np.inf, min_gain=1e-12, **options).fit(
        rows, y, sample_weight=weights
    )
    order = np.random.default_rng(1).permutation(250)
    for share in np.split(order[:120], [1, 2, 70]):
        model.forget(share)
    left = order[120:]
    exact = FullSVM(finishing="kept", **options).fit(X[left], y[left], sample_weight=weights[left])
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(X), rtol=0, atol=1e-4)


def test_a_class_that_is_forgotten_is_not_shut_out_when_it_returns():
    X, y = two_clouds(300, apart=2.0)
    model = OnlineSVMR(2.0, gamma=0.3).partial_fit(X, y, classes=[0, 1])
    assert learned(model)["trusted"].tolist() == [3]
    model.forget(np.flatnonzero(y == 1)[30:])
    assert learned(model)["trusted"].tolist() == [3]  # enough of them are left
    model.forget(np.flatnonzero(y == 1)[:30])
    assert learned(model)["trusted"].tolist() == [2]
    new = np.full(30, 1)
    model.partial_fit(X[y == 1][:30], new)
    assert model.score(X, y) > 0.9
    assert model.n_support_[1] > 0


# --- one class, no class, several classes ------------------------------------------------------------------


@pytest.mark.parametrize("left", ["ash", "oak", "yew"])
def test_all_classes_but_one(left):
    X, y = three_clouds(150)
    model, never = keeper(2.0, gamma=0.3), keeper(2.0, gamma=0.3)
    model.partial_fit(X, y, classes=["ash", "oak", "yew"]).finish()
    never.partial_fit(X[y == left], y[y == left], classes=["ash", "oak", "yew"])
    model.forget(np.flatnonzero(y != left))
    assert set(model.predict(X)) == {left}
    assert_same(model.decision_function(X), never.decision_function(X))
    assert len(model.support_) == 0
    model.forget(np.flatnonzero(y == left)[::2])  # rows that wait
    model.partial_fit(X[y != left], y[y != left])  # and those of the other classes come back
    both = np.flatnonzero((y != left) | np.isin(np.arange(150), np.flatnonzero(y == left)[1::2]))
    for column, label in enumerate(("ash", "oak", "yew")):
        exact = SVC(C=2.0, gamma=0.3).fit(X[both], y[both] == label)
        scores = model.finish().decision_function(X)[:, column]
        np.testing.assert_allclose(scores, exact.decision_function(X), rtol=0, atol=5e-3)


def test_one_of_three_classes():
    X, y = three_clouds(200)
    model = keeper(2.0, gamma=0.3, tol=1e-5).fit(X, y).forget(np.flatnonzero(y == "oak"))
    scores, two = model.decision_function(X), y != "oak"
    assert (scores[:, 1] == -1).all()
    exact = SVC(C=2.0, gamma=0.3, tol=1e-5).fit(X[two], y[two])
    np.testing.assert_allclose(scores[:, 2], exact.decision_function(X), rtol=0, atol=1e-3)
    np.testing.assert_allclose(scores[:, 0], -exact.decision_function(X), rtol=0, atol=1e-3)


@BOTH
@pytest.mark.parametrize("door", ["native", "sparse", "callable", "precomputed"])
def test_everything(cls, door):
    X, y = two_clouds(200, 120 if door == "sparse" else 4)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, X, 0) if door == "sparse" else X
    rows = {"sparse": sparse.csr_matrix(X), "precomputed": callable_rbf(X, X)}.get(door, X)
    options = {
        "gamma": 0.3,
        "kernel": {"callable": callable_rbf, "precomputed": "precomputed"}.get(door, "rbf"),
    }
    model = cls(**options).partial_fit(rows[:100], y[:100], classes=[0, 1])
    model.forget(model.stored_ids())
    assert (model.n_kept_, len(kept(model)), len(model.support_)) == (0, 0, 0)
    assert not model.decision_function(rows).any()
    model.partial_fit(rows[100:], y[100:])
    fresh = cls(**options).partial_fit(rows[:1], y[:1], classes=[0, 1], sample_weight=[0.0])
    fresh._rows_seen = 100
    fresh.partial_fit(rows[100:], y[100:])
    assert_same(model.decision_function(rows), fresh.decision_function(rows))


@BOTH
def test_several_classes_are_as_many_binary_problems(cls):
    X, y = noisy(three_clouds, 200)
    make = keeper if cls is LASVM else cls
    several = in_blocks(make(2.0, gamma=0.3), X, y, 50, np.unique(y))
    gone = np.random.default_rng(3).permutation(200)[:80]
    several.forget(gone[:5]).forget(gone[5:])
    for column, label in enumerate(np.unique(y)):
        binary = in_blocks(make(2.0, gamma=0.3), X, np.where(y == label, 1, -1), 50, [-1, 1])
        binary.forget(gone[:5]).forget(gone[5:])
        np.testing.assert_allclose(
            several.decision_function(X)[:, column], binary.decision_function(X), rtol=0, atol=1e-9
        )
