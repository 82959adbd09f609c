"""Forgetron: published figures, bounds on what a removal costs, rows that are too long."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from budget.budget_helpers import BUDGETS, SEEDS, clouds, waves
from budget.golden_helpers import check_kept, every_size
from budget.native_helpers import SIZES, blocks, feed, make
from budget.refusal_helpers import GOOD, X, Y, goes_on, learned, refused
from everlearn import Forgetron
from property_helpers import property_test


@property_test(30)
@given(SEEDS, BUDGETS, SIZES)
def test_what_forgetting_costs_is_bounded(seed, budget, sizes):
    X, y = clouds(150, seed)
    model = Forgetron(budget, gamma=0.7)
    for part in blocks(150, sizes):
        feed(model, X[part], y[part])
        assert 0 <= model.deviation_[0] <= 15 / 32 * model.n_mistakes_[0] + 1e-9
        assert np.all(np.abs(model.dual_coef_) <= 1)


def test_forgetting_is_not_on_the_account_of_the_forgetron():
    X, y = clouds(300, 1)
    model = Forgetron(10, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    spent, mistakes = model.deviation_, model.n_mistakes_
    model.forget(model.support_[:4])
    assert np.array_equal(model.deviation_, spent)
    assert np.array_equal(model.n_mistakes_, mistakes)
    model.partial_fit(X, y)
    assert model.deviation_[0] <= 15 / 32 * model.n_mistakes_[0]


LONG = np.vstack([X[60:90], 3 * X[[90]] / np.linalg.norm(X[90]), X[91:]])  # the row in the middle is 3 long


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_rows_that_are_too_long_for_the_forgetron_are_refused_before_any_is_learned(kernel, form):
    model = learned(Forgetron, kernel=kernel, gamma=1.0)
    words = r"Forgetron needs K\(x, x\) of at most 1; row 30 has (9|729).*unit length.*rbf"
    with refused(model, words):
        model.partial_fit(form(LONG), Y[60:])
    with refused(model, words):
        model.fit(form(LONG), Y[60:])
    fresh = make(Forgetron, kernel=kernel, gamma=1.0)
    with refused(fresh, words):
        fresh.partial_fit(form(LONG), Y[60:], classes=[0, 1])
    goes_on(model, learned(Forgetron, kernel=kernel, gamma=1.0))
    assert learned(Forgetron, gamma=1.0).partial_fit(LONG, Y[60:]).n_iter_ == 140  # "rbf" does not mind


@pytest.mark.parametrize("kernel", [lambda a, b: a @ b.T, "precomputed"], ids=["callable", "precomputed"])
def test_foreign_kernels_above_1_are_refused_before_any_row_is_learned(kernel):
    rows = np.vstack([GOOD[0], LONG])
    matrix = rows if callable(kernel) else rows @ rows.T
    model = make(Forgetron, kernel=kernel).partial_fit(matrix[:60], Y[:60], classes=[0, 1])
    for labels in (Y[60:], 1 - Y[60:]):  # whether or not the long row is on the right side
        with refused(model, "above 1|at most 1"):
            model.partial_fit(matrix[60:], labels)
    fresh = make(Forgetron, kernel=kernel)
    with pytest.raises(ValueError, match=r"above 1|at most 1"):
        fresh.partial_fit(matrix[:91], Y[:91], classes=[0, 1])
    assert getattr(fresh, "n_iter_", 0) == 0


FIGURES = [  # learner; AUC; scores; kept rows, mistakes, squared norm; other attributes
    (
        Forgetron(20, gamma=1),
        0.9807,
        (-0.659618, -0.164870, -0.532985),
        (20, 40, 5.178857),
        {"deviation_": 17.752569},
    ),
]


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), FIGURES)
def test_published_figures(model, area, scores, counts, others, size):
    check_kept(model, area, scores, counts, others, size)


def test_how_far_the_forgetron_shrinks_at_most():
    X, y = waves(1, 300)
    model, smallest = Forgetron(20, gamma=1), 1.0
    for row in range(300):
        before = dict(zip(model.support_, model.dual_coef_[0], strict=True)) if row else {}
        model.partial_fit(X[[row]], y[[row]], classes=[-1, 1])
        after = dict(zip(model.support_, model.dual_coef_[0], strict=True))
        smallest = min([smallest, *(after[id] / a for id, a in before.items() if id in after)])
    assert smallest == pytest.approx(0.355272, abs=1e-5)
