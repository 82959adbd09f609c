"""RampSVM: published figures, its slow twin, and what must hold when the rounds have ended.

Where the checks are sharp, kernel values come as a precomputed matrix that is exact in single precision: only
double rounding then lies between the core and what is computed here.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import FullSVM, OnlineSVMR, RampSVM, datasets
from property_helpers import property_test
from reference.offline_ramp import offline_ramp, ramp_objective
from reference.test_reference_lasvm_g import box_qp, load
from reference.test_reference_ramp import OFFLINE
from svm.lasvm_helpers import assert_same, assert_same_model, coefficients, snapshot, three_clouds, two_clouds
from svm.test_lasvm_g import column, noisy_checkerboard, single
from svm.test_lasvm_properties import costs, problems

VARIANTS = ["active_set", "cccp"]
SLOPES = st.sampled_from([-0.937, -0.313, -0.011, -np.inf])  # on a grid z = −1 and z = 0 are ties


def check(model, K, y, C, s, tol):
    """A fixed point: V as drawn from the coefficients, these optimal in the boxes that V gives them."""
    rows, alpha, _, edge = column(model, len(y))
    assert len(rows) == np.count_nonzero(alpha) == model.n_kept_  # decisions need no more
    a, h = y * alpha, 1 - y * (K @ alpha)
    inside = h <= 1 - s
    signed = np.where(inside, C, 0.0 if model.variant == "active_set" else -C)
    np.testing.assert_array_equal((y * edge)[rows], signed[rows])
    low, high = np.minimum(0, signed), np.maximum(0, signed)
    assert np.all((a >= low) & (a <= high))
    assert np.all(h[a < high] <= tol + 1e-8)
    assert np.all(h[a > low] >= -tol - 1e-8)
    assert model.objective_[0] == pytest.approx(ramp_objective(y[:, None] * K * y, a, C, s), rel=1e-6)
    path = np.ravel(model.objectives_)
    assert path[-1] == pytest.approx(model.objective_[0], rel=1e-9)
    assert np.all(np.diff(path) <= 2 * tol * C.sum())
    return a, inside, path


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("name", "C", "gamma", "objectives", "sizes", "svs", "accuracy"), OFFLINE)
def test_figures(name, C, gamma, objectives, sizes, svs, accuracy, variant):
    X, y, X_test, y_test = load(name)
    X, y = X[:1000], y[:1000]
    # Where all rows are on the slope from the start, there is no round and no second value.
    path = list(dict.fromkeys(float(value) for value in objectives.split()))
    for tol, rel in ((1e-3, 5e-4), (1e-5, 1e-5)):  # the figures are those of solutions to the last digit
        model = RampSVM(C, gamma=gamma, variant=variant, tol=tol).fit(X, y)
        assert np.ravel(model.objectives_) == pytest.approx(path, rel=rel)
        assert len(model.support_) == pytest.approx(svs, abs=2)
        assert model.score(X_test, y_test) == pytest.approx(accuracy, abs=1e-3)
        assert np.count_nonzero(y * model.decision_function(X) >= -1) == int(sizes.split()[-1])


@pytest.mark.parametrize("variant", VARIANTS)
@property_test(80)
@given(problems(), SLOPES)
def test_the_rounds_end_in_a_fixed_point_and_never_rise(variant, problem, s):
    K, y, weight = problem
    C = costs(y, weight)
    model = RampSVM(kernel="precomputed", class_weight=weight, s=s, variant=variant, tol=1e-5).fit(K, y)
    a, inside, path = check(model, K, y, C, s, 1e-5)
    alpha, sets, objectives = offline_ramp(K, y, C, s, variant)
    assert path[0] == pytest.approx(objectives[0], rel=1e-3, abs=1e-3)
    margins = np.concatenate([y[:, None] * K * y @ alpha - s, y[:, None] * K * y @ a - s])
    if (
        len(sets) == 2 and np.abs(margins).min() > 1e-3
    ):  # else a row may fall on either side, and lead elsewhere
        np.testing.assert_array_equal(inside, sets[-1])
        np.testing.assert_allclose(K @ (y * a), K @ (y * alpha), rtol=0, atol=5e-3)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("C", "s"), [(1, -1.0), (20, -1.0), (20, -0.2), (5, 0.0)])
def test_equal_to_the_twin_round_by_round(variant, C, s):
    X, y, _ = noisy_checkerboard(300)
    K = single(rbf_kernel(X, gamma=2.0))
    alpha, sets, objectives = offline_ramp(K, y, C, s, variant)
    model = RampSVM(C, kernel="precomputed", s=s, variant=variant, tol=1e-7).fit(K, y)
    a, inside, path = check(model, K, y, np.full(300, float(C)), s, 1e-7)
    assert path == pytest.approx(objectives, rel=1e-6)
    np.testing.assert_array_equal(inside, sets[-1])
    np.testing.assert_allclose(a, alpha, rtol=0, atol=1e-4 * C)
    assert len(path) > 2


@property_test(40)
@given(problems())
def test_without_an_end_the_ramp_is_the_hinge(problem):
    K, y, weight = problem
    options = {"kernel": "precomputed", "class_weight": weight}
    ramp = RampSVM(s=-np.inf, tol=1e-5, **options).fit(K, y)
    best = K @ box_qp(K, y.astype(float), costs(y, weight))
    np.testing.assert_allclose(ramp.decision_function(K), best, rtol=0, atol=2e-3)
    full = FullSVM(tol=1e-5, finishing="kept", random_state=0, **options).fit(K, y)
    np.testing.assert_allclose(ramp.decision_function(K), full.decision_function(K), rtol=0, atol=1e-3)
    path = np.ravel(ramp.objectives_)
    assert path == pytest.approx(np.full(len(path), path[0]))


def gaussians(seed):
    data = datasets.make_gaussians(500, random_state=seed)
    return *data, 1.0, 0.5


def checkerboard(seed):
    X, y, _ = noisy_checkerboard(1000, seed)  # with fewer the first rows of a stream mislead it more
    return X, y, 10.0, 4.0


@pytest.mark.parametrize("data", [gaussians, checkerboard])
def test_as_good_on_average_as_the_online_learner(data):
    """Both end in a local optimum, and neither in a better one on the average."""
    offline, online, hinge = [], [], []
    for seed in range(6):
        X, y, C, gamma = data(seed)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        offline.append(RampSVM(C, gamma=gamma).fit(X, y))
        online.append(OnlineSVMR(C, gamma=gamma, random_state=seed).fit(X, y))
        hinge.append(offline[-1].objectives_[0])
    mean = [np.mean([model.objective_[0] for model in models]) for models in (offline, online)]
    assert mean[0] == pytest.approx(mean[1], rel=0.01)
    assert mean[0] < np.mean(hinge)
    assert all(len(model.support_) < 0.8 * len(y) for model in offline + online)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_order_of_rows_does_not_matter_but_for_rounding(variant):
    X, y, _ = noisy_checkerboard(300, noise=0.05)
    order = np.random.default_rng(1).permutation(300)
    model = RampSVM(5, gamma=2.0, variant=variant, tol=1e-6).fit(X, y)
    other = RampSVM(5, gamma=2.0, variant=variant, tol=1e-6).fit(X[order], y[order])
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), rtol=0, atol=1e-3)
    assert_same_model(model, RampSVM(5, gamma=2.0, variant=variant, tol=1e-6).fit(X, y))


def test_every_problem_of_several_classes_is_a_binary_one():
    X, y = three_clouds(300, 4)
    several = RampSVM(2.0, gamma=0.2, tol=1e-6).fit(X, y)
    assert several.objective_.shape == (3,)
    for c, label in enumerate(several.classes_):
        binary = RampSVM(2.0, gamma=0.2, tol=1e-6).fit(X, np.where(y == label, 1, -1))
        np.testing.assert_allclose(
            several.decision_function(X)[:, c], binary.decision_function(X), rtol=0, atol=1e-3
        )
        assert several.objective_[c] == pytest.approx(binary.objective_[0], rel=1e-5)


def test_the_path_has_one_column_for_each_binary_problem():
    X, y = three_clouds(300, 4)
    several = RampSVM(2.0, gamma=0.2).fit(X, y)
    assert several.objectives_.shape[1] == 3
    for path, last in zip(several.objectives_.T, several.objective_, strict=True):
        assert path[-1] == pytest.approx(last)
        assert np.all(np.diff(path) <= 1e-3 * path[0])


def test_class_weights_are_sample_weights():
    X, y = two_clouds(200)
    named = RampSVM(gamma=0.3, class_weight={0: 0.5, 1: 3.0}).fit(X, y)
    given = RampSVM(gamma=0.3).fit(X, y, np.where(y == 1, 3.0, 0.5))
    assert_same_model(named, given)
    assert_same(named.objective_, given.objective_)
    K, signs = rbf_kernel(X, gamma=0.3), 2 * y - 1
    a = signs * coefficients(named, 200)[0]
    expected = ramp_objective(signs[:, None] * K * signs, a, np.where(y == 1, 3.0, 0.5), -1.0)
    assert named.objective_[0] == pytest.approx(expected, rel=1e-5)


def test_rows_of_weight_zero_are_left_out():
    X, y = two_clouds(200)
    weight = np.where(np.arange(200) % 3, 1.0, 0.0)
    some = RampSVM(gamma=0.3).fit(X, y, weight)
    none = RampSVM(gamma=0.3).fit(X[weight > 0], y[weight > 0])
    assert_same(some.dual_coef_, none.dual_coef_)
    np.testing.assert_array_equal(np.flatnonzero(weight > 0)[none.support_], some.support_)


def test_too_few_rounds_are_said():
    X, y, _ = noisy_checkerboard(300)
    enough = RampSVM(20, gamma=2.0).fit(X, y)
    assert len(np.ravel(enough.objectives_)) > 2
    with pytest.warns(ConvergenceWarning, match=r"after 1 rounds \(max_iter\)"):
        few = RampSVM(20, gamma=2.0, max_iter=1).fit(X, y)
    assert few.objective_[0] >= enough.objective_[0] - 1e-6
    assert few.objectives_.shape == (2, 1)
    assert few.n_iter_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = RampSVM(20, gamma=2.0, max_iter=0).fit(X, y)
    assert_same_model(start, RampSVM(20, gamma=2.0, s=-np.inf).fit(X, y))
    assert_same_model(RampSVM(20, gamma=2.0, max_iter=-1).fit(X, y), enough)


def test_a_fit_that_fails_leaves_the_earlier_model():
    X, y, _ = noisy_checkerboard(300)
    model = RampSVM(20, gamma=2.0).fit(X, y)
    before = snapshot(model)
    model.set_params(max_iter=1)
    with pytest.raises(ConvergenceWarning):  # warnings are errors here
        model.fit(X[:200], y[:200])
    assert_same(snapshot(model.set_params(max_iter=100)), before)


# --- edge cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_of_no_length_go_to_the_end_of_their_box(variant):
    model = RampSVM(3, kernel="linear", variant=variant).fit(np.zeros((2, 2)), [1, -1])
    assert coefficients(model, 2)[0].tolist() == [3, -3]
    assert model.objective_[0] == 6


@pytest.mark.parametrize("variant", VARIANTS)
def test_opposite_duplicates(variant):
    X, y = two_clouds(60)
    model = RampSVM(3, gamma=0.3, variant=variant).fit(np.vstack([X, X]), np.concatenate([y, 1 - y]))
    assert np.abs(model.decision_function(X)).max() < 2e-2
    assert model.objective_[0] == pytest.approx(3 * 120, rel=1e-3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_row_against_many_in_its_place_falls_off_the_ramp(variant):
    X, y = np.zeros((6, 1)), np.array([1, -1, -1, -1, -1, -1])
    model = RampSVM(3.0, gamma=1.0, s=-0.5, variant=variant).fit(X, y)
    assert coefficients(model, 6)[0][0] == 0
    assert model.decision_function(X[:1])[0] == pytest.approx(-1, abs=2e-3)


def test_there_is_no_partial_fit():
    assert not hasattr(RampSVM(), "partial_fit")
