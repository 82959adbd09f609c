"""The NumPy kernel perceptrons and the passive-aggressive learner: what must hold of them, and edge cases."""

from collections import Counter
from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, KERNELS, SEEDS, Draws, clouds, cubic, streams
from property_helpers import property_test
from reference.kernel_pa import ReferenceKernelPA
from reference.kernels import linear, rbf
from reference.perceptrons import (
    ReferenceAveragedKernelPerceptron,
    ReferenceBudgetKernelPerceptron,
    ReferenceKernelPerceptron,
    ReferenceRBP,
)


def same_rows(a, b):
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(a.a, b.a)
    np.testing.assert_array_equal(a.born, b.born)


# --- all of them -------------------------------------------------------------------------------------------

EVERY = {
    "perceptron": lambda kernel: ReferenceKernelPerceptron(kernel),
    "vote": lambda kernel: ReferenceAveragedKernelPerceptron(kernel),
    "average": lambda kernel: ReferenceAveragedKernelPerceptron(kernel, "average"),
    "budget": lambda kernel: ReferenceBudgetKernelPerceptron(kernel, 4),
    "rbp": lambda kernel: ReferenceRBP(kernel, 4, np.random.default_rng(0).integers),
    "pa": lambda kernel: ReferenceKernelPA(kernel, variant="pa"),
    "pa1": lambda kernel: ReferenceKernelPA(kernel),
    "pa2": lambda kernel: ReferenceKernelPA(kernel, variant="pa2"),
}


@pytest.mark.parametrize("name", EVERY)
@property_test(20)
@given(streams(), KERNELS)
def test_looking_changes_nothing_and_nothing_is_learned_at_first(name, stream, kernel):
    X, y = stream
    model = EVERY[name](kernel)
    np.testing.assert_array_equal(model.decide(X), np.zeros(len(X)))
    model.run(X, y)
    before = deepcopy({key: value for key, value in vars(model).items() if key not in ("kernel", "below")})
    f = model.decide(X)
    assert f.shape == (len(X),)
    assert model.decide(X[0]) == pytest.approx(f[0], rel=1e-12, abs=1e-12)
    for key, value in before.items():
        np.testing.assert_array_equal(getattr(model, key), value)


@pytest.mark.parametrize("name", EVERY)
@property_test(20)
@given(streams(), KERNELS)
def test_other_labels_the_other_sign(name, stream, kernel):
    X, y = stream
    model, mirror = (EVERY[name](kernel).run(X, labels) for labels in (y, -y))
    np.testing.assert_array_equal(mirror.decide(X), -model.decide(X))


# --- perceptrons -------------------------------------------------------------------------------------------


@property_test(100)
@given(streams())
def test_with_the_linear_kernel_it_is_the_perceptron(stream):
    X, y = stream  # on a grid: all sums are exact, ties at 0 too
    w, errors = np.zeros(X.shape[1]), []
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        if label * (w @ x) <= 0:
            w += label * x
            errors.append(t)
    model = ReferenceKernelPerceptron(linear).run(X, y)
    np.testing.assert_array_equal(model.a @ model.X, w)
    assert model.born.tolist() == errors
    assert model.n_mistakes == len(errors)


def test_a_score_of_zero_is_a_mistake_and_a_row_may_be_kept_twice():
    x = np.array([1.0, 2.0])
    model = ReferenceKernelPerceptron(rbf(1.0))
    for label in (1, 1, -1, -1, 1):
        model.learn(x, label)  # scores 0, 1, 1, 0, −1
    assert model.a.tolist() == [1, -1, -1, 1]
    assert model.born.tolist() == [1, 3, 4, 5]


@property_test(60)
@given(SEEDS)
def test_novikoffs_bound(seed):
    """With a margin of 1 for some u and rows of length 1 at most ‖u‖² mistakes, all epochs together."""
    X, y = clouds(25, seed)
    kernel = rbf(10.0)
    K = kernel(X, X)
    c = np.linalg.solve(K, y)  # u = Σ c_i k(x_i, ·) has y u(x) = 1 for all rows
    model = ReferenceKernelPerceptron(kernel)
    for _ in range(1000):
        before = model.n_mistakes
        model.run(X, y)
        if model.n_mistakes == before:
            break
    assert model.n_mistakes == before
    assert model.n_mistakes <= c @ K @ c + 1e-6


