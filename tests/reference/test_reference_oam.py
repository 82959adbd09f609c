"""The NumPy OAM: its pairwise steps, its reservoirs, and edge cases."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, NO_LIMIT, SEEDS, Draws, clouds, streams
from property_helpers import property_test
from reference.oam import ReferenceOAM


@property_test(100)
@given(streams(), BUDGETS | st.just(NO_LIMIT), st.floats(0.01, 10), SEEDS)
def test_after_every_row(stream, budget, C, seed):
    """The reservoirs hold rows of their class; every pair with a loss makes a passive-aggressive step."""
    X, y = stream
    model = ReferenceOAM(X.shape[1], C, budget, np.random.default_rng(seed).integers)
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True), 1):
        w, others = model.w, model.kept[-label].copy()
        model.learn(x, label)
        cost = C * max(1, np.sum(y[:t] == -label) / budget)
        for other in others:
            g = label * (x - other)
            loss = max(0, 1 - w @ g)
            if g.any():
                step = min(cost, loss / (g @ g))
                w = w + step * g
                assert step == cost or w @ g >= 1 - 1e-9 * (1 + np.abs(w) @ np.abs(g))
        np.testing.assert_allclose(model.w, w, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.kept[-label], others)
        for c in (1, -1):
            assert len(model.kept[c]) == min(budget, np.sum(y[:t] == c)) == min(budget, model.n[c])
            assert all((X[:t][y[:t] == c] == row).all(axis=1).any() for row in model.kept[c])


def test_a_reservoir_is_a_uniform_sample_of_its_class():
    left = Counter()
    for draws in product(range(3), range(4), range(5), range(6)):
        below = Draws(*draws)
        model = ReferenceOAM(1, 1.0, 2, below).run(np.arange(6.0)[:, None], np.ones(6))
        assert below.asked == [3, 4, 5, 6]
        left[tuple(sorted(model.kept[1].ravel().astype(int)))] += 1
    assert len(left) == 15
    assert set(left.values()) == {360 // 15}


def test_a_newcomer_takes_the_place_of_the_row_it_replaces():
    """Places matter: the pairs of a row are gone through in their order."""
    model = ReferenceOAM(1, 1.0, 3, Draws(1, 4)).run(np.arange(5.0)[:, None], np.ones(5))
    assert model.kept[1].ravel().tolist() == [0, 3, 2]


@property_test(60)
@given(SEEDS, BUDGETS)
def test_without_a_cap_the_last_pair_is_in_order(seed, budget):
    X, y = clouds(40, seed, features=3)
    model = ReferenceOAM(3, 1e9, budget, np.random.default_rng(seed).integers)
    for x, label in zip(X, y.tolist(), strict=True):
        model.learn(x, label)
        if len(model.kept[-label]):
            assert model.w @ (label * (x - model.kept[-label][-1])) >= 1 - 1e-6


@property_test(40)
@given(streams(), BUDGETS, SEEDS)
def test_other_labels_the_other_sign(stream, budget, seed):
    X, y = stream
    model, mirror = (
        ReferenceOAM(X.shape[1], 0.3, budget, np.random.default_rng(seed).integers).run(X, labels)
        for labels in (y, -y)
    )
    np.testing.assert_array_equal(mirror.w, -model.w)


def test_one_class_and_identical_rows_teach_nothing():
    X, _ = clouds(30, 0)
    assert not ReferenceOAM(2, 1.0, 40).run(X, np.ones(30)).w.any()
    assert not ReferenceOAM(2, 1.0, 40).run(np.ones((6, 2)), [1, -1, 1, -1, 1, -1]).w.any()


def test_it_learns_to_rank():
    X, y = clouds(2000, 0, features=4, apart=1.0, share=0.1)
    w = ReferenceOAM(4, 1e-4, 50, np.random.default_rng(0).integers).run(X, y).w
    assert w[0] / np.linalg.norm(w) == pytest.approx(1, abs=0.05)
