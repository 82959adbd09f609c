"""NORMA: published figures, coefficients that fade, the fraction of margin errors, learning rates."""

import numpy as np
import pytest

from budget.budget_helpers import clouds
from budget.golden_helpers import check_kept, every_size
from budget.native_helpers import make
from budget.refusal_helpers import GOOD, X, Y, goes_on, learned, refused
from everlearn import NORMA
from svm.lasvm_helpers import kernel_matrix


def test_coefficients_of_norma_fade_with_age():
    X, y = clouds(300, 6)
    model = NORMA(50, learning_rate=0.2, alpha=0.1, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    age = 299 - model.support_
    np.testing.assert_allclose(model.dual_coef_[0], 0.2 * y[model.support_] * 0.98**age, rtol=1e-9)
    a, rows = model.dual_coef_[0], model.support_vectors_
    assert a @ kernel_matrix("rbf", rows, gamma=0.7) @ a <= 1 / 0.1**2


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_the_share_of_rows_within_the_margin_of_norma_tends_to_nu(nu):
    X, y = clouds(4000, 7)
    model = NORMA(4000, learning_rate=0.05, alpha=0.01, nu=nu, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    assert model.n_kept_ / 4000 == pytest.approx(nu, abs=0.02)


def test_a_rate_of_norma_that_would_turn_the_signs():
    words = r"learning_rate=2 and alpha=0.5 make 1 - learning_rate \* alpha 0, which must be above 0"
    fresh = make(NORMA, learning_rate=2, alpha=0.5)
    for method, options in (("fit", {}), ("partial_fit", {"classes": [0, 1]})):
        with refused(fresh, words):
            getattr(fresh, method)(*GOOD, **options)
    model = learned(NORMA).set_params(learning_rate=2, alpha=0.5)
    for method in ("fit", "partial_fit"):
        with refused(model, words):
            getattr(model, method)(X[60:], Y[60:])
    goes_on(model.set_params(**make(NORMA).get_params()))


FIGURES = [  # learner; AUC; scores; kept rows, mistakes, squared norm; other attributes
    (
        NORMA(40, learning_rate=0.1, alpha=0.1, gamma=1),
        0.9693,
        (-0.391329, -0.312515, -0.289875),
        (40, 66, 1.001089),
        {"rho_": 1.0, "intercept_": 0.0},
    ),
    (
        NORMA(40, learning_rate=0.1, alpha=0.1, rho=0.0, nu=0.37, fit_intercept=True, gamma=1),
        0.9704,
        (-0.353842, -0.254299, -0.318652),
        (40, 62, 0.255394),
        {"rho_": 0.1, "intercept_": -0.2},
    ),
]


@every_size
@pytest.mark.parametrize(("model", "area", "scores", "counts", "others"), FIGURES)
def test_published_figures(model, area, scores, counts, others, size):
    check_kept(model, area, scores, counts, others, size)
