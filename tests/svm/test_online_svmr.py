"""OnlineSVMR: published figures, its slow twin, and the conditions that hold after every row of any data.

Where the checks are sharp, kernel values come as a precomputed matrix that is exact in single precision: only
double rounding then lies between the core and what is computed here.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import FullSVM, OnlineSVMR
from property_helpers import property_test
from reference.offline_ramp import ramp_objective
from reference.partner import best_steps
from reference.ramp import ReferenceOnlineRamp
from reference.test_reference_lasvm_g import box_qp, load
from reference.test_reference_ramp import ONLINE
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    coefficients,
    in_blocks,
    learned,
    three_clouds,
    two_clouds,
    without_rivals,
)
from svm.test_lasvm_g import column, noisy_checkerboard, single
from svm.test_lasvm_properties import costs, problems

SLOPES = st.sampled_from([-0.937, -0.313, -0.011, -np.inf])  # on a grid z = −1 and z = 0 are ties
GAIN = 1e-5

# The ramp works from the first row on, and beyond so many steps for a row two coefficients move at a time.
paper = partial(OnlineSVMR, min_support=0)
twin_of_paper = partial(ReferenceOnlineRamp, single_steps=256)


def one_by_one(model, X, y, **options):
    """Learn row by row; yield the row numbers."""
    for k in range(len(y)):
        weights = {name: values[k : k + 1] for name, values in options.items()}
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[-1, 1], **weights)
        yield k


def check(model, K, y, C, s, slack=1e-8):
    """What must hold after a row, recomputed from the coefficients; return rows and coefficients."""
    rows, alpha, g, edge = column(model, len(y))
    a, h, cost = (y * alpha)[rows], (1 - y * (K @ alpha))[rows], C[rows]
    np.testing.assert_allclose((y * g)[rows], h, rtol=0, atol=slack)
    assert np.all((a >= 0) & (a <= cost))
    inside = edge[rows] != 0
    np.testing.assert_array_equal(edge[rows][inside], (C * y)[rows][inside])
    np.testing.assert_array_equal(inside, (y * g)[rows] <= 1 - s)
    assert not a[~inside].any()
    _, gain = best_steps(a, h, K[rows, rows], 0, cost)
    violates = inside & ((a < cost) & (h > 1e-3) | (a > 0) & (h < -1e-3))
    assert max(gain[violates], default=0) < GAIN * (1 + slack)
    objective = ramp_objective((y[:, None] * K * y)[np.ix_(rows, rows)], a, cost, s)
    assert model.objective_[0] == pytest.approx(objective, rel=1e-6, abs=slack)
    return rows, alpha


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "C", "gamma", "how", "svs", "accuracy", "value"), ONLINE)
def test_figures(name, C, gamma, how, svs, accuracy, value):
    X, y, X_test, y_test = load(name)
    X, y, asked = X[:1000], y[:1000], []
    model = paper(C, gamma=gamma, max_idle={"100": 100, "0": 0}.get(how), s=-np.inf if how == "hinge" else -1)
    if how in ("asvmr", "greedy"):
        model.partial_fit(X[:1], y[:1], classes=[-1, 1], sample_weight=[0.0])  # nothing yet, f = 0
        for start in range(0, len(y) - len(y) % 5, 5) if how == "greedy" else range(len(y)):
            block = np.arange(start, start + (5 if how == "greedy" else 1))
            distance = np.abs(model.decision_function(X[block]))
            if how == "greedy" or distance[0] <= 1:
                asked.append(block[np.argmin(distance)])
                model.partial_fit(X[asked[-1:]], y[asked[-1:]])
        assert len(asked) == pytest.approx(value, rel=0.05)
    else:
        in_blocks(model, X, y, 250, [-1, 1])
        assert value is None or model.objective_[0] == pytest.approx(value, rel=0.005)
    # With no idle row kept the run is chaotic: banana moved by a millionth gives 70 to 84 and .886 to .899.
    chaotic = name == "banana1000" and how == "0"
    assert len(model.support_) == pytest.approx(svs, abs=14 if chaotic else max(4, 0.04 * svs))
    assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=0.012 if chaotic else 0.005)


# --- the twin ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_idle", [None, 20, 0])
@pytest.mark.parametrize(("C", "s"), [(1, -1.0), (20, -1.0), (5, 0.0), (5, -np.inf)])
def test_equal_to_the_twin_after_every_row(C, s, max_idle):
    X, y, _ = noisy_checkerboard(160)
    K = single(rbf_kernel(X, gamma=2.0))
    twin = twin_of_paper(K, y, C, s, max_idle=max_idle)
    model = paper(C, kernel="precomputed", s=s, max_idle=max_idle)
    for k in one_by_one(model, K, y):
        twin.learn(k)
        rows, alpha, _, edge = column(model, 160)
        assert sorted(rows) == sorted(twin.I)
        np.testing.assert_allclose(alpha, y * twin.alpha, rtol=0, atol=1e-9 * C)
        np.testing.assert_array_equal(edge[rows] != 0, twin.V[rows])
        assert model.objective_[0] == pytest.approx(twin.objective(), rel=1e-9)
    assert twin.n_capped == 0
    assert len(model.support_) > 20


@pytest.mark.parametrize("size", [1, 7, 64, 300])
@pytest.mark.parametrize("max_idle", [None, 15])
def test_the_size_of_blocks_does_not_matter(size, max_idle):
    X, y, weight = without_rivals(300, seed=3)
    y = y * np.where(np.arange(300) % 9 == 4, -1, 1)
    twin = twin_of_paper(rbf_kernel(X, gamma=0.5), y, weight, max_idle=max_idle)
    model = paper(1, gamma=0.5, max_idle=max_idle)
    for start in range(0, 300, size):
        block = slice(start, start + size)
        twin.run(range(300)[block])
        model.partial_fit(X[block], y[block], classes=[-1, 1], sample_weight=weight[block])
    np.testing.assert_allclose(coefficients(model, 300)[0], y * twin.alpha, rtol=0, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), twin.decision(twin.K), rtol=0, atol=1e-4)


@pytest.mark.parametrize("max_idle", [None, 10])
def test_a_second_epoch_learns_what_is_not_kept(max_idle):
    X, y, _ = noisy_checkerboard(150)
    K = single(rbf_kernel(X, gamma=2.0))
    twin = twin_of_paper(K, y, 3.0, max_idle=max_idle).run([*range(150)] * 2)
    model = paper(3.0, kernel="precomputed", max_idle=max_idle, epochs=2, random_state=InOrder(0)).fit(K, y)
    np.testing.assert_allclose(coefficients(model, 150)[0], y * twin.alpha, rtol=0, atol=1e-8)
    assert model.n_iter_ == 300


# --- what must hold on any data ----------------------------------------------------------------------------


@property_test(120)
@given(problems(), SLOPES, st.sampled_from([None, 0, 1, 3]))
def test_after_every_row(problem, s, max_idle):
    K, y, weight = problem
    n, C = len(y), costs(y, weight)
    model = paper(kernel="precomputed", class_weight=weight, s=s, max_idle=max_idle)
    before, kept = np.zeros(n), np.array([], int)
    for k in one_by_one(model, K, y):
        h = 1 - y[k] * (K[k] @ before)
        rows, alpha = check(model, K, y, C, s)
        if h < -1e-9 or h > 1 - s + 1e-9:
            np.testing.assert_array_equal(alpha, before)
        idle, gone = rows[alpha[rows] == 0], np.setdiff1d([*kept, k], rows)
        assert not alpha[gone].any()
        if max_idle is None:
            assert len(rows) == k + 1
        else:
            assert len(idle) <= max_idle
            assert len(idle) == max_idle or len(gone) == 0
            far = np.abs(K @ alpha)
            assert max(far[idle], default=0) <= min(far[gone], default=np.inf) + 1e-9
        before, kept = alpha, rows


@property_test(30)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 3.0, 30.0]),
    st.sampled_from([-1.0, 0.0, -0.4]),
    st.booleans(),
)
def test_after_every_row_of_noise(seed, C, s, repeated):
    """Random labels, part of the rows repeated with any label: many rows leave the ramp and come back."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 2))
    X[30:] = X[rng.integers(0, 30, 30)] if repeated else X[30:]
    y = np.where(rng.random(60) < 0.5, 1, -1)
    K = single(rbf_kernel(X, gamma=1.0))
    model = paper(C, kernel="precomputed", s=s)
    for _ in one_by_one(model, K, y):
        check(model, K, y, np.full(60, C), s)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_native_kernels_keep_the_conditions_to_single_precision(kernel, dtype):
    X, y = two_clouds(250, 3, apart=0.7)
    X, y = X.astype(dtype), 2 * y - 1
    model = in_blocks(paper(2.0, kernel=kernel, gamma=0.5, coef0=1.0), X, y, 40, [-1, 1])
    x = X.astype(np.float64)
    K = {"rbf": rbf_kernel(x, gamma=0.5), "linear": x @ x.T, "poly": (0.5 * x @ x.T + 1) ** 3}[kernel]
    alpha = coefficients(model, 250)[0]
    margin = y * (K @ alpha)
    np.testing.assert_allclose(model.decision_function(X), K @ alpha, rtol=0, atol=1e-4 * K.max())
    free = (np.abs(alpha) > 0.05) & (np.abs(alpha) < 1.95)
    size = np.sqrt(2 * GAIN * K.diagonal()) + 1e-3 + 1e-4 * K.max()
    assert np.all(np.abs(1 - margin[free]) <= size[free])
    assert np.all(margin[alpha != 0] >= -1 - 1e-4 * K.max())
    assert free.any()


