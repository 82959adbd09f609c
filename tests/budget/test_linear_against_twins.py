"""The compiled OAM and OPAUC are their plain twins, draw for draw; and so is every class of several."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.budget_helpers import BUDGETS, SEEDS, clouds, property_test
from budget.native_helpers import KOILS, ONE_SET, SIZES, assert_agrees, blocks, buffers, feed, pair, repeats
from everlearn import OAM, OPAUC
from reference.generator import ReferenceGenerator
from reference.oam import ReferenceOAM
from reference.opauc import ReferenceOPAUC
from svm.lasvm_helpers import three_clouds

# --- OAM and OPAUC -----------------------------------------------------------------------------------------


def oam(features, budget, seed, C=0.3, column=0):
    below = ReferenceGenerator.of(seed, column).below
    return OAM(budget, C, random_state=seed), ReferenceOAM(features, C, budget, below)


def opauc(features, rank, seed, eta=0.05, column=0):
    """Rank 0 is the whole covariance."""
    normals = ReferenceGenerator.of(seed, column).normals
    native = OPAUC(eta, 0.01, rank=rank or "full", random_state=seed)
    return native, ReferenceOPAUC(features, eta, 0.01, rank or None, normals)


def learn_both(native, twin, X, y, sizes):
    """Learn block by block; weights agree after each, and the threshold lies halfway between the classes."""
    for part in blocks(len(y), sizes):
        feed(native, X[part], y[part])
        twin.run(X[part], y[part])
        np.testing.assert_allclose(native.coef_[0], twin.w, rtol=1e-9, atol=1e-12)
        assert native.n_iter_ == part.stop
    if min(twin.n.values()) == 0:
        assert native.intercept_.tolist() == [0.0]
        return
    means = twin.c if hasattr(twin, "c") else {c: twin.kept[c].mean(axis=0) for c in (1, -1)}
    middle = (twin.w @ means[1] + twin.w @ means[-1]) / 2
    np.testing.assert_allclose(native.intercept_, [-middle], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(native.decision_function(X), twin.decide(X) - middle, rtol=1e-9, atol=1e-11)


STREAMS = st.sampled_from([clouds, repeats])
FEATURES = st.integers(1, 6)


@property_test(60)
@given(SEEDS, STREAMS, FEATURES, BUDGETS, st.sampled_from([0.01, 0.3, 1000.0]), SIZES)
def test_oam(seed, stream, features, budget, C, sizes):
    learn_both(*oam(features, budget, seed, C), *stream(60, seed, features), sizes)


@property_test(60)
@given(SEEDS, STREAMS, FEATURES, st.integers(0, 4), SIZES)
def test_opauc(seed, stream, features, rank, sizes):
    learn_both(*opauc(features, rank, seed), *stream(60, seed, features), sizes)


def test_long_streams():
    X, y = clouds(6000, seed=1, features=3, share=0.1)  # more rows than go to the core at once
    for twins in (oam(3, 5, 3), opauc(3, 0, 3, 0.01), opauc(3, 2, 3, 0.01)):
        learn_both(*twins, X, y, [1, 4500, 1499])


def test_auto_is_the_whole_covariance_up_to_500_features():
    X, y = clouds(30, 0, 501)
    for width, rank in ((500, "full"), (501, 50)):
        auto, same = (
            OPAUC(1e-3, rank=r, random_state=0).partial_fit(X[:, :width], y, classes=[-1, 1])
            for r in ("auto", rank)
        )
        np.testing.assert_array_equal(auto.coef_, same.coef_)
        other = OPAUC(1e-3, rank=49, random_state=0).partial_fit(X[:, :width], y, classes=[-1, 1])
        assert np.any(auto.coef_ != other.coef_)


# --- KOIL's threshold --------------------------------------------------------------------------------------


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


# --- several classes ---------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "maker",
    [
        lambda c: oam(3, 4, 6, column=c),
        lambda c: opauc(3, 0, 6, column=c),
        lambda c: opauc(3, 2, 6, column=c),
    ],
    ids=["oam", "opauc", "sketch"],
)
def test_each_class_of_a_linear_learner_is_learned_against_the_rest(maker):
    X, y = three_clouds(200, 3)
    native = maker(0)[0].partial_fit(X, y, classes=["ash", "oak", "yew"])
    for column, label in enumerate(native.classes_):
        twin = maker(column)[1].run(X, np.where(y == label, 1, -1))
        np.testing.assert_allclose(native.coef_[column], twin.w, rtol=1e-9, atol=1e-12)
    scores = native.decision_function(X)
    np.testing.assert_array_equal(native.predict(X), native.classes_[scores.argmax(axis=1)])
