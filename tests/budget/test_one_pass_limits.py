"""What one-pass learners promise for streams without an end: budgets, memory, sums and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds, property_test
from budget.native_helpers import (
    KERNEL_LEARNERS,
    ON_A_BUDGET,
    SIZES,
    blocks,
    buffers,
    feed,
    kept_by_class,
    make,
    raw_scores,
)
from everlearn import (
    KOIL,
    NORMA,
    OAM,
    OPAUC,
    RBP,
    BudgetKernelPerceptron,
    Forgetron,
    KernelPerceptron,
    Projectron,
    ProjectronPP,
)
from svm.lasvm_helpers import assert_same, kernel_matrix, three_clouds

on_a_budget = pytest.mark.parametrize("cls", ON_A_BUDGET)
POLICIES = ["rs++", "rs", "fifo++", "fifo"]


def counts(model):
    """How many rows are kept: one number for each set that has a budget of its own."""
    if isinstance(model, OAM):
        state = model._native.get_state()
        return [len(rows) // model.n_features_in_ for name, rows in state.items() if name.startswith("kept")]
    if isinstance(model, KOIL):
        return kept_by_class(model).ravel().tolist()
    return [len(ids) for ids in buffers(model)]


# --- budgets -----------------------------------------------------------------------------------------------


@on_a_budget
@property_test(8)
@given(SEEDS, st.booleans(), BUDGETS, SIZES, st.sampled_from(POLICIES))
def test_budgets_are_kept_after_every_block(cls, seed, three, budget, sizes, replacement):
    X, y = three_clouds(90, 3, seed) if three else clouds(90, seed)
    model = make(cls, budget=budget, replacement=replacement)
    for part in blocks(90, sizes):
        feed(model, X[part], y[part], np.unique(y))
        assert max(counts(model)) <= budget
        if cls is not OAM:
            sets = len(model.n_mistakes_) * (2 if cls is KOIL else 1)
            assert len(model.support_) <= model.n_kept_ <= sets * budget


@on_a_budget
def test_buffers_fill(cls):
    X, y = three_clouds(400, 3)
    model = make(cls, budget=7, learning_rate=0.01, max_projection_error=0.01).partial_fit(
        X, y, classes=np.unique(y)
    )
    assert set(counts(model)) == {7}


@pytest.mark.parametrize(
    ("cls", "replacement"),
    [(cls, "") for cls in (BudgetKernelPerceptron, RBP, Forgetron, NORMA, OAM)]
    + [(KOIL, replacement) for replacement in POLICIES],
)
def test_a_smaller_budget_holds_from_the_next_block_on(cls, replacement):
    X, y = three_clouds(400, 3)
    model = make(cls, budget=20, replacement=replacement).partial_fit(X[:200], y[:200], classes=np.unique(y))
    assert max(counts(model)) == 20
    model.set_params(budget=5).partial_fit(X[[200]], y[[200]])
    assert max(counts(model)) <= 5
    if cls is not OAM:  # and what is kept has not lost its say
        assert len(model.support_) == model.n_kept_
    model.partial_fit(X[201:], y[201:])
    assert max(counts(model)) <= 5


@on_a_budget
def test_a_larger_budget_is_used(cls):
    X, y = three_clouds(400, 3)
    model = make(cls, budget=3, learning_rate=0.01, max_projection_error=0.01).partial_fit(
        X[:200], y[:200], classes=np.unique(y)
    )
    model.set_params(budget=8).partial_fit(X[200:], y[200:])
    assert 3 < max(counts(model)) <= 8


@pytest.mark.parametrize("cls", [Projectron, ProjectronPP])
def test_a_projectron_with_a_smaller_budget_keeps_what_it_has_and_takes_no_more(cls):
    X, y = clouds(400, 0, 3)
    model = make(cls, budget=20, learning_rate=0.01, max_projection_error=0.01).partial_fit(
        X[:200], y[:200], classes=[-1, 1]
    )
    before = model.support_
    model.set_params(budget=5).partial_fit(X[200:], y[200:])
    assert_same(model.support_, before)


# --- memory ------------------------------------------------------------------------------------------------


def size_of(state):
    return sum(map(size_of, state.values())) if isinstance(state, dict) else getattr(state, "nbytes", 0)


@pytest.mark.parametrize("cls", [*ON_A_BUDGET, OPAUC])
def test_memory_is_flat_over_many_rows_and_scores_do_not_drift(cls):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (X[:, 0] + rng.standard_normal(20_000) > 0).astype(int)
    model, sizes, slots = make(cls, budget=20), [], []
    for start in range(0, 20_000, 1000):
        feed(model, X[start : start + 1000], y[start : start + 1000], [0, 1])
        sizes.append(size_of(model._get_state()["machine"]))
        if cls in KERNEL_LEARNERS:
            slots.append((model._machine.native.size, model._machine.native.cache_bytes))
    assert max(sizes[10:]) <= max(sizes[:10]) * 1.5
    if cls not in KERNEL_LEARNERS:
        return
    most_slots, most_cached = np.max(slots, axis=0)
    assert most_slots <= 2 * (model.n_kept_ + 64)  # those that wait for a sweep, too
    assert most_cached < 2**20
    # What was brought up to date 20,000 times is what the coefficients say.
    machine = model._machine
    state = machine.native.get_state()
    tracked = np.where(state["labels"] == 1, 1, -1) - state["g"].ravel()
    f = raw_scores(model, machine.rows(np.arange(machine.native.size)))
    f -= state["bias"] if cls is NORMA else 0
    np.testing.assert_allclose(tracked, f, rtol=0, atol=1e-12)


# --- KOIL --------------------------------------------------------------------------------------------------


@property_test(40)
@given(SEEDS, st.sampled_from(POLICIES), BUDGETS, st.integers(1, 5), st.booleans(), SIZES)
def test_signs_and_sums_of_koil(seed, replacement, budget, k, literal, sizes):
    X, y = clouds(150, seed)
    C, eta = 3.0, 0.1
    model = KOIL(budget, replacement, k, C, eta, gamma=0.7, literal=literal, random_state=0)
    for part in blocks(150, sizes):
        feed(model, X[part], y[part])
        a, plus = model.dual_coef_[0], y[model.support_] > 0
        assert np.all(a[plus] > 0)
        assert np.all(a[~plus] < 0)
        assert np.abs(a[plus]).sum() <= C * k + C + 1e-9
        assert np.abs(a[~plus]).sum() <= C * k + C + 1e-9
        met = np.flatnonzero(y != y[0])[0]  # the first row that met another class
        if replacement.endswith("++") and part.stop > met:
            # The coefficients of rows that met nobody are what is not balanced, and these fade.
            left = 0.0 if literal else C * (1 - eta) ** (part.stop - 1 - met)
            assert abs(a.sum()) <= left + 1e-9


def test_all_policies_are_the_same_until_a_buffer_is_full():
    X, y = clouds(60, 3)
    unlimited = KOIL(None, gamma=0.7).partial_fit(X, y, classes=[-1, 1])
    for replacement in POLICIES:
        model = KOIL(60, replacement, gamma=0.7, random_state=1).partial_fit(X, y, classes=[-1, 1])
        assert_same(model.dual_coef_, unlimited.dual_coef_)
        assert_same(model.decision_function(X), unlimited.decision_function(X))


@pytest.mark.parametrize("options", [{"budget": None}, {"replacement": "fifo"}, {"replacement": "fifo++"}])
def test_to_swap_the_classes_is_to_negate_the_scores(options):
    X, y = clouds(300, 4)
    one, other = (
        KOIL(**{"budget": 10, "gamma": 0.7} | options).partial_fit(X, s * y, [-1, 1]) for s in (1, -1)
    )
    assert_same(one.decision_function(X), -other.decision_function(X))


def test_fifo_keeps_the_most_recent_rows_of_each_class():
    X, y = clouds(300, 5)
    model = KOIL(10, "fifo", gamma=0.7, literal=True).partial_fit(X, y, classes=[-1, 1])
    recent = np.sort(np.concatenate([np.flatnonzero(y == c)[-10:] for c in (-1, 1)]))
    assert_same(buffers(model)[0], recent)


# --- the others --------------------------------------------------------------------------------------------


@property_test(30)
@given(SEEDS, BUDGETS, SIZES)
def test_what_forgetting_costs_is_bounded(seed, budget, sizes):
    X, y = clouds(150, seed)
    model = Forgetron(budget, gamma=0.7)
    for part in blocks(150, sizes):
        feed(model, X[part], y[part])
        assert 0 <= model.deviation_[0] <= 15 / 32 * model.n_mistakes_[0] + 1e-9
        assert np.all(np.abs(model.dual_coef_) <= 1)


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


def test_opauc_knows_mean_and_covariance_of_each_class():
    X, y = clouds(500, 11, features=4)
    model = OPAUC(0.01).partial_fit(X[:200], y[:200], classes=[-1, 1]).partial_fit(X[200:], y[200:])
    state = model._native.get_state()
    for side, label in enumerate((-1, 1)):
        np.testing.assert_allclose(state[f"mean_0_{side}"], X[y == label].mean(axis=0), atol=1e-12)
        spread = state[f"spread_0_{side}"].reshape(4, 4)
        np.testing.assert_allclose(spread, np.cov(X[y == label].T, bias=True), atol=1e-12)


def test_reservoirs_of_oam_hold_rows_of_their_class_from_all_of_the_stream():
    X, y = clouds(4000, 12, features=2)
    state = OAM(200, random_state=0).partial_fit(X, y, classes=[-1, 1])._native.get_state()
    number = {tuple(row): at for at, row in enumerate(X)}
    for side, label in enumerate((-1, 1)):
        rows = [number[tuple(row)] for row in state[f"kept_0_{side}"].reshape(-1, 2)]
        assert len(set(rows)) == 200
        assert np.all(y[rows] == label)
        assert np.mean(rows) == pytest.approx(2000, abs=4 * 4000 / np.sqrt(12 * 200))


@pytest.mark.parametrize("cls", [RBP, Forgetron, BudgetKernelPerceptron])
def test_budgets_that_are_not_reached_leave_the_kernel_perceptron(cls):
    X, y = three_clouds(400, 3)
    plain = KernelPerceptron(gamma=0.7).partial_fit(X, y, classes=np.unique(y))
    model = cls(400, gamma=0.7).partial_fit(X, y, classes=np.unique(y))
    assert_same(model.dual_coef_, plain.dual_coef_)
    assert_same(model.decision_function(X), plain.decision_function(X))
