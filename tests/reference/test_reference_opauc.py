"""The NumPy OPAUC: statistics, gradient and limit against their batch definitions; the sketch; edge cases."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from budget.budget_helpers import SEEDS, clouds, streams
from property_helpers import property_test
from reference.opauc import ReferenceOPAUC


def pairwise(w, x, y, others, lambda_):
    """λ/2 ‖w‖² + mean_j ½ (1 − y ⟨w, x − x_j⟩)², by a loop."""
    losses = [0.5 * (1 - y * w @ (x - other)) ** 2 for other in others]
    return lambda_ / 2 * w @ w + (np.mean(losses) if losses else 0)


def pairwise_gradient(w, x, y, others, lambda_):
    terms = [-(1 - y * w @ (x - other)) * y * (x - other) for other in others]
    return lambda_ * w + (np.mean(terms, axis=0) if terms else 0)


@property_test(60)
@given(streams(), st.floats(0.01, 0.3), st.sampled_from([0.0, 0.1]))
def test_a_row_is_a_gradient_step_on_all_its_pairs(stream, eta, lambda_):
    X, y = stream
    model = ReferenceOPAUC(X.shape[1], eta, lambda_)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        w, others = model.w, X[:t][y[:t] == -label]
        model.learn(x, label)
        expected = w - eta * pairwise_gradient(w, x, label, others, lambda_)
        np.testing.assert_allclose(model.w, expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(w).max()))
        for c in (1, -1):
            seen = X[:t][y[:t] == c]
            assert model.n[c] == len(seen)
            if len(seen):
                np.testing.assert_allclose(model.c[c], seen.mean(axis=0), rtol=0, atol=1e-12)
                batch = np.cov(seen.T, bias=True).reshape(X.shape[1], -1)
                np.testing.assert_allclose(model.S[c], batch, rtol=0, atol=1e-12)


@property_test(30)
@given(SEEDS)
def test_the_gradient_by_finite_differences(seed):
    X, y = clouds(20, seed, features=3)
    model = ReferenceOPAUC(3, 0.05, 0.2).run(X, y)
    x = np.random.default_rng(seed).standard_normal(3)
    for label in (1, -1):
        others = X[y == -label]
        slope = approx_fprime(model.w, pairwise, 1e-6, x, label, others, 0.2)
        np.testing.assert_allclose(model.gradient(x, label), slope, rtol=0, atol=1e-4)


def test_far_from_the_origin_the_covariance_keeps_its_digits():
    X, y = clouds(500, 0, features=3)
    near, far = (ReferenceOPAUC(3, 0.0).run(rows, y) for rows in (X, X + 1e6))
    for c in (1, -1):
        np.testing.assert_allclose(far.S[c], near.S[c], rtol=0, atol=1e-8)


def test_many_small_steps_lead_to_the_least_squares_of_all_pairs():
    """w = (S₊ + S₋ + Δ Δᵀ + λ I)⁻¹ Δ, Δ = c₊ − c₋."""
    X, y = clouds(200, 0, features=3, share=0.3)
    model = ReferenceOPAUC(3, 5e-4, 0.1)
    for _ in range(60):
        model.run(X, y)
    plus, minus = X[y > 0], X[y < 0]
    delta = plus.mean(axis=0) - minus.mean(axis=0)
    spread = np.cov(plus.T, bias=True) + np.cov(minus.T, bias=True)
    exact = np.linalg.solve(spread + np.outer(delta, delta) + 0.1 * np.eye(3), delta)
    np.testing.assert_allclose(model.w, exact, rtol=0, atol=0.005)
    assert np.linalg.norm(exact) > 0.2


# --- the sketch --------------------------------------------------------------------------------------------


def sketch(model, y):
    """What the sketch takes the covariance for."""
    A = model.Z[y] - np.outer(model.c[y], model.h[y])
    return A @ A.T / model.n[y]


class OneAxisEach:
    """Draws for which the sketch is exact: row t gets an axis of its own."""

    def __init__(self):
        self.t = -1

    def __call__(self, rank):
        self.t += 1
        return np.sqrt(rank) * np.eye(rank)[self.t]


@property_test(40)
@given(streams(), st.sampled_from([0.0, 0.1]))
def test_with_an_axis_for_each_row_the_sketch_is_the_covariance(stream, lambda_):
    X, y = stream
    full = ReferenceOPAUC(X.shape[1], 0.1, lambda_)
    low = ReferenceOPAUC(X.shape[1], 0.1, lambda_, len(y), OneAxisEach())
    for x, label in zip(X, y.tolist(), strict=True):
        full.learn(x, label), low.learn(x, label)
        np.testing.assert_allclose(low.w, full.w, rtol=1e-9, atol=1e-9 * (1 + np.abs(full.w).max()))


def test_the_sketch_is_unbiased():
    """The mean over all draws of ±1, whose first two moments are those of the normal distribution."""
    X, rank = np.array([[1.0, 2.0], [-1.0, 0.5], [3.0, -2.0]]), 2
    total, count = np.zeros((2, 2)), 0
    for signs in product([-1.0, 1.0], repeat=3 * rank):
        draws = iter(np.reshape(signs, (3, rank)))
        model = ReferenceOPAUC(2, 0.01, 0.0, rank, lambda r, draws=draws: next(draws)).run(X, np.ones(3))
        total, count = total + sketch(model, 1), count + 1
    np.testing.assert_allclose(total / count, np.cov(X.T, bias=True), rtol=1e-12)


@property_test(30)
@given(streams(), st.integers(1, 4), SEEDS)
def test_the_sketch_is_positive_and_of_its_rank(stream, rank, seed):
    X, y = stream
    asked, rng = [], np.random.default_rng(seed)
    model = ReferenceOPAUC(
        X.shape[1], 0.01, 0.0, rank, lambda r: asked.append(r) or rng.standard_normal(r)
    ).run(X, y)
    assert asked == [rank] * len(y)  # one call for each row, of either class
    for c in (1, -1):
        if model.n[c]:
            values = np.linalg.eigvalsh(sketch(model, c))
            largest = max(1, values.max())
            assert values.min() >= -1e-12 * largest
            assert np.sum(values > 1e-9 * largest) <= min(rank, max(0, model.n[c] - 1))


def test_a_sketch_of_high_rank_learns_as_the_covariance_does():
    X, y = clouds(300, 0, features=5, share=0.3)
    full = ReferenceOPAUC(5, 0.02).run(X, y)
    low = ReferenceOPAUC(5, 0.02, 0.0, 400, np.random.default_rng(0).standard_normal).run(X, y)
    assert low.w @ full.w / np.linalg.norm(low.w) / np.linalg.norm(full.w) > 0.99


# --- edge cases --------------------------------------------------------------------------------------------


@property_test(40)
@given(streams())
def test_other_labels_the_other_sign(stream):
    X, y = stream
    model, mirror = (ReferenceOPAUC(X.shape[1], 0.1, 0.1).run(X, labels) for labels in (y, -y))
    np.testing.assert_array_equal(mirror.w, -model.w)


def test_one_class_only_teaches_nothing():
    X, _ = clouds(30, 0)
    assert not ReferenceOPAUC(2, 0.1, 0.1).run(X, np.ones(30)).w.any()


def test_while_there_is_one_class_a_weight_decays():
    model = ReferenceOPAUC(2, 0.1, 0.5)
    model.w = np.array([1.0, -2.0])
    model.learn(np.ones(2), 1)
    np.testing.assert_allclose(model.w, [0.95, -1.9], rtol=1e-12)


@pytest.mark.parametrize("rank", [None, 2])
def test_opposite_duplicates_teach_nothing(rank):
    model = ReferenceOPAUC(2, 0.1, 0.0, rank, np.random.default_rng(0).standard_normal)
    model.run(np.ones((8, 2)), [1, -1] * 4)
    np.testing.assert_allclose(model.w, 0, atol=1e-12)
