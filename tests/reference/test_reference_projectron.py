"""The NumPy Projectron and Projectron++: projections, the factor, margin steps, and edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, NO_LIMIT, SEEDS, clouds, cubic, streams
from property_helpers import property_test
from reference.kernels import linear, rbf
from reference.perceptrons import ReferenceKernelPerceptron
from reference.projectron import ReferenceProjectron

KERNEL = rbf(0.7)
ETAS = st.sampled_from([0.05, 0.2, 0.5])


def span_distance(kernel, rows, x):
    """How far k(x, ·) is from the span of the rows, by least squares."""
    if not len(rows):
        return np.sqrt(kernel(x[None], x[None])[0, 0])
    K, k = kernel(rows, rows), kernel(rows, x[None])[:, 0]
    d = np.linalg.lstsq(K, k, rcond=1e-12)[0]
    return np.sqrt(max(0.0, kernel(x[None], x[None])[0, 0] - 2 * d @ k + d @ K @ d))


class Watched(ReferenceProjectron):
    """Checks what must hold after every row."""

    def learn(self, x, y):
        margin, a, kept = y * self.decide(x), self.a.copy(), len(self)
        delta = span_distance(self.kernel, self.X.reshape(-1, len(x)), x)
        counts = self.n_projections, self.n_margin_steps
        super().learn(x, y)
        projected, stepped = self.n_projections > counts[0], self.n_margin_steps > counts[1]
        after = y * self.decide(x)
        assert len(self) <= self.budget
        assert stepped <= (self.plus and 0 < margin < 1)
        if margin > 0:
            assert len(self) == kept
            if not stepped:
                np.testing.assert_array_equal(self.a, a)
            else:
                assert margin < after <= 1 + 1e-9
                assert 1 - margin > delta / self.eta - 1e-6
        elif projected:
            # f moved as the perceptron would have it, but for what the projection misses
            step = np.append(self.a - a, -y)
            rows = np.vstack([self.X.reshape(-1, len(x)), x])
            assert step @ self.kernel(rows, rows) @ step == pytest.approx(delta**2, abs=1e-6)
            assert delta <= self.eta + 1e-6 or kept == self.budget
        else:
            np.testing.assert_array_equal(self.a, [*a, y])
            assert delta > self.eta - 1e-6
        np.testing.assert_allclose(self.L @ self.L.T, self.gram(), rtol=1e-9, atol=1e-12)
        _, d, _ = self.project(x)
        size = 1 + np.abs(self.gram()) @ np.abs(d)
        assert np.all(np.abs(self.gram() @ d - self.against(x)) <= 1e-9 * size)  # K d = k_t


@pytest.mark.parametrize("plus", [False, True])
@property_test(40)
@given(streams(), st.sampled_from([KERNEL, cubic]), ETAS, st.integers(1, 6) | st.just(NO_LIMIT))
def test_after_every_row(plus, stream, kernel, eta, budget):
    Watched(kernel, budget, eta, plus).run(*stream)


@pytest.mark.parametrize("plus", [False, True])
def test_long_streams(plus):
    X, y = clouds(600, 0)
    model = Watched(KERNEL, NO_LIMIT, 0.2, plus).run(X, y)
    assert model.n_projections > 50
    assert (model.n_margin_steps > 50) == plus
    assert 10 < len(model) < 60
    for i in range(len(model)):
        assert span_distance(KERNEL, model.X[:i], model.X[i]) > 0.2


class Inverse(ReferenceProjectron):
    """As published, with K⁻¹ in place of a factor of K."""

    Kinv = np.zeros((0, 0))

    def project(self, x):
        k = self.against(x)
        d = self.Kinv @ k
        z = np.sqrt(max(0.0, k @ d)) * np.eye(len(self))[:1].ravel()  # only its length matters
        return z, d, max(0.0, self.length(x) - k @ d)

    def mistake(self, x, y):
        (_, d, miss), kept = self.project(x), len(self)
        super().mistake(x, y)
        if len(self) > kept:
            v = np.append(d, -1.0)
            self.Kinv = np.pad(self.Kinv, (0, 1)) + np.outer(v, v) / miss

    def error(self):
        return np.abs(self.Kinv @ self.gram() - np.eye(len(self))).max()


@pytest.mark.parametrize("plus", [False, True])
@property_test(20)
@given(SEEDS, ETAS, st.integers(1, 20))
def test_the_factor_is_that_of_the_published_inverse(plus, seed, eta, budget):
    X, y = clouds(60, seed)
    model, printed = (kind(KERNEL, budget, eta, plus).run(X, y) for kind in (ReferenceProjectron, Inverse))
    np.testing.assert_allclose(model.decide(X), printed.decide(X), rtol=0, atol=1e-6)
    assert (model.n_projections, model.n_margin_steps) == (printed.n_projections, printed.n_margin_steps)
    assert printed.error() < 1e-6


def test_the_factor_lasts_where_the_published_inverse_is_lost():
    X, y = clouds(500, 0, apart=0.2)
    model, printed = (kind(rbf(0.5), 200, 0.0).run(X, y) for kind in (ReferenceProjectron, Inverse))
    K = model.gram()
    worst = max(np.abs(K @ model.project(x)[1] - model.against(x)).max() for x in X)
    assert worst < 1e-6
    assert printed.error() > 1


@property_test(40)
@given(SEEDS)
def test_without_an_error_allowed_it_is_the_kernel_perceptron(seed):
    X, y = clouds(40, seed)
    model, plain = ReferenceProjectron(KERNEL, eta=0).run(X, y), ReferenceKernelPerceptron(KERNEL).run(X, y)
    np.testing.assert_allclose(model.decide(X), plain.decide(X), rtol=0, atol=1e-4)
    assert model.n_mistakes == plain.n_mistakes
    assert ReferenceProjectron(KERNEL, eta=0, plus=True).run(X, y).n_margin_steps == 0


@property_test(60)
@given(streams(), BUDGETS, st.booleans())
def test_linearly_no_more_rows_are_kept_than_there_are_features(stream, budget, plus):
    X, y = stream
    model = ReferenceProjectron(linear, budget, 1e-3, plus).run(X, y)
    assert len(model) <= min(budget, X.shape[1])


@property_test(60)
@given(streams())
def test_linearly_it_is_the_perceptron_whatever_is_kept(stream):
    X, y = stream
    if np.linalg.matrix_rank(X) < X.shape[1]:
        return
    model, plain = ReferenceProjectron(linear, eta=1e-6), ReferenceKernelPerceptron(linear)
    for x, label in zip(X, y, strict=True):
        if abs(plain.decide(x)) < 1e-9 and len(plain):  # 0 but for rounding: who errs is a matter of luck
            return
        plain.learn(x, label), model.learn(x, label)
        np.testing.assert_allclose(model.decide(X), plain.decide(X), rtol=0, atol=1e-8)


def test_the_norm_counts_not_its_square():
    """δ = 0.3 is above η = 0.2 though its square is below."""
    X = np.array([[1.0, 0.0], [-1.0, 0.3]])
    assert len(ReferenceProjectron(linear, eta=0.2).run(X, [1, 1])) == 2
    assert len(ReferenceProjectron(linear, eta=0.31).run(X, [1, 1])) == 1


def test_the_margin_step_by_hand():
    X = np.array([[1.0, 0.0], [0.5, 0.1]])
    model = ReferenceProjectron(linear, eta=0.4, plus=True).run(X, [1, 1])
    # f = 0.5, ℓ = 0.5, δ = 0.1, ‖P k‖² = 0.25: τ = min(1, 0.5/0.25, 2 (0.5 − 0.25)/0.25) = 1
    np.testing.assert_allclose(model.a, [1.5], rtol=1e-12)
    model = ReferenceProjectron(linear, eta=0.21, plus=True).run(X, [1, 1])
    # 2 (0.5 − 0.1/0.21)/0.25 = 0.190476
    np.testing.assert_allclose(model.a, [1 + 0.5 * 8 * (0.5 - 0.1 / 0.21)], rtol=1e-9)
    model = ReferenceProjectron(linear, eta=0.2, plus=True).run(X, [1, 1])
    assert model.n_margin_steps == 0


@pytest.mark.parametrize("plus", [False, True])
def test_rows_of_no_length_and_duplicates_add_nothing_to_the_factor(plus):
    model = ReferenceProjectron(linear, 5, 0.0, plus).run(np.zeros((3, 2)), [1, -1, 1])
    assert (len(model), model.n_projections) == (0, 3)
    x = np.full((5, 2), 0.7)
    model = Watched(KERNEL, 5, 1e-9, plus).run(x, [1, -1, -1, 1, 1])  # scores 0, 1, 0, −1, 0
    assert (len(model), model.n_projections) == (1, 4)
    assert model.a[0] == pytest.approx(1, abs=1e-12)


def test_rows_almost_in_the_span_are_projected_even_where_no_error_is_allowed():
    """δ² is below 1e-12 here."""
    X = np.array([[0.0], [5e-7], [1.0], [1.0 + 5e-7]])
    model = Watched(KERNEL, 5, 0.0).run(X, [1, -1, -1, 1])
    assert (len(model), model.n_projections) == (2, 2)


def test_a_budget_of_one():
    X, y = clouds(80, 1)
    model = Watched(KERNEL, 1, 0.1, True).run(X, y)
    assert len(model) == 1
    assert model.born.tolist() == [1]  # the first row stays for ever
