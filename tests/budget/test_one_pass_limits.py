"""What one-pass learners promise for streams without an end: budgets, memory, sums and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds
from budget.native_helpers import (
    KERNEL_LEARNERS,
    ON_A_BUDGET,
    POLICIES,
    SIZES,
    blocks,
    buffers,
    feed,
    kept_by_class,
    make,
    raw_scores,
)
from everlearn import KOIL, NORMA, OAM, OPAUC, RBP, BudgetKernelPerceptron, Forgetron
from property_helpers import property_test
from svm.lasvm_helpers import three_clouds

on_a_budget = pytest.mark.parametrize("cls", ON_A_BUDGET)


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
