"""Forgetting on a budget: rows go with their coefficients, and what is left is the learner without them.

The plain twins take the same rows out. Streams are long enough for rows that linger after they left a buffer.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds
from budget.native_helpers import (
    KERNEL_LEARNERS,
    KERNELS,
    KOILS,
    ONE_SET,
    SIZES,
    assert_agrees,
    at_length_1,
    blocks,
    buffers,
    feed,
    kept_of,
    make,
    pair,
)
from everlearn import AveragedKernelPerceptron, Projectron, ProjectronPP
from property_helpers import property_test
from svm.lasvm_helpers import three_clouds


def forget_both(native, twin, share, rng):
    """Forget some of the rows that the twin keeps."""
    rows, _ = kept_of(twin)
    gone = rows[rng.random(len(rows)) < share]
    native.forget(gone)
    twin.forget(gone)


def learn_and_forget(name, kernel, X, y, budget, sizes, seed, share):
    if name == "forgetron" and kernel != "rbf":
        X = at_length_1(X)
    rng = np.random.default_rng(seed)
    native, twin = pair(name, kernel, budget, seed)
    for part in blocks(len(y), sizes):
        feed(native, X[part], y[part])
        twin.run(X[part], y[part])
        forget_both(native, twin, share, rng)
        assert_agrees(native, twin, X[:40])
    return native, twin


every_learner = pytest.mark.parametrize("name", [*ONE_SET, *KOILS])


@every_learner
@property_test(5)
@given(SEEDS, st.sampled_from(sorted(KERNELS)), BUDGETS, SIZES, st.sampled_from([0.1, 0.5, 1.0]))
def test_a_learner_is_its_twin_after_both_forgot(name, seed, kernel, budget, sizes, share):
    learn_and_forget(name, kernel, *clouds(60, seed, 3), budget, sizes, seed, share)


@every_learner
def test_long_streams_with_forgetting(name):
    learn_and_forget(name, "rbf", *clouds(500, 3, 3), 6, [1, 129, 70], 9, 0.2)


# --- the expansion that is left ----------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cls", KERNEL_LEARNERS)
def test_scores_are_those_of_the_expansion_without_the_rows(cls, classes):
    X, y = three_clouds(150)
    y = np.where(y == "yew", "oak", y) if classes == 2 else y
    model = make(cls, budget=20, gamma=0.3, kernel="rbf").partial_fit(X, y, classes=np.unique(y))
    before = model._machine.native.get_state()
    gone = model._machine.native.kept_ids[::3]
    model.forget(gone)
    left = ~np.isin(before["ids"], gone)
    alpha = before["alpha"][:, left]
    rows = before["ids"][left]
    assert not np.isin(model._machine.native.ids, gone).any()
    assert not np.isin(np.concatenate(buffers(model)), gone).any()
    if cls is AveragedKernelPerceptron:  # its scores are those of all rules it has had
        np.testing.assert_array_equal(model._machine.native.alpha, alpha)
        return
    values = np.exp(-0.3 * np.square(X[:, None] - X[rows]).sum(axis=2)).astype(np.float32)
    found = model.decision_function(X).reshape(len(X), -1) - model.intercept_
    np.testing.assert_allclose(found, values @ alpha.T, atol=1e-5)


# --- rows that linger, ids of the caller's ------------------------------------------------------------------


@pytest.mark.parametrize("cls", [cls for cls in KERNEL_LEARNERS if "budget" in cls().get_params()])
def test_a_dropped_row_that_lingers_can_be_forgotten_and_replaced(cls):
    X, y = clouds(60, 4, 3)
    model = make(cls, budget=3)
    model.partial_fit(X, y, classes=[-1, 1])
    for row in range(60):  # one at a time, so that rows which leave linger
        model.partial_fit(X[[row]] + 0.1, -y[[row]])
    lingering = np.setdiff1d(model._machine.native.ids, model._machine.native.kept_ids)
    if not len(lingering):
        assert cls in (Projectron, ProjectronPP)  # nothing ever leaves
        return
    scores = model.decision_function(X)
    model.forget(lingering[0])
    assert lingering[0] not in model._machine.native.ids
    assert np.array_equal(model.decision_function(X), scores)
    with pytest.raises(ValueError, match=f"keeps no row with the id {lingering[0]}"):
        model.forget(lingering[0])
    # Another row under the id of one that lingers: it must not be taken for the old one.
    far = X[[0]] + 9
    label = -np.sign(model.decision_function(far)).astype(int)
    model.partial_fit(far, np.where(label == 0, 1, label), ids=lingering[-1:])
    if lingering[-1] in model.support_:
        at = np.flatnonzero(model.support_ == lingering[-1])[0]
        np.testing.assert_allclose(model.support_vectors_[at], far[0])
    else:
        assert lingering[-1] not in model._machine.native.kept_ids