@property_test(60)
@given(problems())
def test_without_an_end_the_ramp_is_the_hinge_in_any_order(problem):
    K, y, weight = problem
    C = costs(y, weight)
    exact = K @ box_qp(K, y.astype(float), C)
    options = {"kernel": "precomputed", "class_weight": weight}
    for seed in (0, 1):
        model = paper(s=-np.inf, tol=1e-6, min_gain=1e-12, random_state=seed, **options).fit(K, y)
        np.testing.assert_allclose(model.decision_function(K), exact, rtol=0, atol=2e-3)
    full = FullSVM(tol=1e-5, finishing="kept", random_state=0, **options).fit(K, y)
    np.testing.assert_allclose(model.decision_function(K), full.decision_function(K), rtol=0, atol=1e-3)
    hinge = 0.5 * exact @ np.linalg.pinv(K) @ exact + C @ np.maximum(0, 1 - y * exact)
    assert model.objective_[0] == pytest.approx(hinge, rel=1e-3)


@property_test(60)
@given(problems(), SLOPES)
def test_with_tight_tolerances_a_row_costs_at_most_its_own_loss(problem, s):
    K, y, weight = problem
    C, objective = costs(y, weight), 0.0
    model = paper(kernel="precomputed", class_weight=weight, s=s, tol=1e-7, min_gain=1e-12)
    alpha = np.zeros(len(y))
    for k in one_by_one(model, K, y):
        loss = C[k] * np.clip(1 - y[k] * (K[k] @ alpha), 0, 1 - s)
        before, objective, alpha = objective, model.objective_[0], coefficients(model, len(y))[0]
        assert objective <= before + loss + 1e-4 * (1 + before)