@property_test(60)
@given(streams(), KERNELS)
def test_averages_are_over_the_rules_after_every_row(stream, kernel):
    X, y = stream
    plain, rules = ReferenceKernelPerceptron(kernel), []
    for x, label in zip(X, y, strict=True):
        plain.learn(x, label)
        rules.append(np.cumsum(plain.against(X) * plain.a, axis=1)[:, -1])
    vote, average = (
        ReferenceAveragedKernelPerceptron(kernel, mode).run(X, y) for mode in ("vote", "average")
    )
    same_rows(vote, plain)
    same_rows(average, plain)
    np.testing.assert_allclose(vote.decide(X), np.mean(np.sign(rules), axis=0), rtol=0, atol=1e-12)
    np.testing.assert_allclose(average.decide(X), np.mean(rules, axis=0), rtol=1e-9, atol=1e-9)
    assert np.all(np.abs(vote.decide(X)) <= 1)


# --- budgets -----------------------------------------------------------------------------------------------


@property_test(60)
@given(streams(), KERNELS, BUDGETS, st.sampled_from([0.0, 0.5, -0.5]))
def test_who_leaves_the_budget_perceptron_is_right_without_itself(stream, kernel, budget, beta):
    X, y = stream
    model = ReferenceBudgetKernelPerceptron(kernel, budget, beta)
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        rows = [*model.X]
        a, born, errs = model.a.tolist(), model.born.tolist(), label * model.decide(x) <= beta
        model.learn(x, label)
        if errs:
            rows, a, born = [*rows, x], [*a, label], [*born, t]
        if len(a) > budget:
            alone = [
                a[i] * sum(a[j] * kernel(rows[j][None], rows[i][None])[0, 0] for j in range(len(a)) if j != i)
                for i in range(len(a))
            ]  # the margin of row i by all others
            (gone,) = set(born) - set(model.born)
            assert alone[born.index(gone)] >= max(alone) - 1e-9
            a.remove(a[born.index(gone)]), born.remove(gone)
        assert model.born.tolist() == born
        assert len(model) <= budget
        assert set(np.abs(model.a)) <= {1.0}


def test_of_rows_equally_right_the_oldest_leaves():
    model = ReferenceBudgetKernelPerceptron(linear, 2)
    model.run(np.eye(3), [1, 1, 1])
    assert model.born.tolist() == [2, 3]


def test_the_newcomer_may_be_the_one_that_leaves():
    model = ReferenceBudgetKernelPerceptron(linear, 2, beta=1.0)
    model.run([[1.0, 0], [0, 1], [0.5, 0.5]], [1, 1, 1])  # by the others 0.5, 0.5 and 1
    assert model.born.tolist() == [1, 2]


@property_test(60)
@given(streams(), KERNELS, BUDGETS, SEEDS)
def test_rbp_stays_within_its_budget_and_draws_only_when_full(stream, kernel, budget, seed):
    X, y = stream
    rng = np.random.default_rng(seed)
    asked = []
    model = ReferenceRBP(kernel, budget, lambda n: asked.append(n) or rng.integers(n))
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        full, mistakes, draws = len(model) == budget, model.n_mistakes, len(asked)
        model.learn(x, label)
        erred = model.n_mistakes > mistakes
        assert len(model) <= budget
        assert len(asked) - draws == (full and erred)
        assert not erred or (model.born[-1] == t and model.a[-1] == label)
        assert np.all(np.diff(model.born) > 0)
    assert set(asked) <= {budget}
    assert len(model) == min(budget, model.n_mistakes)


