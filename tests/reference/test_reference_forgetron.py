"""The NumPy Forgetron: its condition after every removal, how far it shrinks, and edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds, streams
from property_helpers import property_test
from reference.forgetron import ReferenceForgetron, psi, shrinkage
from reference.kernels import rbf
from reference.perceptrons import ReferenceKernelPerceptron

KERNEL = rbf(0.7)
GRID = np.linspace(0, 1, 2001)[1:]


@property_test(300)
@given(st.floats(1e-3, 1), st.floats(-6, 6), st.floats(-5, -1e-3))
def test_the_largest_shrinkage_that_does(s, mu, c):
    phi = shrinkage(s, mu, c)
    assert 0 < phi <= 1
    assert psi(phi * s, phi * mu) + c <= 1e-12
    if phi < 1:
        assert psi(phi * s, phi * mu) + c == pytest.approx(0, abs=1e-12)
    larger = GRID[phi + 1e-6 < GRID]
    assert not np.any(psi(larger * s, larger * mu) + c <= -1e-9)


@pytest.mark.parametrize(
    ("s", "mu", "c", "phi"),
    [
        (1.0, 0.0, -1.0, np.sqrt(2) - 1),  # opened upwards: φ² + 2 φ = 1
        (1.0, 0.5, -0.5, 0.25),  # a line: 2 φ = 0.5
        (1.0, 0.5, -3.0, 1.0),
        (0.5, 1.25, -0.1, 1.0),  # opened downwards, roots (1 ± √0.6)/2: beyond the second it holds again
        (1.0, 6.0, -2.0, 1.0),  # opened downwards without roots
        (1.0, 0.75, -1.0, 2 - np.sqrt(2)),  # opened downwards, roots 2 ± √2
        (0.0, 0.0, -1.0, 1.0),  # nothing to take out
    ],
)
def test_all_shapes_of_the_parabola(s, mu, c, phi):
    assert shrinkage(s, mu, c) == pytest.approx(phi, abs=1e-12)


class Watched(ReferenceForgetron):
    """Checks what must hold after every row."""

    n_removals = n_shrunk = 0

    def learn(self, x, y):
        mistakes, Q, a, born, label = self.n_mistakes, self.Q, self.a, self.born, y
        wrong = label * self.decide(x) <= 0
        super().learn(x, y)
        assert self.n_mistakes - mistakes == wrong
        if not wrong:
            assert self.Q == Q
            assert self.a is a
        elif len(born) < self.budget:
            np.testing.assert_array_equal(self.a, [*a, y])
            assert self.Q == Q
        else:
            self.n_removals += 1
            assert self.born.tolist() == [*born[1:], self.t]  # the oldest went
            np.testing.assert_array_equal(self.a, np.array([*a[1:], y]) * self.phi)
            room = 15 / 32 * self.n_mistakes
            assert 0 < self.phi <= 1
            assert room + 1e-12 >= self.Q
            if self.phi < 1:
                self.n_shrunk += 1
                assert pytest.approx(room, abs=1e-9) == self.Q
        assert len(self) <= self.budget
        assert np.all((np.abs(self.a) <= 1) & (self.a != 0))


@property_test(60)
@given(streams(), BUDGETS)
def test_after_every_row(stream, budget):
    Watched(KERNEL, budget).run(*stream)


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_long_streams_shrink(budget):
    X, y = clouds(1500, 0)
    model = Watched(KERNEL, budget).run(X, y)
    assert model.n_removals > 200
    assert model.n_shrunk > 50


@property_test(30)
@given(SEEDS, BUDGETS)
def test_a_coefficient_is_the_product_of_what_shrank_it(seed, budget):
    X, y = clouds(60, seed)
    model, shrunk = ReferenceForgetron(KERNEL, budget), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        Q = model.Q
        model.learn(x, label)
        if model.Q != Q:
            shrunk.append((t, model.phi))
    expected = [y[t - 1] * np.prod([phi for when, phi in shrunk if when >= t]) for t in model.born]
    np.testing.assert_allclose(model.a, expected, rtol=1e-12)


@property_test(60)
@given(SEEDS, st.integers(2, 6))
def test_what_a_removal_costs_is_at_most_psi(seed, budget):
    """‖f' − u‖² − ‖f − u‖² for f' = f without row r, and any u with |u(x_r)| ≤ 1."""
    rng = np.random.default_rng(seed)
    X, y = clouds(budget, seed)
    K, a = KERNEL(X, X), y * rng.random(budget)
    u = rng.standard_normal(budget)
    u /= max(1, abs(K[0] @ u))
    after = np.where(np.arange(budget) == 0, 0, a)
    cost = (after - u) @ K @ (after - u) - (a - u) @ K @ (a - u)
    assert cost <= psi(abs(a[0]), np.sign(a[0]) * K[0] @ a) + 1e-9


@property_test(40)
@given(streams())
def test_an_ample_budget_is_none(stream):
    X, y = stream
    model, plain = ReferenceForgetron(KERNEL, len(y)).run(X, y), ReferenceKernelPerceptron(KERNEL).run(X, y)
    np.testing.assert_array_equal(model.a, plain.a)
    np.testing.assert_array_equal(model.born, plain.born)
    assert model.Q == 0


@property_test(40)
@given(streams(), BUDGETS)
def test_other_labels_the_other_sign(stream, budget):
    X, y = stream
    model, mirror = (ReferenceForgetron(KERNEL, budget).run(X, labels) for labels in (y, -y))
    np.testing.assert_array_equal(mirror.decide(X), -model.decide(X))


def test_duplicates_of_both_labels_take_turns():
    """The same row again and again: with one place a new entry always replaces the old one."""
    model = Watched(KERNEL, 1).run(np.zeros((6, 1)), [1, -1, 1, -1, 1, -1])
    assert model.n_mistakes == 6
    assert model.a[0] < 0