@property_test(60)
@given(problems(), SLOPES, st.sampled_from([None, 2]))
def test_negated_labels_negate_the_decisions(problem, s, max_idle):
    K, y, weight = problem
    options = {"kernel": "precomputed", "s": s, "max_idle": max_idle, "random_state": InOrder(0)}
    model = paper(class_weight=weight, **options).fit(K, y)
    mirror = paper(class_weight={1: weight[-1], -1: weight[1]}, **options).fit(K, -y)
    np.testing.assert_array_equal(mirror.support_, model.support_)
    np.testing.assert_array_equal(mirror.dual_coef_, -model.dual_coef_)
    np.testing.assert_array_equal(mirror.decision_function(K), -model.decision_function(K))
    np.testing.assert_array_equal(mirror.objective_, model.objective_)


def test_every_problem_of_several_classes_is_a_binary_one():
    X, y = three_clouds(300, 4)
    several = in_blocks(paper(2.0, gamma=0.2, max_idle=30), X, y, 100, np.unique(y))
    for c, label in enumerate(several.classes_):
        labels = np.where(y == label, 1, -1)
        binary = in_blocks(paper(2.0, gamma=0.2, max_idle=30), X, labels, 100, [-1, 1])
        np.testing.assert_allclose(
            several.decision_function(X)[:, c], binary.decision_function(X), rtol=0, atol=1e-4
        )
        assert several.objective_[c] == pytest.approx(binary.objective_[0], rel=1e-5)


# --- removal -----------------------------------------------------------------------------------------------


def test_room_for_all_is_no_removal():
    X, y, _ = noisy_checkerboard(300)
    all_kept, roomy = (
        in_blocks(paper(5, gamma=2.0, max_idle=most), X, y, 80, [-1, 1]) for most in (None, 300)
    )
    assert_same(learned(all_kept), learned(roomy))
    assert roomy.n_kept_ == 300


