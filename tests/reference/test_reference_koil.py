"""The NumPy KOIL: its step, its budgets, what compensation keeps, bounds, and edge cases."""

from collections import Counter
from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, KERNELS, NO_LIMIT, SEEDS, Draws, clouds, cubic, streams
from property_helpers import property_test
from reference.kernels import linear, rbf
from reference.koil import ReferenceKOIL

KERNEL = rbf(0.7)
POLICIES = st.sampled_from(["rs++", "rs", "fifo++", "fifo"])
NEIGHBORS = st.integers(1, 4)
READINGS = st.fixed_dictionaries(
    {
        "nearest": st.sampled_from(["violators", "all"]),
        "bootstrap": st.booleans(),
        "keep_zeros": st.booleans(),
        "weighted": st.booleans(),
    }
)


def koil(kernel=KERNEL, C=2.0, eta=0.1, n_neighbors=3, budget=5, replacement="rs++", seed=0, **reading):
    below = np.random.default_rng(seed).integers
    return ReferenceKOIL(kernel, C, eta, n_neighbors, budget, replacement, below, **reading)


def together(model):
    """Coefficients and rows of both classes."""
    sets = [model.kept[y] for y in (1, -1) if len(model.kept[y])]
    return np.concatenate([kept.a for kept in sets]), np.vstack([kept.X for kept in sets])


def squared_norm(model, kernel):
    a, X = together(model)
    return a @ kernel(X, X) @ a


def same(a, b):
    for y in (1, -1):
        for part in ("X", "a", "born"):
            np.testing.assert_array_equal(getattr(a.kept[y], part), getattr(b.kept[y], part))


# --- the step ----------------------------------------------------------------------------------------------


class Step:
    """The step on lists of [row, coefficient, arrival], written a second time, value by value."""

    def __init__(self, model, kernel):
        self.model, self.kernel, self.entries, self.n = model, kernel, {1: [], -1: []}, {1: 0, -1: 0}

    def k(self, a, b):
        return self.kernel(a[None], b[None])[0, 0]

    def f(self, x):
        return sum(a * self.k(row, x) for y in (1, -1) for row, a, _ in self.entries[y])

    def learn(self, x, y):
        m, own, others = self.model, self.entries[y], self.entries[-y]
        self.n[y] += 1
        score, candidates = self.f(x), sorted(range(len(others)), key=lambda i: -self.k(x, others[i][0]))
        self.closest = min((abs(y * (score - self.f(row)) - 1) for row, *_ in others), default=1)
        violates = [y * (score - self.f(row)) < 1 for row, *_ in others]
        if m.nearest == "all":
            candidates = candidates[: m.n_neighbors]
        V = [i for i in candidates if violates[i]][: m.n_neighbors]
        cost = m.C * max(1, self.n[-y] / m.budget[-y]) if m.weighted else m.C
        meets_nobody = not others or (not own and not V)
        for entry in own + others:
            entry[1] *= 1 - m.eta
        for i in V:
            others[i][1] -= m.eta * cost * y
        a = m.eta * cost * y * (1 if m.bootstrap and meets_nobody else len(V))
        if a == 0 and own and not m.keep_zeros:
            return
        entry = [x, a, self.n[1] + self.n[-1]]
        if len(own) < m.budget[y]:
            own.append(entry)
            return
        j = m.below(self.n[y]) if "rs" in m.replacement else 0
        gone = entry
        if j < len(own):
            gone = own.pop(j)
            own.append(entry)
        if "++" in m.replacement:
            max(own, key=lambda kept: self.k(gone[0], kept[0]))[1] += gone[1]


@property_test(150)
@given(SEEDS, POLICIES, READINGS, NEIGHBORS, BUDGETS, st.integers(10, 40), st.sampled_from([KERNEL, cubic]))
def test_step_by_step(seed, replacement, reading, k, budget, n, kernel):
    X, y = clouds(n, seed)
    model = koil(kernel, n_neighbors=k, budget=budget, replacement=replacement, seed=seed, **reading)
    again = Step(deepcopy(model), kernel)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label), again.learn(x, label)
        if again.closest < 1e-9:
            return  # who violates is a matter of rounding
        for c in (1, -1):
            assert model.kept[c].born.tolist() == [entry[2] for entry in again.entries[c]]
            np.testing.assert_allclose(model.kept[c].a, [entry[1] for entry in again.entries[c]], rtol=1e-9)
    np.testing.assert_allclose(model.decide(X), [again.f(x) for x in X], rtol=1e-9, atol=1e-12)


