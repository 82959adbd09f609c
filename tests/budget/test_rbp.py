"""RBP: the kernel perceptron until its budget is full, then a uniformly drawn row goes."""

import numpy as np
import pytest

from everlearn import RBP, BudgetKernelPerceptron, Forgetron, KernelPerceptron
from svm.lasvm_helpers import assert_same, three_clouds, two_clouds


@pytest.mark.parametrize("cls", [RBP, Forgetron, BudgetKernelPerceptron])
def test_budgets_that_are_not_reached_leave_the_kernel_perceptron(cls):
    X, y = three_clouds(400, 3)
    plain = KernelPerceptron(gamma=0.7).partial_fit(X, y, classes=np.unique(y))
    model = cls(400, gamma=0.7).partial_fit(X, y, classes=np.unique(y))
    assert_same(model.dual_coef_, plain.dual_coef_)
    assert_same(model.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("cls", [RBP, Forgetron, BudgetKernelPerceptron])
def test_a_budget_that_is_just_reached_drops_nothing(cls):
    X, y = two_clouds(300, 3)
    plain = KernelPerceptron(gamma=0.7).partial_fit(X, y, classes=[0, 1])
    exact, short = (cls(plain.n_kept_ - less, gamma=0.7).partial_fit(X, y, classes=[0, 1]) for less in (0, 1))
    assert_same(exact.decision_function(X), plain.decision_function(X))
    assert np.any(short.decision_function(X) != plain.decision_function(X))


def learn_orthogonal(budget, seed, n=None):
    """Each row is a mistake, since its kernel value with every other row is 0."""
    n = n or budget + 1
    return RBP(budget, kernel="linear", random_state=seed).partial_fit(
        np.eye(n), np.arange(n) % 2, classes=[0, 1]
    )


def test_the_dropped_row_is_drawn_uniformly_and_the_new_row_stays():
    budget, draws = 5, 500
    kept = [set(learn_orthogonal(budget, seed).support_.tolist()) for seed in range(draws)]
    assert all(len(rows) == budget and budget in rows for rows in kept)
    dropped = np.bincount([(set(range(budget)) - rows).pop() for rows in kept], minlength=budget)
    assert np.all(np.abs(dropped - draws / budget) < 4 * np.sqrt(draws / budget))


def test_coefficients_of_kept_rows_do_not_change():
    model = learn_orthogonal(4, 0, n=40)
    assert model.n_mistakes_.tolist() == [40]
    assert model.n_kept_ == 4
    assert_same(model.dual_coef_[0], np.where(model.support_ % 2, 1.0, -1.0))


def test_the_seed_decides():
    assert_same(learn_orthogonal(5, 1, 60).support_, learn_orthogonal(5, 1, 60).support_)
    assert len({tuple(learn_orthogonal(5, seed, 60).support_) for seed in range(10)}) > 5
