"""The objective of the labels: a bound on the SVM of all rows, a cut and label scores."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from property_helpers import property_test
from reference.s3vm import choice_of_positives, from_matrix
from semi.semi_helpers import WEIGHTS, gram, partly_labeled


def svm_value(K, y, C):
    """min over w of ½ ‖w‖² + Σ C_i max(0, 1 − y_i f_i), no bias: by its dual, a bounded quadratic."""
    Q = y[:, None] * K * y
    bounds = [(0, c) for c in C]
    dual = minimize(lambda a: (a @ Q @ a / 2 - a.sum(), Q @ a - 1), np.zeros(len(y)), jac=True, bounds=bounds)
    return -dual.fun


def surrogate(K, y, p, C, Cs):
    """C*²/2 (1 − p)'K p + C C* y'K (1 − p)."""
    L, U = np.flatnonzero(y), np.flatnonzero(y == 0)
    return Cs**2 / 2 * (1 - p) @ K[np.ix_(U, U)] @ p + C * Cs * y[L] @ K[np.ix_(L, U)] @ (1 - p)


def labeled_by(y, p):
    labels = y.copy()
    labels[y == 0] = 2 * p - 1
    return labels


@property_test(60)
@given(partly_labeled(high=4), WEIGHTS, WEIGHTS)
def test_the_surrogate_bounds_the_svm(problem, C, Cs):
    X, y = problem
    X = np.abs(X)  # K ≥ 0
    K, L, U = gram(X), np.flatnonzero(y), np.flatnonzero(y == 0)
    alone = svm_value(K[np.ix_(L, L)], y[L], np.full(len(L), C))
    constant = C * Cs * K[np.ix_(np.flatnonzero(y < 0), U)].sum()
    for p in map(np.array, product([0.0, 1.0], repeat=len(U))):
        value = svm_value(K, labeled_by(y, p), np.where(y != 0, C, Cs))
        assert value <= alone + Cs * len(U) + surrogate(K, y, p, C, Cs) + constant + 1e-5 * (1 + value)


def test_without_its_constant_the_bound_is_wrong():
    K, y, p, C, Cs = np.ones((4, 4)), np.array([-1.0, -1, 0, 0]), np.zeros(2), 1.0, 0.1
    value = svm_value(K, labeled_by(y, p), np.array([C, C, Cs, Cs]))
    alone = svm_value(np.ones((2, 2)), y[:2], np.ones(2))
    assert value == pytest.approx(0.5, abs=1e-6)
    assert alone + Cs * 2 + surrogate(K, y, p, C, Cs) == pytest.approx(0.3, abs=1e-6)


@property_test(30)
@given(partly_labeled(high=4))
def test_while_all_multipliers_are_at_their_bounds_the_svm_is_affine_in_the_doubled_surrogate(problem):
    X, y = problem
    K, C, Cs = gram(X), 2.0**-12, 2.0**-13
    apart = []
    for p in map(np.array, product([0.0, 1.0], repeat=np.count_nonzero(y == 0))):
        labels, weights = labeled_by(y, p), np.where(y != 0, C, Cs)
        coefficients = labels * weights
        value = weights.sum() - coefficients @ K @ coefficients / 2  # every margin is below 1
        assert np.all(labels * (K @ coefficients) < 1)
        cluster = Cs**2 / 2 * (1 - p) @ K[np.ix_(y == 0, y == 0)] @ p
        apart.append(value - 2 * (surrogate(K, y, p, C, Cs) + cluster))
    np.testing.assert_allclose(apart, apart[0], rtol=1e-12)


@property_test(100)
@given(partly_labeled(), WEIGHTS, WEIGHTS, st.data())
def test_the_objective_is_a_cut_and_label_scores(problem, C, Cs, data):
    X, y = problem
    K, U = gram(X), np.flatnonzero(y == 0)
    choice = choice_of_positives(from_matrix(K, y), C, Cs)
    A = np.array(data.draw(st.lists(st.integers(0, len(U) - 1), unique=True)), int)
    cut = K[np.ix_(U[A], np.delete(U, A))].sum()
    D = C * Cs * sum(y[i] * K[i, j] for i in range(len(y)) for j in U[A]) - Cs**2 / 2 * cut
    assert choice.value(A) == D
    p = np.isin(np.arange(len(U)), A).astype(float)
    nothing = surrogate(K, y, np.zeros(len(U)), C, Cs)
    assert nothing - surrogate(K, y, p, C, Cs) == D  # maximizing D is minimizing the surrogate