@property_test(100)
@given(streams(), KERNELS, NEIGHBORS, st.sampled_from(["violators", "all"]))
def test_the_gradient_step(stream, kernel, k, nearest):
    """Without a limit f' = (1 − η) f + η C y Σ_V (k(x, ·) − k(x_i, ·)) everywhere."""
    X, y = stream
    model = koil(kernel, 0.5, 0.1, k, NO_LIMIT, nearest=nearest, bootstrap=False, keep_zeros=True)
    for x, label in zip(X, y.tolist(), strict=True):
        V, f, others = model.violators(x, label), model.decide(X), model.kept[-label]
        assert len(V) <= k
        near = others.X.reshape(-1, len(x))[V]
        expected = 0.9 * f + 0.05 * label * (kernel(X, x[None]) - kernel(X, near)).sum(axis=1)
        model.learn(x, label)
        np.testing.assert_allclose(model.decide(X), expected, rtol=1e-9, atol=1e-9 * (1 + np.abs(f).max()))


@property_test(100)
@given(streams(), KERNELS, NEIGHBORS)
def test_who_violates_and_is_nearest(stream, kernel, k):
    X, y = stream
    model = koil(kernel, n_neighbors=k, budget=NO_LIMIT)
    for x, label in zip(X, y.tolist(), strict=True):
        others = model.kept[-label]
        V = model.violators(x, label).tolist()
        gap = [label * (model.decide(x) - model.decide(row)) for row in others.X]
        bad = [i for i in range(len(others)) if gap[i] < 1]
        values = others.against(x)
        assert len(V) == min(k, len(bad))
        for i in set(bad) - set(V):  # farther, or as near and younger
            assert all(values[i] < values[j] or (values[i] == values[j] and i > j) for j in V)
        model.learn(x, label)


# --- budgets -----------------------------------------------------------------------------------------------


@property_test(100)
@given(streams(), KERNELS, POLICIES, BUDGETS, BUDGETS, READINGS, SEEDS)
def test_after_every_row(stream, kernel, replacement, plus, minus, reading, seed):
    X, y = stream
    model = koil(kernel, budget={1: plus, -1: minus}, replacement=replacement, seed=seed, **reading)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        model.learn(x, label)
        assert model.n[1] + model.n[-1] == t
        for c in (1, -1):
            kept = model.kept[c]
            assert len(kept) <= model.budget[c]
            assert len(kept.X) == len(kept.a) == len(kept.born)
            assert np.all(np.diff(kept.born) > 0)
            assert np.all(y[kept.born - 1] == c)
            np.testing.assert_array_equal(kept.X, X[kept.born - 1].reshape(kept.X.shape))
            assert np.all(c * kept.a >= 0)


@property_test(60)
@given(streams(), KERNELS, st.sampled_from(["fifo++", "fifo"]), BUDGETS)
def test_fifo_keeps_the_newest(stream, kernel, replacement, budget):
    X, y = stream
    model = koil(kernel, budget=budget, replacement=replacement, keep_zeros=True).run(X, y)
    for c in (1, -1):
        assert model.kept[c].born.tolist() == (np.flatnonzero(y == c) + 1).tolist()[-budget:]


