"""KOIL: published figures, its replacement policies, bounds on coefficients, the threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds
from budget.golden_helpers import every_size, learn, squared_norm
from budget.native_helpers import KOILS, POLICIES, SIZES, blocks, buffers, feed, kept_by_class, pair
from everlearn import KOIL
from property_helpers import property_test
from svm.lasvm_helpers import assert_same


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


@property_test(20)
@given(SEEDS, st.sampled_from(KOILS), BUDGETS, SIZES)
def test_the_threshold_of_koil_is_halfway_between_the_kept_rows_of_the_classes(seed, name, budget, sizes):
    X, y = clouds(50, seed)
    native, twin = pair(name, "rbf", budget, seed)
    for part in blocks(len(y), sizes):
        feed(native, X[part], y[part])
        twin.run(X[part], y[part])
        middle = 0.0
        if all(len(twin.kept[c]) for c in (1, -1)):
            middle = np.mean([twin.decide(twin.kept[c].X).mean() for c in (1, -1)])
        np.testing.assert_allclose(native.intercept_, [-middle], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(native.decision_function(X), twin.decide(X) - middle, rtol=0, atol=1e-5)


@pytest.mark.parametrize("replacement", ["rs++", "rs", "fifo++", "fifo"])
def test_more_neighbors_than_the_budget_are_all_of_them(replacement):
    rows, labels = clouds(200, 1)
    few, many = (
        KOIL(5, replacement, k, gamma=0.7, random_state=0).partial_fit(rows, labels, classes=[-1, 1])
        for k in (5, 1000)
    )
    assert_same(few.decision_function(rows), many.decision_function(rows))


KOIL_FIGURES = [  # parameters; kept rows; AUC; scores; sums of the coefficients; squared norm
    (
        {"replacement": "fifo++"},
        (20, 20),
        0.9752,
        (-0.828241, 0.199611, 0.138461),
        (10.197110, -10.195128),
        30.505452,
    ),
    (
        {"replacement": "fifo"},
        (20, 20),
        0.9807,
        (-0.216931, 0.411048, 0.101628),
        (6.441534, -3.119777),
        6.571516,
    ),
    (
        {"budget": None},
        (77, 137),
        0.9994,
        (-0.640117, -0.677782, -0.629688),
        (11.423714, -11.421733),
        9.578216,
    ),
    (
        {"replacement": "fifo++", "literal": True, "neighbors_of": "all"},
        (20, 20),
        0.9889,
        (-0.514653, -0.096871, -0.755703),
        (6.261753, -6.261753),
        8.831169,
    ),
]


@every_size
@pytest.mark.parametrize(("options", "kept", "area", "scores", "sums", "norm2"), KOIL_FIGURES)
def test_published_figures(options, kept, area, scores, sums, norm2, size):
    usual = {"budget": 20, "n_neighbors": 5, "C": 4.0, "learning_rate": 0.01, "gamma": 1}
    model = learn(KOIL(**usual | options), area, scores, size)
    assert kept_by_class(model).tolist() == [list(kept)]
    a = model.dual_coef_[0]
    np.testing.assert_allclose([a[a > 0].sum(), a[a < 0].sum()], sums, rtol=0, atol=1e-5)
    assert squared_norm(model) == pytest.approx(norm2, abs=1e-4)
