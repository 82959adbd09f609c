"""LASVM-G and its relatives forget: beside the slow twin, and what must hold on any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import FullSVM
from property_helpers import property_test
from svm.lasvm_helpers import coefficients, three_clouds, without_rivals
from svm.test_lasvm_g import MODES, column, learner_of, twin_of
from svm.test_lasvm_properties import costs, problems


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [64, 300])
def test_equal_to_the_twin_that_forgets(mode, size):
    X, y, weight = without_rivals(300, seed=3)
    y = y * np.where(np.arange(300) % 9 == 4, -1, 1)
    C, options = 3 * weight, {"min_support": 30, "clean_every": 40, "max_idle": 10}
    twin = twin_of(mode, rbf_kernel(X, gamma=0.5), y, C, **options)
    model = learner_of(mode, 3, gamma=0.5, **options)
    rng = np.random.default_rng(0)
    for start in range(0, 300, size):
        block = slice(start, start + size)
        for k in range(300)[block]:
            met = [C[: k + 1][y[: k + 1] == label] for label in (-1, 1)]  # what is to come is not known
            twin.largest_cost = max(costs.mean() for costs in met if len(costs))
            twin.visit(k)
        model.partial_fit(X[block], y[block], classes=[-1, 1], sample_weight=weight[block])
        gone = [row for row in twin.S if rng.random() < 0.3]
        twin.forget(gone)
        model.forget(gone)
        assert sorted(column(model, 300)[0]) == sorted(twin.S) == sorted(model._machine.native.ids)
        np.testing.assert_allclose(coefficients(model, 300)[0], twin.alpha, rtol=0, atol=1e-4)
        assert model.duality_gap_[0] == pytest.approx(twin.gap(), rel=1e-3, abs=1e-3)
    np.testing.assert_allclose(model.decision_function(X), twin.decision(twin.K), rtol=0, atol=1e-4)


@pytest.mark.parametrize("mode", MODES)
@property_test(25)
@given(problems(), st.sampled_from([-1.0, 0.0]), st.sampled_from([0, 4]), st.data())
def test_invariants_after_forgetting(mode, problem, s, min_support, data):
    K, y, weight = problem
    n, C = len(y), costs(y, weight)
    options = {"s": s, "min_support": min_support, "clean_every": 4, "max_idle": 2, "class_weight": weight}
    model = learner_of(mode, 1.0, kernel="precomputed", **options)
    model.partial_fit(K, y, classes=[-1, 1])
    kept = model._machine.native.kept_ids.tolist()
    gone = data.draw(st.lists(st.sampled_from(kept), unique=True)) if kept else []
    model.forget(gone)
    rows, alpha, g, edge = column(model, n)
    assert set(kept) - set(gone) == set(rows)
    assert not set(model._machine.native.ids) & set(gone)
    np.testing.assert_allclose(g[rows], (y - K @ alpha)[rows], atol=1e-9 * (1 + np.abs(K).max() * C.max()))
    assert (np.minimum(edge, 0) <= alpha).all()
    assert (alpha <= np.maximum(edge, 0)).all()
    up, down = np.maximum(edge, 0) - alpha, alpha - np.minimum(edge, 0)
    gap = up @ np.maximum(0, g) + down @ np.maximum(0, -g)
    assert model.duality_gap_[0] == pytest.approx(gap, rel=1e-9, abs=1e-9)


def test_several_classes_forget_on_shared_rows():
    X, y = three_clouds(150)
    model = FullSVM(2.0, gamma=0.3, tol=1e-5, finishing="kept").partial_fit(
        X, y, classes=["ash", "oak", "yew"]
    )
    gone, rest = np.arange(0, 150, 3), np.setdiff1d(np.arange(150), np.arange(0, 150, 3))
    never = FullSVM(2.0, gamma=0.3, tol=1e-5).partial_fit(X[rest], y[rest], classes=["ash", "oak", "yew"])
    model.forget(gone)
    np.testing.assert_allclose(
        model.decision_function(X), never.finish().decision_function(X), rtol=0, atol=1e-3
    )
    assert np.array_equal(np.sort(model._machine.native.ids), rest)