@pytest.mark.parametrize("replacement", ["rs++", "rs"])
def test_a_reservoir_is_a_uniform_sample_of_its_class(replacement):
    """All draws for six rows of a class and N = 2, each as likely: every pair of rows is left as often."""
    X, _ = clouds(6, 0)
    left = Counter()
    for draws in product(range(3), range(4), range(5), range(6)):
        below = Draws(*draws)
        model = ReferenceKOIL(KERNEL, 1.0, 0.1, 1, 2, replacement, below, keep_zeros=True)
        model.run(X, np.ones(6, int))
        assert below.asked == [3, 4, 5, 6]
        left[tuple(model.kept[1].born)] += 1
    assert len(left) == 15
    assert set(left.values()) == {360 // 15}


def test_rows_without_a_coefficient_count_but_draw_nothing():
    """A negative at 0; the second positive at 5 lies above it by 1.25 and has no loss, the third by 0.625."""
    X = np.array([[0.0], [5.0], [5.0], [5.0], [0.0], [0.0]])
    below = Draws(3, 4)
    model = ReferenceKOIL(KERNEL, 1.0, 0.5, 1, 2, "rs", below)
    model.run(X, [-1, 1, 1, 1, 1, 1])
    assert model.kept[1].born.tolist() == [2, 4]
    assert below.asked == [4, 5]  # rows 5 and 6, on the negative itself, were turned away


@property_test(60)
@given(streams(), KERNELS, READINGS)
def test_all_policies_are_one_until_a_set_is_full(stream, kernel, reading):
    X, y = stream
    budget = max(np.sum(y > 0), np.sum(y < 0))
    models = [koil(kernel, budget=budget, replacement=r, **reading) for r in ("rs++", "rs", "fifo++", "fifo")]
    for model in models:
        model.below = None  # nothing is drawn
        same(model.run(X, y), models[0])


# --- sums and norms ----------------------------------------------------------------------------------------


@property_test(100)
@given(streams(), KERNELS, st.sampled_from(["rs++", "fifo++"]), BUDGETS | st.just(NO_LIMIT), READINGS, SEEDS)
def test_compensation_keeps_the_sum(stream, kernel, replacement, budget, reading, seed):
    """It is 0, or with bootstrap what is left of the coefficients given to rows that met nobody."""
    X, y = stream
    model, due = koil(kernel, budget=budget, replacement=replacement, seed=seed, **reading), 0.0
    for x, label in zip(X, y.tolist(), strict=True):
        V, own, others = model.violators(x, label), model.kept[label], model.kept[-label]
        alone = not len(others) or (not len(own) and not len(V))
        weight = max(1, model.n[-label] / budget) if model.weighted else 1
        due = 0.9 * due + (0.2 * weight * label if alone and model.bootstrap else 0)
        model.learn(x, label)
        assert sum(model.kept[c].a.sum() for c in (1, -1)) == pytest.approx(due, abs=1e-9)


@pytest.mark.parametrize("replacement", ["rs", "fifo"])
def test_without_compensation_the_sum_drifts(replacement):
    X, y = clouds(200, 0, share=0.2)
    model = koil(replacement=replacement, bootstrap=False).run(X, y)
    assert abs(sum(model.kept[c].a.sum() for c in (1, -1))) > 0.1


@property_test(60)
@given(streams(), KERNELS, POLICIES, BUDGETS | st.just(NO_LIMIT), NEIGHBORS, st.booleans(), SEEDS)
def test_the_sum_of_a_class_is_at_most_C_times_neighbors(
    stream, kernel, replacement, budget, k, bootstrap, seed
):
    """With bootstrap too, which gives no more than a row with one neighbor gets."""
    X, y = stream
    model = koil(kernel, 2.0, 0.3, k, budget, replacement, seed, bootstrap=bootstrap)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
        for c in (1, -1):
            assert c * model.kept[c].a.sum() <= 2.0 * k + 1e-9


@property_test(60)
@given(streams(), st.sampled_from([KERNEL, linear]), NEIGHBORS)
def test_the_norm_without_a_limit(stream, kernel, k):
    """‖f‖ ≤ C k √(2 X² − 2 ξ²), ξ² the smallest k(x, x_i) of pairs used, X² the largest k(x, x)."""
    X, y = stream
    model, smallest = koil(kernel, 2.0, 0.3, k, NO_LIMIT, bootstrap=False, keep_zeros=True), np.inf
    for x, label in zip(X, y.tolist(), strict=True):
        V, others = model.violators(x, label), model.kept[-label]
        smallest = min([smallest, *others.against(x)[V]])
        model.learn(x, label)
        largest = max(kernel(row[None], row[None])[0, 0] for row in X)
        if np.isfinite(smallest):
            assert squared_norm(model, kernel) <= (2 * k) ** 2 * (2 * largest - 2 * smallest) + 1e-9


@property_test(60)
@given(SEEDS, st.sampled_from(["rs++", "fifo++"]), BUDGETS, NEIGHBORS)
def test_the_norm_with_compensation(seed, replacement, budget, k):
    """A = Σ a₊ = −Σ a₋, and ‖f‖ ≤ A √(2 − 2 ξ²), ξ² the smallest value between kept rows of two classes."""
    X, y = clouds(40, seed)
    model = koil(KERNEL, 2.0, 0.3, k, budget, replacement, seed, bootstrap=False)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
        plus, minus = model.kept[1], model.kept[-1]
        if len(plus) and len(minus):
            A = plus.a.sum()
            assert -minus.a.sum() == pytest.approx(A, abs=1e-9)
            assert squared_norm(model, KERNEL) <= A**2 * (2 - 2 * plus.against(minus.X).min()) + 1e-9


def test_removal_without_compensation_breaks_the_bound_of_the_unlimited_learner():
    """Nearly identical rows: the bound tends to 0, and what a removal leaves does not."""
    rng = np.random.default_rng(0)
    X, y = 1e-3 * rng.standard_normal((200, 1)), np.where(rng.random(200) < 0.5, 1, -1)
    bound = 2 * 3 * np.sqrt(2 - 2 * KERNEL(X, X).min())
    norms = {}
    for replacement in ("fifo", "fifo++"):
        model = koil(budget=3, replacement=replacement, bootstrap=False).run(X, y)
        norms[replacement] = np.sqrt(squared_norm(model, KERNEL))
    assert norms["fifo"] > 5 * bound
    assert norms["fifo++"] <= bound


# --- the rest ----------------------------------------------------------------------------------------------


@property_test(60)
@given(streams(), KERNELS, st.sampled_from(["fifo++", "fifo"]), BUDGETS | st.just(NO_LIMIT), READINGS)
def test_other_labels_the_other_sign(stream, kernel, replacement, budget, reading):
    X, y = stream
    model, mirror = (koil(kernel, budget=budget, replacement=replacement, **reading) for _ in range(2))
    np.testing.assert_array_equal(mirror.run(X, -y).decide(X), -model.run(X, y).decide(X))


@pytest.mark.parametrize("label", [1, -1])
def test_one_class_only(label):
    X, _ = clouds(30, 0)
    model = koil(budget=4, replacement="fifo++").run(X, np.full(30, label))
    assert np.all(label * model.decide(X) > 0)
    literal = koil(bootstrap=False, keep_zeros=True).run(X, np.full(30, label))
    assert not literal.decide(X).any()
    assert len(literal.kept[label]) == 5


def test_a_set_of_one_hands_all_on():
    X, y = clouds(50, 1)
    model = koil(budget=1, replacement="fifo++", n_neighbors=10, bootstrap=False).run(X, y)
    assert [len(model.kept[c]) for c in (1, -1)] == [1, 1]
    assert model.kept[1].a[0] == pytest.approx(-model.kept[-1].a[0], rel=1e-12)


def test_the_row_turned_away_leaves_its_coefficient():
    X = np.array([[0.0], [3.0], [0.2], [2.9]])
    model = ReferenceKOIL(KERNEL, 1.0, 0.5, 1, 1, "rs++", Draws(1, 2))
    model.run(X[[0, 2, 1]], [1, 1, 1])
    np.testing.assert_array_equal(model.kept[1].X, X[:1])  # both others were turned away
    np.testing.assert_allclose(model.kept[1].a, [0.125 + 0.25 + 0.5], rtol=1e-12)
    plain = ReferenceKOIL(KERNEL, 1.0, 0.5, 1, 1, "rs", Draws(1, 2)).run(X[[0, 2, 1]], [1, 1, 1])
    np.testing.assert_allclose(plain.kept[1].a, [0.125], rtol=1e-12)


def test_the_nearest_inherits_and_of_equals_the_oldest():
    X = np.array([[1.0], [-1.0], [5.0], [0.0], [0.0]])
    model = ReferenceKOIL(KERNEL, 1.0, 0.5, 1, 4, "fifo++").run(X, np.ones(5, int))
    # the row at 1 goes; the two at 0 are nearest to it, and the older of them inherits
    np.testing.assert_allclose(model.kept[1].a, [0.0625, 0.125, 0.25 + 0.03125, 0.5], rtol=1e-12)


def test_opposite_duplicates_violate_for_ever():
    model = koil(budget=3, n_neighbors=5, replacement="fifo++", bootstrap=False)
    for t in range(40):
        label = 1 if t % 2 else -1
        assert len(model.violators(np.zeros(2), label)) == len(model.kept[-label])
        model.learn(np.zeros(2), label)
    assert model.decide(np.zeros(2)) == pytest.approx(0, abs=1e-12)
