"""The NumPy NORMA: its coefficients in closed form, its bounds, the share of errors, and edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, KERNELS, NO_LIMIT, clouds, streams
from property_helpers import property_test
from reference.kernels import rbf
from reference.norma import ReferenceNORMA

KERNEL = rbf(0.7)
RATES = st.floats(0.01, 0.5)


@property_test(60)
@given(streams(), KERNELS, st.integers(1, 6) | st.just(NO_LIMIT), RATES, RATES, st.booleans(), st.booleans())
def test_coefficients_in_closed_form(stream, kernel, budget, eta, lambda_, decay, biased):
    """Row t has η_t y Π (1 − η_s λ) over the rows s after it; the newest errors are kept."""
    X, y = stream
    model = ReferenceNORMA(kernel, budget, eta, lambda_, fit_intercept=biased, decay=decay)
    rates = eta / np.sqrt(np.arange(1, len(y) + 1)) if decay else np.full(len(y), eta)
    errors = []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        margin = label * model.decide(x)
        model.learn(x, label)
        errors += [t] if margin < 1 else []
        assert model.born.tolist() == errors[-budget:]
        expected = [y[s - 1] * rates[s - 1] * np.prod(1 - rates[s:t] * lambda_) for s in model.born]
        np.testing.assert_allclose(model.a, expected, rtol=1e-9)
        bias = sum(y[s - 1] * rates[s - 1] for s in errors) if biased else 0
        assert model.b == pytest.approx(bias, abs=1e-12)


@property_test(60)
@given(streams(), BUDGETS | st.just(NO_LIMIT), RATES, RATES, st.booleans())
def test_the_norm_is_bounded(stream, budget, eta, lambda_, decay):
    model = ReferenceNORMA(KERNEL, budget, eta, lambda_, decay=decay).run(*stream)
    assert np.abs(model.a).sum() <= 1 / lambda_ + 1e-9
    assert model.a @ model.gram() @ model.a <= 1 / lambda_**2 + 1e-9  # X = 1


@pytest.mark.parametrize("nu", [0.1, 0.37, 0.6])
@pytest.mark.parametrize("biased", [False, True])
def test_the_share_of_errors_tends_to_nu(nu, biased):
    X, y = clouds(6000, 0)
    model = ReferenceNORMA(KERNEL, 200, 0.05, 0.05, rho=0.0, nu=nu, fit_intercept=biased)
    errors = 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        rho = model.rho
        model.learn(x, label)
        error = model.rho < rho
        assert model.rho == pytest.approx(rho + 0.05 * (nu - error), abs=1e-12)
        assert error == (model.born[-1:] == model.t).any()
        errors += error * (t >= 2000)
    assert errors / 4000 == pytest.approx(nu, abs=0.02)


def test_errors_are_counted_at_the_margin_itself_only_with_nu():
    for nu, kept in ((None, 1), (0.5, 2)):
        model = ReferenceNORMA(rbf(1.0), 10, 1.0, 0.0, rho=1.0, nu=nu)
        model.learn(np.zeros(1), 1)
        model.rho = 1.0
        model.learn(np.zeros(1), 1)  # y f = 1 = ρ
        assert len(model) == kept


@property_test(40)
@given(streams(), BUDGETS, st.booleans())
def test_other_labels_the_other_sign(stream, budget, biased):
    X, y = stream
    model, mirror = (
        ReferenceNORMA(KERNEL, budget, 0.1, 0.1, fit_intercept=biased).run(X, labels) for labels in (y, -y)
    )
    np.testing.assert_array_equal(mirror.decide(X), -model.decide(X))


def test_by_penalty_and_rate():
    """A penalty C and a rate η are η C and 1/C here: a step shrinks by 1 − η, and C multiplies f.

    As long as all rows err; then the step of gradient descent on ½ ‖f‖² + C · hinge is the same.
    """
    X, y = clouds(50, 0)
    one, four = (ReferenceNORMA(KERNEL, NO_LIMIT, 0.001 * C, 1 / C).run(X, y) for C in (1, 4))
    assert len(one) == len(four) == 50
    np.testing.assert_allclose(four.decide(X), 4 * one.decide(X), rtol=1e-9)


def test_a_step_of_full_length_forgets_all():
    X, y = clouds(20, 0)
    model = ReferenceNORMA(KERNEL, 5, 0.5, 2.0).run(X, y)
    assert np.count_nonzero(model.a) <= 1


def test_a_budget_of_one_keeps_the_last_error():
    X, y = clouds(60, 0)
    model = ReferenceNORMA(KERNEL, 1, 0.1, 0.1).run(X, y)
    assert len(model) == 1
    assert model.born[0] >= 55