def test_more_rows_kept_cost_more_and_come_closer():
    X, y, clean = noisy_checkerboard(1500)
    models = [paper(5, gamma=4.0, max_idle=most, random_state=0).fit(X, y) for most in (0, 100, None)]
    kept = [model.n_kept_ for model in models]
    assert kept[0] < kept[1] < kept[2] == 1500
    for model, most in zip(models[:2], (0, 100), strict=True):
        rows, alpha, _, _ = column(model, 1500)
        assert np.count_nonzero(alpha[rows] == 0) <= most
        assert model.n_kept_ <= 2 * len(rows)
    scores = [model.score(X, clean) for model in models]
    assert all(worse <= better + 0.03 for worse, better in pairwise(scores))
    assert scores[1] > 0.85


# --- a start without the ramp ------------------------------------------------------------------------------


def test_equal_to_the_twin_when_the_ramp_waits_for_support_vectors():
    X, y, _ = noisy_checkerboard(160)
    K = single(rbf_kernel(X, gamma=2.0))
    y[:40] = 1
    twin = ReferenceOnlineRamp(K, y, 20, -0.2, min_support=15, single_steps=256)
    model = OnlineSVMR(20, kernel="precomputed", s=-0.2, min_support=15)
    for k in one_by_one(model, K, y):
        twin.learn(k)
        rows, alpha, _, edge = column(model, 160)
        np.testing.assert_allclose(alpha, y * twin.alpha, rtol=0, atol=2e-8)
        np.testing.assert_array_equal(edge[rows] != 0, twin.V[rows])
    assert twin.trusted == {-1, 1}


@pytest.mark.parametrize("s", [-1.0, -0.5, 0.0])
def test_a_class_that_comes_late_is_learned(s):
    X, y = two_clouds(1000, 4, apart=1.5)
    order = np.argsort(y, kind="stable")
    for rows in (np.arange(1000), order):
        model = OnlineSVMR(5.0, gamma=0.3, s=s).partial_fit(X[rows], y[rows], classes=[0, 1])
        assert model.score(X, y) > 0.9
    if s == 0:  # what the start is for
        locked = paper(5.0, gamma=0.3, s=s).partial_fit(X[order], y[order], classes=[0, 1])
        assert locked.score(X, y) < 0.6


# --- edge cases --------------------------------------------------------------------------------------------


def test_rows_at_the_very_end_of_the_ramp_do_not_go_on_for_ever():
    """In the solution row 0 lies at the end of the ramp; a coarse one has it beyond only if it is learned."""
    K = np.array([[10, -1, -9, -12], [-1, 5, 3, -3], [-9, 3, 9, 9], [-12, -3, 9, 18]], float)
    model = paper(0.1, kernel="precomputed")
    y = np.ones(4)
    for _ in one_by_one(model, K, y):
        pass
    rows, alpha, g, edge = column(model, 4)
    assert np.all((alpha >= 0) & (alpha <= 0.1))
    np.testing.assert_allclose(g, 1 - K @ alpha, rtol=0, atol=1e-9)
    assert not alpha[edge == 0].any()
    np.testing.assert_array_equal(edge[rows] != 0, g[rows] <= 2)


@pytest.mark.parametrize("label", [-1, 1])
def test_one_class_only(label):
    model = paper(10, kernel="precomputed")
    model.partial_fit(2 * np.eye(4), np.full(4, label), classes=[-1, 1])
    np.testing.assert_array_equal(coefficients(model, 4)[0], np.full(4, 0.5 * label))
    assert model.predict(2 * np.eye(4)).tolist() == [label] * 4


def test_a_row_of_no_length_goes_to_the_end_of_its_box():
    model = paper(3, kernel="linear").partial_fit(np.zeros((2, 2)), [1, -1], classes=[-1, 1])
    assert coefficients(model, 2)[0].tolist() == [3, -3]
    assert model.objective_[0] == 6


def test_who_is_pushed_beyond_the_ramp_is_unlearned():
    y = [1, -1, -1, -1, -1, -1]
    model = paper(0.3, kernel="precomputed", s=-0.5).partial_fit(np.ones((6, 6)), y, classes=[-1, 1])
    assert 0 not in model.support_
    np.testing.assert_allclose(model.decision_function(np.ones((1, 6))), -1, atol=5e-3)
