"""What must hold on any data, row by row, through the estimator.

Kernel values come as a precomputed matrix that is exact in single precision, so that the checks can be sharp:
nothing but double rounding lies between what is recomputed here and what the core has.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from everlearn import LASVM
from property_helpers import property_test
from svm.lasvm_helpers import InOrder, coefficients, kernel_matrix, learned

TAU = 1e-3
COSTS = [0.1, 1.0, 10.0]


@st.composite
def problems(draw, smallest=2):
    """Rows on a grid: ties, rows repeated with equal and with opposite labels, a cost for each class."""
    point = st.tuples(st.integers(-3, 3), st.integers(-3, 3))
    label = st.sampled_from([1, -1])
    X = draw(st.lists(point, min_size=smallest, max_size=14))
    y = [1, -1, *draw(st.lists(label, min_size=len(X) - 2, max_size=len(X) - 2))]
    for k, sign in draw(st.lists(st.tuples(st.integers(0, len(X) - 1), label), max_size=4)):
        X, y = [*X, X[k]], [*y, sign * y[k]]
    order = np.array(draw(st.permutations(range(len(y)))))
    X, y = np.array(X, float)[order], np.array(y)[order]
    gamma = draw(st.sampled_from([None, 0.1, 1.0]))
    K = X @ X.T if gamma is None else kernel_matrix("rbf", X, gamma=gamma)
    weight = {1: draw(st.sampled_from(COSTS)), -1: draw(st.sampled_from(COSTS))}
    return K.astype(np.float32).astype(np.float64), y, weight


def costs(y, weight):
    return np.where(y > 0, weight[1], weight[-1])


def extremes(state, K, y, C):
    """Gradients of the members from scratch, their highest that may rise and lowest that may fall."""
    alpha = np.zeros(len(y))
    alpha[state["ids"]] = state["alpha"][0]
    rows = state["ids"][state["member"][0] == 1]
    g = y - K @ alpha
    rise, fall = alpha < np.maximum(0, C * y), alpha > np.minimum(0, C * y)
    high = max((g[row] for row in rows if rise[row]), default=-np.inf)
    low = min((g[row] for row in rows if fall[row]), default=np.inf)
    return alpha, g, high, low


@property_test(80)
@given(problems(), st.sampled_from([None, 0.5, 0.0]))
def test_after_every_row(problem, delta_max):
    K, y, weight = problem
    C = costs(y, weight)
    model = LASVM(kernel="precomputed", class_weight=weight, delta_max=delta_max, tol=TAU)
    dual = 0.0
    for k in range(len(y)):
        model.partial_fit(K[k : k + 1], y[k : k + 1], classes=[-1, 1])
        state = learned(model)
        alpha, g, high, low = extremes(state, K, y, C)
        # 1: feasible
        assert abs(alpha.sum()) < 1e-9
        assert np.all((alpha >= np.minimum(0, C * y)) & (alpha <= np.maximum(0, C * y)))
        assert not np.any(alpha[k + 1 :])
        # 2: the gradients are those of the coefficients
        known = state["ids"][state["member"][0] == 1]
        np.testing.assert_allclose(state["g"][0][state["member"][0] == 1], g[known], rtol=0, atol=1e-8)
        # 3: the dual never decreases
        before, dual = dual, alpha @ y - 0.5 * alpha @ K @ alpha
        assert dual >= before - 1e-9
        # 4: bias and violation are those of the extremes
        if len(set(y[: k + 1])) == 1:
            assert model.intercept_[0] == y[0]
        elif np.isfinite(high - low):
            assert model.intercept_[0] == pytest.approx((high + low) / 2, abs=1e-8)
            assert state["delta"][0] == pytest.approx(high - low, abs=1e-8)
            if delta_max is not None:
                assert high - low <= max(delta_max, TAU) + 1e-8
    finished = learned(model.finish())
    if np.isfinite(finished["delta"][0]):
        assert finished["delta"][0] <= TAU
        _, _, high, low = extremes(finished, K, y, C)
        assert model.intercept_[0] == pytest.approx((high + low) / 2, abs=1e-8)
    alpha = coefficients(model, len(y))[0]
    assert alpha @ y - 0.5 * alpha @ K @ alpha >= dual - 1e-9


@property_test(80)
@given(problems(smallest=4))
def test_a_finished_model_changes_if_and_only_if_a_row_is_within_the_margin(problem):
    K, y, weight = problem
    model = LASVM(kernel="precomputed", class_weight=weight, tol=TAU)
    for k in range(len(y)):
        fresh = k > 0 and len(set(y[:k])) == 2
        if fresh:
            state = learned(model.finish())
            before, delta = coefficients(model, len(y))[0], state["delta"][0]
            excess = y[k] * model.decision_function(K[k : k + 1])[0] - (1 + delta / 2 - TAU)
        model.partial_fit(K[k : k + 1], y[k : k + 1], classes=[-1, 1])
        if fresh and np.isfinite(delta) and abs(excess) > 1e-6:
            assert (excess < 0) == (not np.array_equal(before, coefficients(model, len(y))[0]))


@property_test(60)
@given(problems())
def test_many_epochs_reach_an_exact_solver_in_any_order(problem):
    K, y, weight = problem
    C = costs(y, weight)
    exact = SVC(kernel="precomputed", class_weight=weight, tol=1e-6).fit(K, y)
    best = coefficients(exact, len(y))[0]
    best_dual = best @ y - 0.5 * best @ K @ best
    for seed in (0, 1):
        model = LASVM(
            kernel="precomputed", class_weight=weight, tol=1e-5, delta_max=0.0, epochs=30, random_state=seed
        ).fit(K, y)
        alpha = coefficients(model, len(y))[0]
        assert alpha @ y - 0.5 * alpha @ K @ alpha == pytest.approx(best_dual, rel=1e-4)
        np.testing.assert_allclose(K @ alpha, K @ best, rtol=0, atol=2e-3)
        loss = C @ np.maximum(0, 1 - y * model.decision_function(K))
        assert 0.5 * alpha @ K @ alpha + loss <= best_dual + 1e-5 * C.sum() + 1e-3 * best_dual


@property_test(80)
@given(problems())
def test_negated_labels_give_the_mirror_image(problem):
    K, y, weight = problem
    options = {"kernel": "precomputed", "epochs": 2, "finishing": None}
    model = LASVM(class_weight=weight, random_state=InOrder(0), **options).fit(K, y)
    mirrored = {1: weight[-1], -1: weight[1]}
    mirror = LASVM(class_weight=mirrored, random_state=InOrder(0), **options).fit(K, -y)
    np.testing.assert_array_equal(mirror.support_, model.support_)
    np.testing.assert_array_equal(mirror.dual_coef_, -model.dual_coef_)
    np.testing.assert_array_equal(mirror.decision_function(K), -model.decision_function(K))
    model.finish(), mirror.finish()
    alpha, other = (coefficients(one, len(y))[0] for one in (model, mirror))
    assert np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha == pytest.approx(
        np.abs(other).sum() - 0.5 * other @ K @ other, rel=1e-3, abs=TAU
    )


@property_test(60)
@given(problems())
def test_an_optimal_model_ignores_its_training_set(problem):
    K, y, weight = problem
    options = {"kernel": "precomputed", "class_weight": weight, "delta_max": 0.0, "finishing": None}
    thirty, fifty = (
        LASVM(epochs=epochs, random_state=InOrder(0), **options).fit(K, y) for epochs in (30, 50)
    )
    np.testing.assert_array_equal(coefficients(fifty, len(y)), coefficients(thirty, len(y)))
    np.testing.assert_allclose(fifty.intercept_, thirty.intercept_, rtol=0, atol=1e-9)
    assert fifty.n_iter_ == thirty.n_iter_ + 20 * len(y)


@property_test(60)
@given(problems(), st.sampled_from(["rbf", "linear"]), st.sampled_from([np.float32, np.float64]))
def test_native_kernels_keep_the_invariants_to_single_precision(problem, kernel, dtype):
    _, y, weight = problem
    C = costs(y, weight)
    rng = np.random.default_rng(len(y))
    X = rng.standard_normal((len(y), 3)).astype(dtype)
    model = LASVM(kernel=kernel, gamma=0.5, class_weight=weight)
    for k in range(len(y)):
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[-1, 1])
        state = learned(model)
        center = model._machine.spec["center"]  # the gradients are those of the rows as they are stored
        K = kernel_matrix(kernel, X.astype(np.float64) - (center if len(center) else 0.0), gamma=0.5)
        alpha, g, _, _ = extremes(state, K, y, C)
        assert abs(alpha.sum()) < 1e-9
        assert np.all((alpha >= np.minimum(0, C * y)) & (alpha <= np.maximum(0, C * y)))
        inside = state["member"][0] == 1
        tolerance = 1e-6 * (1 + np.abs(alpha) @ np.abs(K).max(axis=0))
        np.testing.assert_allclose(state["g"][0][inside], g[state["ids"][inside]], rtol=0, atol=tolerance)


@property_test(40)
@given(st.data())
def test_every_problem_of_several_classes_is_a_binary_one(data):
    """One against the rest, on rows that are shared: each column is what the binary learner would be."""
    K, y, weight = data.draw(problems(smallest=6))
    third = data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y)))
    labels = np.where(third, 0, y)
    present = [label for label in (-1, 0, 1) if label in labels]
    if len(present) < 3:
        return
    options = {"kernel": "precomputed", "C": weight[1], "epochs": 2, "finishing": None}
    several = LASVM(random_state=InOrder(0), **options)
    several.partial_fit(K, labels, classes=[-1, 0, 1])
    for column, label in enumerate((-1, 0, 1)):
        binary = LASVM(random_state=InOrder(0), **options)
        binary.partial_fit(K, np.where(labels == label, 1, -1), classes=[-1, 1])
        np.testing.assert_allclose(
            several.decision_function(K)[:, column], binary.decision_function(K), rtol=0, atol=1e-9
        )
