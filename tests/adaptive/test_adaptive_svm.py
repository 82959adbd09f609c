"""AdaptiveSVM in a stream: classes that grow, odd rows and blocks, formats, probabilities, concept drift."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from adaptive.adaptive_helpers import as_sparse, bits, blobs, consistent, swap
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert, _voters
from everlearn.adaptive.experts import DEFAULT
from property_helpers import property_test

SVMS = [Expert("linear"), Expert("rbf", window=20), Expert("no-change")]
SVM = [place for place, expert in enumerate(DEFAULT) if expert.kernel != "no-change"]
LONG = [place for place in SVM if DEFAULT[place].window is None]
SHORT = [place for place in SVM if DEFAULT[place].window is not None]


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(_voters, "_TAU", 1e-6)


def in_blocks(learner, X, y, size, weight=None):
    for start in range(0, len(y), size):
        part = slice(start, start + size)
        learner.partial_fit(X[part], y[part], sample_weight=None if weight is None else weight[part])
    return learner


def uneven(n):
    """Weights with which the intercept of an SVM is a single number: no two rows have the same bound."""
    return np.random.default_rng(n).uniform(0.8, 1.3, n)


# --------------------------------------------------------------------------------------------------- classes


@pytest.mark.parametrize("names", [["a", "bb", "ccc"], [-5, 0, 70000], [2.0, 1.0, 3.0]], ids=str)
def test_names_of_classes_do_not_matter(names):
    X, y = blobs(90, 3)
    y[:40] = np.minimum(y[:40], 1)
    order = np.argsort(names)
    plain = in_blocks(AdaptiveSVM(experts=SVMS), X, np.argsort(order)[y], 15)
    named = in_blocks(AdaptiveSVM(experts=SVMS), X, np.array(names)[y], 15)
    np.testing.assert_array_equal(named.classes_, np.sort(names))
    assert named.classes_.dtype.kind == np.array(names).dtype.kind
    np.testing.assert_array_equal(named.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(named.predict(X), named.classes_[plain.predict(X)])


def test_truth_values_as_classes():
    X, y = blobs(60)
    learner = in_blocks(AdaptiveSVM(experts=SVMS), X, y.astype(bool), 7)
    assert learner.predict(X).dtype == bool
    np.testing.assert_array_equal(
        learner.decision_function(X), in_blocks(AdaptiveSVM(experts=SVMS), X, y, 7).decision_function(X)
    )


@pytest.mark.parametrize("renaming", [[0, 1, 2], [2, 0, 1], [1, 2, 0]], ids=str)
def test_the_order_in_which_classes_come_does_not_matter(exact, renaming):
    """The same stream under other names: columns change places, and nothing else changes."""
    X, y = blobs(80, 3)
    y[:20], y[20:40] = 0, np.minimum(y[20:40], 1)
    learner = in_blocks(AdaptiveSVM(experts=SVMS), X, y, 10, uneven(80))
    other = in_blocks(AdaptiveSVM(experts=SVMS), X, np.array(renaming)[y], 10, uneven(80))
    for method in ("decision_function", "predict_proba"):
        renamed = getattr(other, method)(X)[:, renaming]
        np.testing.assert_allclose(renamed, getattr(learner, method)(X), rtol=0, atol=1e-3)
    np.testing.assert_allclose(other.weights_, learner.weights_, rtol=0, atol=1e-3)


def test_classes_named_beforehand_are_known_and_never_predicted_before_they_come():
    X, y = blobs(60, 2)
    learner = AdaptiveSVM(experts=SVMS).partial_fit(X, y, classes=[0, 1, 2])
    assert learner.classes_.tolist() == [0, 1, 2]
    assert learner.decision_function(X).shape == (60, 3)
    assert (learner.predict(X) < 2).all()
    learner.partial_fit(X[:30] + 4, np.full(30, 2))
    assert np.mean(learner.predict(X[:30] + 4) == 2) > 0.9


def test_one_class_only_for_a_while():
    X, y = blobs(80)
    learner = AdaptiveSVM()
    for start in range(0, 20, 5):
        learner.partial_fit(X[start : start + 5], np.full(5, "only"))
        assert (learner.predict(X) == "only").all()
        np.testing.assert_array_equal(learner.decision_function(X), 0.0)
        np.testing.assert_array_equal(learner.predict_proba(X), 1.0)
        assert learner.support_.tolist() == []
        np.testing.assert_allclose(learner.weights_, 1 / len(DEFAULT))
    learner.partial_fit(X[20:], np.where(y[20:] > 0, "only", "other"))
    assert learner.score(X, np.where(y > 0, "only", "other")) > 0.75


# ------------------------------------------------------------------------------------------ odd rows, blocks


def test_blocks_of_every_size_learn_the_same_svms(exact):
    """How labels are judged depends on the blocks; what the SVMs learn does not.

    With these sizes the scale of rows is taken from all 128 of them at the end.
    """
    X, y = blobs(128, 3)
    learners = [AdaptiveSVM(experts=SVMS, scaling="none") for _ in range(4)]
    for learner, size in zip(learners, (1, 2, 32, 64), strict=True):
        in_blocks(learner, X, y, size, uneven(128))
    for learner in learners:
        assert learner.ids_.tolist() == list(range(128))
        assert consistent(learner)
    given = [learner._committee.given(X) for learner in learners]
    for other in given[1:]:
        np.testing.assert_allclose(other, given[0], rtol=0, atol=1e-3)


def test_rows_of_weight_zero_are_left_out():
    X, y = blobs(80, 3)
    weight = np.where(np.arange(80) % 3 == 1, 0.0, 1.0)
    learner, other = AdaptiveSVM(experts=SVMS), AdaptiveSVM(experts=SVMS)
    for start in range(0, 80, 16):
        part = slice(start, start + 16)
        used = np.flatnonzero(weight[part] > 0) + start
        learner.partial_fit(X[part], y[part], sample_weight=weight[part])
        other.partial_fit(X[used], y[used], ids=used)
    assert learner.ids_.tolist() == np.flatnonzero(weight).tolist()
    np.testing.assert_array_equal(learner.decision_function(X), other.decision_function(X))
    votes = learner.decision_function(X)
    learner.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5))
    np.testing.assert_array_equal(learner.decision_function(X), votes)
    assert learner.partial_fit(X[:1], y[:1]).ids_[-1] == 85  # they have used up their numbers


@pytest.mark.parametrize("odd", ["constant columns", "duplicates", "identical", "huge", "tiny", "offset"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_odd_rows(odd, method):
    X, y = blobs(100, noise=0.6)
    X = {
        "constant columns": np.column_stack([X, np.full(100, 1e9), np.zeros(100)]),
        "duplicates": np.vstack([X[:50], X[:50]]),
        "identical": np.ones((100, 4)),
        "huge": X * 1e200,
        "tiny": X * 1e-200,
        "offset": X + 1e9,
    }[odd]
    y = np.concatenate([y[:50], y[:50]]) if odd == "duplicates" else y
    learner = getattr(AdaptiveSVM(random_state=0), method)(X, y)
    scores = learner.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(learner.predict_proba(X)).all()
    assert np.isfinite(learner.weights_).all()
    if odd != "identical":
        assert learner.score(X, y) > 0.85
    assert consistent(learner.partial_fit(X[:20], y[:20]))


def test_rows_far_from_all_others_cost_a_bounded_number_of_steps():
    """Rounding errors of the linear kernel of such rows are above the tolerance: solving would never end."""
    random = np.random.default_rng(0)
    X = random.normal(size=(260, 5))
    y = (X[:, 0] > 0).astype(int)
    far = random.choice(60, 12, replace=False) + 200
    X[far], y[far] = 1000 * X[far], random.integers(0, 2, 12)
    learner = AdaptiveSVM(experts=[Expert("linear"), Expert("rbf")]).partial_fit(X[:200], y[:200])
    native = learner._committee.voters[0].machine.native
    for start in range(200, 260, 20):
        before = native.steps
        learner.partial_fit(X[start : start + 20], y[start : start + 20])
        assert native.steps - before < 80_000
    assert np.isfinite(learner.decision_function(X)).all()


def test_two_rows_are_enough():
    learner = AdaptiveSVM(random_state=0).partial_fit([[0.0], [1.0]], ["a", "b"])
    assert learner.predict([[-1.0], [2.0]]).tolist() == ["a", "b"]
    learner = AdaptiveSVM(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    assert learner.predict([[-1.0], [2.0]]).tolist() == ["a", "b"]


@property_test(15)
@given(
    st.lists(st.tuples(st.integers(1, 25), st.integers(0, 3)), min_size=1, max_size=6),
    st.integers(2, 40),
    st.integers(0, 10**6),
)
def test_any_stream_keeps_the_invariants(blocks, max_rows, seed):
    random = np.random.default_rng(seed)
    learner = AdaptiveSVM(experts=SVMS, max_rows=max_rows)
    for size, top in blocks:
        X, y = random.integers(-2, 3, (size, 3)).astype(float), random.integers(0, top + 1, size)
        learner.partial_fit(X, y)
        assert consistent(learner)
        proba = learner.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba >= 0).all()
        assert learner.weights_.sum() == pytest.approx(1.0)
        assert (learner.weights_ >= learner.fixed_share / 3).all()
        assert np.isin(learner.support_, learner.ids_).all()
        assert np.isin(learner.predict(X), learner.classes_).all()


# --------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("kind", ["float32", "list", "pandas", "polars", "fortran", "int"])
def test_formats_of_dense_rows(kind):
    X, y = blobs(60, 3)
    X = np.round(4 * X)
    names = list("abcd")
    convert = {
        "float32": lambda X: X.astype(np.float32),
        "list": lambda X: X.tolist(),
        "pandas": lambda X: pd.DataFrame(X, columns=names),
        "polars": lambda X: pl.DataFrame(X, schema=names),
        "fortran": np.asfortranarray,
        "int": lambda X: X.astype(np.int64),
    }[kind]
    plain, other = AdaptiveSVM(experts=SVMS), AdaptiveSVM(experts=SVMS)
    for part in (slice(0, 40), slice(40, 60)):
        plain.partial_fit(X[part], y[part])
        other.partial_fit(convert(X[part]), y[part])
    np.testing.assert_array_equal(other.decision_function(convert(X)), plain.decision_function(X))
    if kind in ("pandas", "polars"):
        assert other.feature_names_in_.tolist() == names


@pytest.mark.parametrize("features", [5, 150])
def test_sparse_rows_get_the_votes_of_dense_ones_that_are_not_scaled(exact, features):
    X, y = blobs(100, 3, features=features)
    X[np.random.default_rng(0).random(X.shape) < 0.85] = 0
    experts = [expert for expert in DEFAULT if not expert.relevance]  # which weights dense columns only
    dense = in_blocks(AdaptiveSVM(experts=experts, scaling="none"), X, y, 25, uneven(100))
    thin = in_blocks(AdaptiveSVM(experts=experts), as_sparse(X), y, 25, uneven(100))
    np.testing.assert_allclose(thin.predict_proba(X), dense.predict_proba(X), rtol=0, atol=2e-3)
    np.testing.assert_allclose(
        thin.decision_function(as_sparse(X)), thin.decision_function(X), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("first", ["dense", "sparse"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
def test_dense_and_sparse_rows_by_turns(exact, first, kind):
    X, y = blobs(80, 3)
    learner = AdaptiveSVM(experts=SVMS)
    for turn, start in enumerate(range(0, 80, 8)):
        part = slice(start, start + 8)
        thin = (turn % 2 == 0) == (first == "sparse")
        learner.partial_fit(kind(X[part]) if thin else X[part], y[part], sample_weight=uneven(80)[part])
    assert consistent(learner)
    plain = AdaptiveSVM(experts=SVMS, scaling="standard" if first == "dense" else "none")
    in_blocks(plain, X, y, 8, uneven(80))
    np.testing.assert_allclose(learner.predict_proba(X), plain.predict_proba(X), rtol=0, atol=2e-3)


# --------------------------------------------------------------------------------------------- probabilities


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_agree_with_predictions(n_classes):
    X, y = blobs(200, n_classes)
    learner = in_blocks(AdaptiveSVM(), X, y, 20)
    proba = learner.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(learner.classes_[proba.argmax(axis=1)], learner.predict(X))


def test_probabilities_are_better_calibrated_than_votes():
    """Noisy labels: the vote is too sure of itself."""
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 5))
    chance = 1 / (1 + np.exp(-1.5 * X[:, 0]))
    y = (random.random(1500) < chance).astype(int)
    learner = in_blocks(AdaptiveSVM(), X[:500], y[:500], 10)
    votes = 1 / (1 + np.exp(-4 * learner.decision_function(X[500:])))
    calibrated = learner.predict_proba(X[500:])[:, 1]
    error = [np.mean((p - chance[500:]) ** 2) for p in (votes, calibrated)]
    assert error[1] < 0.8 * error[0]
    assert error[1] < 0.03


# ----------------------------------------------------------------------------------------------------- drift


def test_short_memories_take_over_after_a_swap_and_long_ones_come_back():
    X, y = swap(1200, 400)
    learner = in_blocks(AdaptiveSVM(), X[:400], y[:400], 10)
    assert learner.weights_[LONG].sum() > 0.4
    assert np.mean(learner.predict(X[400:]) == y[400:]) < 0.1
    in_blocks(learner, X[400:450], y[400:450], 10)
    assert learner.weights_[SHORT].sum() > 0.9
    assert np.mean(learner.predict(X[450:]) == y[450:]) > 0.85
    fixed = AdaptiveSVM(experts=[Expert("rbf")])
    in_blocks(fixed, X[:450], y[:450], 10)
    assert np.mean(fixed.predict(X[450:]) == y[450:]) < 0.6
    learner.forget(np.arange(400))  # the old concept is known to be gone: the long ones are right again
    in_blocks(learner, X[450:], y[450:], 10)
    assert learner.weights_[LONG].sum() > 0.4


def test_a_lost_expert_comes_back_within_a_few_labels():
    X, y = swap(2000, 1000)
    experts = [Expert("linear"), Expert("no-change")]
    learner = in_blocks(AdaptiveSVM(experts=experts), X[:1000], y[:1000], 50)
    assert learner.weights_[0] > 0.98
    in_blocks(learner, X[1000:1100], np.ones(100, int), 10)  # one class after the other
    assert learner.weights_[1] > 0.9


# --------------------------------------------------------------------------------------------- bounded costs


def test_memory_does_not_grow_with_a_stream():
    random = np.random.default_rng(0)
    experts = [Expert("linear", window=30), Expert("rbf"), Expert("no-change")]
    learner = AdaptiveSVM(experts=experts, max_rows=60)

    def feed(count):
        for _ in range(count // 100):
            X = random.normal(size=(100, 3))
            learner.partial_fit(X, (X[:, 0] > 0).astype(int))

    feed(2000)
    size = len(bits(learner))
    tracemalloc.start()
    try:
        feed(1000)
        before = tracemalloc.get_traced_memory()[0]
        feed(17000)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 100_000
    assert len(bits(learner)) < 1.3 * size
    assert learner.n_kept_ <= 66
