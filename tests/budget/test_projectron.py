"""Projectron and ProjectronPP: published figures, budgets, the factor of the kernel matrix."""

import numpy as np
import pytest

from budget.budget_helpers import clouds
from budget.golden_helpers import check_kept, every_size
from budget.native_helpers import buffers, make
from everlearn import KernelPerceptron, Projectron, ProjectronPP
from svm.lasvm_helpers import assert_same, kernel_matrix


@pytest.mark.parametrize("cls", [Projectron, ProjectronPP])
def test_a_projectron_with_a_smaller_budget_keeps_what_it_has_and_takes_no_more(cls):
    X, y = clouds(400, 0, 3)
    model = make(cls, budget=20, learning_rate=0.01, max_projection_error=0.01).partial_fit(
        X[:200], y[:200], classes=[-1, 1]
    )
    before = model.support_
    model.set_params(budget=5).partial_fit(X[200:], y[200:])
    assert_same(model.support_, before)


def test_without_a_limit_a_projectron_of_error_0_is_the_kernel_perceptron():
    """In a space of many dimensions; where rows are nearly dependent it need not keep them all."""
    X, y = clouds(3000, 8, features=8)
    plain = KernelPerceptron(gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    exact = Projectron(None, max_projection_error=0.0, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    assert exact.n_mistakes_[0] > 500
    assert_same(exact.n_mistakes_, plain.n_mistakes_)
    f, g = exact.decision_function(X), plain.decision_function(X)
    np.testing.assert_allclose(f, g, rtol=0, atol=0.01 * np.abs(g).max())


@pytest.mark.parametrize("cls", [Projectron, ProjectronPP])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_rows_that_are_nearly_dependent_do_not_upset_a_projectron(cls, kernel):
    X, y = clouds(3000, 9, features=2)
    X = np.vstack([X, X + 1e-6, np.repeat(X[:20], 50, axis=0)])
    y = np.concatenate([y, y, np.repeat(y[:20], 50)])
    eta = 0.0 if cls is Projectron else 1e-3
    model = cls(None, max_projection_error=eta, kernel=kernel, gamma=0.3, coef0=1.0).partial_fit(
        X, y, classes=[-1, 1]
    )
    f = model.decision_function(X)
    assert np.isfinite(f).all()
    assert (
        model.n_kept_ < {"rbf": 300, "linear": 3, "poly": 11}[kernel]
    )  # no more than the space has dimensions
    plain = KernelPerceptron(kernel=kernel, gamma=0.3, coef0=1.0).partial_fit(X, y, classes=[-1, 1])
    if cls is Projectron:
        assert model.n_mistakes_[0] < 1.1 * plain.n_mistakes_[0]
        assert np.corrcoef(f, plain.decision_function(X))[0, 1] > 0.5


@pytest.mark.parametrize("eta", [0.1, 0.3])
def test_what_a_projectron_keeps_lies_apart(eta):
    X, y = clouds(2000, 10, features=3)
    model = Projectron(None, max_projection_error=eta, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    order = buffers(model)[0]
    K = kernel_matrix("rbf", X[order], gamma=0.7)
    L = np.linalg.cholesky(K)
    assert np.all(np.diag(L) > eta - 1e-4)  # the distance of each from the span of those before it
    state = model._machine.native.get_state()
    kept = np.zeros_like(K)
    kept[np.tril_indices(len(K))] = state["factor"]
    np.testing.assert_allclose(kept @ kept.T, K, rtol=0, atol=1e-5)


def test_a_factor_without_a_line_is_that_of_the_rows_left():
    X, y = clouds(120, 1, 3)
    model = Projectron(None, max_projection_error=0.2, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    for place in (0, 3, len(model.support_) // 2, -1):
        model.forget(buffers(model)[0][place])
        state = model._machine.native.get_state()
        rows = X[buffers(model)[0]]
        L = np.zeros((len(rows), len(rows)))
        L[np.tril_indices(len(rows))] = state["factor"]
        K = np.exp(-0.7 * np.square(rows[:, None] - rows).sum(axis=2))
        np.testing.assert_allclose(L @ L.T, K, atol=1e-6)
        assert (np.diag(L) > 0).all()


FIGURES = [  # learner; AUC; scores; kept rows, mistakes, squared norm; other attributes
    (
        Projectron(None, max_projection_error=0.2, gamma=1),
        0.9878,
        (-0.945941, -0.633768, -1.203896),
        (28, 32, 20.132828),
        {"n_projections_": 4},
    ),
    (
        Projectron(20, max_projection_error=0.2, gamma=1),
        0.9739,
        (-0.810753, -0.461630, -1.500243),
        (20, 35, 20.779756),
        {"n_projections_": 15},
    ),
    (
        ProjectronPP(None, max_projection_error=0.2, gamma=1),
        0.9917,
        (-1.224296, -1.047423, -1.194103),
        (28, 36, 26.180315),
        {"n_projections_": 8, "n_margin_steps_": 8},
    ),
]


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), FIGURES)
def test_published_figures(model, area, scores, counts, others, size):
    check_kept(model, area, scores, counts, others, size)
