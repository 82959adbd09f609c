"""The compiled kernel learners are their plain twins: the same rows kept, the same scores, block by block.

Blocks of rows are learned with look-ahead, 128 rows at most, and rows that left a buffer are swept up now and
then: streams here are long enough for both, budgets so small that a row leaves nearly every time.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds
from budget.native_helpers import (
    KERNELS,
    KOILS,
    ONE_SET,
    REPEATABLE,
    SIZES,
    assert_agrees,
    at_length_1,
    blocks,
    buffers,
    feed,
    grid,
    pair,
    raw_scores,
    repeats,
)
from property_helpers import property_test
from reference.generator import ReferenceGenerator
from svm.lasvm_helpers import three_clouds


def learn_both(name, kernel, X, y, budget, sizes, seed):
    """A learner and its twin learn block by block, and agree after each of them."""
    if name == "forgetron" and kernel != "rbf":
        X = at_length_1(X)
    native, twin = pair(name, kernel, budget, seed)
    for part in blocks(len(y), sizes):
        feed(native, X[part], y[part])
        twin.run(X[part], y[part])
        assert_agrees(native, twin, X[:40])
    assert native.n_iter_ == len(y)
    return native


# --- the draws ---------------------------------------------------------------------------------------------


def test_the_generator_is_that_of_its_authors():
    """By hand, from the state 1, 2, 3, 4: rotl(2 · 5, 7) · 9, then rotl(0 · 5, 7) · 9, and so on."""
    draws = ReferenceGenerator([1, 2, 3, 4])
    assert [draws.next() for _ in range(4)] == [11520, 0, 1509978240, 1215971899390074240]


def test_draws_of_the_generator_are_uniform_and_normal():
    draws = ReferenceGenerator.of(0)
    counts = np.bincount([draws.below(5) for _ in range(5000)])
    assert np.all(np.abs(counts - 1000) < 150)
    z = draws.normals(5000)
    assert abs(z.mean()) < 0.06
    assert abs(z.std() - 1) < 0.04
    assert np.mean(np.abs(z) < 1) == pytest.approx(0.6827, abs=0.03)


# --- short streams -----------------------------------------------------------------------------------------

every_learner = pytest.mark.parametrize("name", [*ONE_SET, *KOILS])


@every_learner
def test_row_by_row(name):
    """The score of each row before it is learned, and all that is kept after it."""
    X, y = clouds(40, seed=5)
    native, twin = pair(name, "rbf", 3, seed=11)
    for row in range(40):
        if row:
            np.testing.assert_allclose(raw_scores(native, X[[row]]), [twin.decide(X[row])], atol=1e-5)
        feed(native, X[[row]], y[[row]])
        twin.learn(X[row], int(y[row]))
        assert_agrees(native, twin, X)


@every_learner
@property_test(10)
@given(SEEDS, st.sampled_from(sorted(KERNELS)), BUDGETS, st.integers(2, 4), SIZES)
def test_any_blocks(name, seed, kernel, budget, features, sizes):
    learn_both(name, kernel, *clouds(60, seed, features), budget, sizes, seed)


@pytest.mark.parametrize("name", REPEATABLE)
@property_test(6)
@given(SEEDS, BUDGETS, st.integers(1, 3), SIZES)
def test_rows_that_come_again_and_contradict_themselves(name, seed, budget, features, sizes):
    learn_both(name, "rbf", *repeats(60, seed, features), budget, sizes, seed)


@pytest.mark.parametrize("name", ["perceptron", "vote", "mean", "worst", "rbp"])
@property_test(10)
@given(SEEDS, st.sampled_from(["linear", "poly"]), BUDGETS, SIZES)
def test_scores_that_are_exactly_zero(name, seed, kernel, budget, sizes):
    """On a grid sums of linear kernels are exact, and 0 is a mistake."""
    learn_both(name, kernel, *grid(60, seed), budget, sizes, seed)


# --- long streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[700], [1, 129, 127, 128, 2, 256]], ids=str)
@every_learner
def test_many_blocks_of_look_ahead(name, sizes):
    X, y = clouds(700, seed=3, features=3)
    native = learn_both(name, "rbf", X, y, 4, sizes, seed=9)
    if "budget" in native.get_params() and name != "projectron":
        assert native._machine.native.size < 300  # rows that left were swept up


@pytest.mark.parametrize("name", [name for name in REPEATABLE if "literal" not in name])
def test_many_rows_that_come_again(name):
    learn_both(name, "rbf", *repeats(400, seed=4, features=3), 5, [150, 250], seed=2)


# --- what may change, and what must not matter -------------------------------------------------------------

CHANGES = [  # learner; parameters that change in mid-stream; what the twin calls them
    ("pa", {"C": 0.05}, {"C": 0.05}),
    ("worst", {"margin": 0.5}, {"beta": 0.5}),
    ("worst", {"budget": 9}, {"budget": 9}),
    ("rbp", {"budget": 9}, {"budget": 9}),
    ("forgetron", {"budget": 9}, {"budget": 9}),
    ("norma", {"budget": 9}, {"budget": 9}),
    ("norma", {"learning_rate": 0.1, "alpha": 0.5}, {"eta": 0.1, "lambda_": 0.5}),
    ("norma", {"rho": 0.2}, {"rho": 0.2}),
    ("norma, nu", {"nu": 0.8}, {"nu": 0.8}),
    ("projectron", {"max_projection_error": 0.6}, {"eta": 0.6}),
    ("projectron, full", {"budget": 9}, {"budget": 9}),
    ("koil rs++", {"learning_rate": 0.3}, {"eta": 0.3}),
    ("koil rs++", {"C": 0.3}, {"C": 0.3}),
    ("koil rs++", {"n_neighbors": 1}, {"n_neighbors": 1}),
    ("koil rs++", {"budget": 9}, {"budget": {1: 9, -1: 9}}),
    ("koil rs++", {"replacement": "fifo"}, {"replacement": "fifo"}),
    ("koil fifo", {"literal": True}, {"bootstrap": False, "keep_zeros": True}),
    ("koil fifo", {"neighbors_of": "all"}, {"nearest": "all"}),
]


@pytest.mark.parametrize(
    ("name", "ours", "theirs"), CHANGES, ids=[f"{name} {ours}" for name, ours, _ in CHANGES]
)
def test_parameters_that_change_hold_from_the_next_row_on(name, ours, theirs):
    X, y = clouds(300, seed=1, features=3)
    native, twin = pair(name, "rbf", 4, seed=3)
    feed(native, X[:150], y[:150])
    twin.run(X[:150], y[:150])
    native.set_params(**ours)
    vars(twin).update(theirs)
    feed(native, X[150:], y[150:])
    assert_agrees(native, twin.run(X[150:], y[150:]), X[:40])


@pytest.mark.parametrize("name", ["perceptron", "forgetron", "norma", "projectron, full", "koil rs++"])
def test_rows_far_from_the_origin(name):
    X, y = clouds(200, seed=1, features=3)
    learn_both(name, "rbf", X + 1000, y, 4, [70, 130], seed=3)


@pytest.mark.parametrize("name", [*ONE_SET, *KOILS])
def test_each_class_is_learned_against_the_rest(name):
    """Each with a buffer and draws of its own, although a row that several keep is stored once."""
    X, y = three_clouds(200, 3)
    native, _ = pair(name, "rbf", 4, seed=6)
    twins = [pair(name, "rbf", 4, seed=6, column=column)[1] for column in range(3)]
    for part in blocks(len(y), [1, 30, 140]):
        feed(native, X[part], y[part], ["ash", "oak", "yew"])
        for column, (label, twin) in enumerate(zip(native.classes_, twins, strict=True)):
            twin.run(X[part], np.where(y[part] == label, 1, -1))
            assert_agrees(native, twin, X[:40], column=column)
    rows = np.concatenate(buffers(native))
    assert native.n_kept_ == len(set(rows.tolist()))
    scores = native.decision_function(X)
    np.testing.assert_array_equal(native.predict(X), native.classes_[scores.argmax(axis=1)])