@pytest.mark.parametrize("make", [ReferenceRBP, ReferenceBudgetKernelPerceptron])
@property_test(40)
@given(streams(), KERNELS)
def test_an_ample_budget_is_none(make, stream, kernel):
    X, y = stream
    model, plain = make(kernel, len(y)).run(X, y), ReferenceKernelPerceptron(kernel).run(X, y)
    same_rows(model, plain)


def test_every_draw_drops_its_row():
    """Orthogonal rows all err: after five with N = 3, each sequence of draws names the survivors."""
    survivors = Counter()
    for draws in product(range(3), repeat=2):
        below = Draws(*draws)
        model = ReferenceRBP(linear, 3, below).run(np.eye(5), np.ones(5))
        left = [1, 2, 3]
        for t, j in zip((4, 5), draws, strict=True):
            del left[j]
            left.append(t)
        assert model.born.tolist() == left
        assert below.asked == [3, 3]
        survivors.update(left)
    # row i of the first three is there with probability (2/3)², row 4 with 2/3, row 5 always
    assert [survivors[i] / 9 for i in range(1, 6)] == pytest.approx([4 / 9, 4 / 9, 4 / 9, 2 / 3, 1])


@pytest.mark.parametrize("make", [ReferenceRBP, ReferenceBudgetKernelPerceptron])
def test_a_budget_of_one(make):
    X, y = clouds(50, 0)
    model = make(rbf(1.0), 1)
    if make is ReferenceRBP:
        model.below = lambda n: 0
    for x, label in zip(X, y, strict=True):
        mistakes = model.n_mistakes
        model.learn(x, label)
        assert len(model) == 1
        if make is ReferenceRBP and model.n_mistakes > mistakes:
            np.testing.assert_array_equal(model.X, x[None])
    assert model.n_mistakes > 5


# --- passive-aggressive ------------------------------------------------------------------------------------


@property_test(100)
@given(streams(), st.sampled_from([rbf(0.7), linear, cubic]), st.floats(0.05, 5))
def test_a_step_is_the_least_that_does(stream, kernel, C):
    X, y = stream
    models = {variant: ReferenceKernelPA(kernel, C, variant) for variant in ("pa", "pa1", "pa2")}
    for x, label in zip(X, y, strict=True):
        for variant, model in models.items():
            loss, kept, length = 1 - label * model.decide(x), len(model), kernel(x[None], x[None])[0, 0]
            model.learn(x, label)
            assert len(model) - kept == (loss > 0 and length > 0)
            if len(model) == kept:
                continue
            tau, after = label * model.a[-1], 1 - label * model.decide(x)
            size = 1e-9 * (1 + np.abs(model.against(x)) @ np.abs(model.a))  # sums may cancel
            assert after == pytest.approx(loss - tau * length, abs=size)
            if variant == "pa":
                assert after == pytest.approx(0, abs=size)
            elif variant == "pa1":
                assert 0 < tau <= C
                assert tau == C or after == pytest.approx(0, abs=size)
                assert after >= -size
            else:  # ½ ‖f' − f‖² + C ℓ'² is least where τ = 2 C ℓ'
                assert after == pytest.approx(tau / (2 * C), abs=size)


@property_test(30)
@given(streams(), KERNELS)
def test_without_a_cap_the_variants_are_one(stream, kernel):
    X, y = stream
    plain, first = (ReferenceKernelPA(kernel, 1e9, variant).run(X, y) for variant in ("pa", "pa1"))
    if np.abs(plain.a).max(initial=0) < 1e9:
        same_rows(plain, first)


@pytest.mark.parametrize("kernel", [linear, lambda A, B: A @ B.T - 1])
def test_a_row_without_length_is_passed_over(kernel):
    for variant in ("pa", "pa1", "pa2"):
        model = ReferenceKernelPA(kernel, 1.0, variant).run(np.zeros((3, 2)), [1, -1, 1])
        assert len(model) == 0
        assert model.n_mistakes == 3


def test_a_margin_error_is_no_mistake():
    model = ReferenceKernelPA(rbf(1.0), 0.5).run(np.zeros((2, 1)), [1, 1])
    assert model.a.tolist() == [0.5, 0.5]
    assert model.n_mistakes == 1
