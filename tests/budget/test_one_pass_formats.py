"""One-pass learners take the same rows in whatever they come, and learn the same; weights; several epochs."""

from copy import deepcopy
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from budget.budget_helpers import clouds
from budget.native_helpers import (
    KERNEL_LEARNERS,
    KOILS,
    LEARNERS,
    LINEAR,
    ONE_SET,
    PROJECTRONS,
    buffers,
    kept_of,
    make,
    pair,
    raw_scores,
)
from everlearn import (
    KOIL,
    NORMA,
    OAM,
    OPAUC,
    RBP,
    Forgetron,
    KernelPA,
    KernelPerceptron,
    Projectron,
    ProjectronPP,
)
from reference.kept_rows import KeptRows
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    assert_same_model,
    in_blocks,
    kernel_matrix,
    learned,
    three_clouds,
    two_clouds,
)

all_learners = pytest.mark.parametrize("cls", LEARNERS)
kernel_learners = pytest.mark.parametrize("cls", KERNEL_LEARNERS)


def assert_learned_the_same(a, b):
    """Bit for bit; the rows may be stored otherwise."""
    if type(a) in LINEAR:
        assert_same(a._native.get_state(), b._native.get_state())
    else:
        assert_same_model(a, b)
        for ours, theirs in zip(buffers(a), buffers(b), strict=True):
            assert_same(ours, theirs)
        assert_same(a.n_mistakes_, b.n_mistakes_)


def wide(share, dtype=np.float64, data=three_clouds):
    """Rows of 120 features of which only a share is not zero, as long as rows of unit length or shorter."""
    X, y = data(300, 120)
    X = np.where(np.random.default_rng(1).random(X.shape) < share, X, 0)
    return (X / max(1.0, np.linalg.norm(X, axis=1).max())).astype(dtype), y


# --- formats -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "kernel"),
    [*product(KERNEL_LEARNERS, ["linear", "poly", "rbf"]), *((cls, "none") for cls in LINEAR)],
)
@pytest.mark.parametrize("share", [0.1, 0.6])  # stored sparse, and dense although it came sparse
def test_sparse_is_dense_bit_for_bit(cls, kernel, share):
    for dtype in (np.float32, np.float64):
        X, y = wide(share, dtype)
        dense, other = make(cls, kernel=kernel), make(cls, kernel=kernel)
        for part in (slice(0, 170), slice(170, 300)):
            dense.partial_fit(X[part], y[part], classes=["ash", "oak", "yew"])
            other.partial_fit(sparse.csr_array(X[part]), y[part], classes=["ash", "oak", "yew"])
        assert_learned_the_same(dense, other)
        scores = dense.decision_function(X), other.decision_function(sparse.csr_matrix(X))
        if cls in LINEAR:  # products of NumPy and of SciPy
            np.testing.assert_allclose(*scores, rtol=0, atol=1e-6 if dtype == np.float32 else 1e-12)
        else:
            assert_same(*scores)


@all_learners
def test_single_precision(cls):
    X, y = wide(1.0)
    X = X[:, :6]
    double, single = make(cls, gamma=5.0), make(cls, gamma=5.0)
    for part in (slice(0, 170), slice(170, 300)):
        double.partial_fit(X[part].astype(np.float32).astype(float), y[part], classes=["ash", "oak", "yew"])
        single.partial_fit(X[part].astype(np.float32), y[part], classes=["ash", "oak", "yew"])
    f, g = double.decision_function(X), single.decision_function(X.astype(np.float32))
    if cls in LINEAR:  # they reckon in double precision, whatever comes
        assert_same(single.coef_, double.coef_)
        np.testing.assert_allclose(g, f, rtol=0, atol=1e-6)
    else:
        assert_same(single.n_mistakes_, double.n_mistakes_)
        assert_same(single.support_, double.support_)
        assert single.support_vectors_.dtype == np.float32
        np.testing.assert_allclose(g, f, rtol=0, atol=1e-4)


@all_learners
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_bring_feature_names(cls, frame):
    X, y = two_clouds(120, 3)
    X /= np.linalg.norm(X, axis=1).max()
    names = ["north", "east", "up"]
    named = frame(dict(zip(names, X.T, strict=True)))
    model = make(cls).partial_fit(named[:70], y[:70], classes=[0, 1]).partial_fit(named[70:], y[70:])
    assert_learned_the_same(model, in_blocks(make(cls), X, y, 70, [0, 1]))
    assert model.feature_names_in_.tolist() == names
    for call in (model.predict, model.decision_function, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(named[["east", "north", "up"]])


@all_learners
def test_any_labels_and_the_order_of_classes_does_not_matter(cls):
    X, y = two_clouds(120, 3)
    X /= np.linalg.norm(X, axis=1).max()
    plain = make(cls).partial_fit(X, y, classes=[0, 1])
    for labels in (["no", "yes"], [False, True], [-2, 7], np.array(["a", "b"], object)):
        other = make(cls).partial_fit(X, np.asarray(labels)[y], classes=labels[::-1])
        assert_learned_the_same(other, plain)
        assert other.predict(X).tolist() == np.asarray(labels)[plain.predict(X)].tolist()


@kernel_learners
def test_threads_do_not_matter(cls):
    X, y = three_clouds(900, 10)
    one, two = (make(cls, n_jobs=jobs, budget=40, gamma=0.1).fit(X, y) for jobs in (1, 2))
    assert_same(learned(one), learned(two))
    assert_same(one.decision_function(X), two.decision_function(X))


@kernel_learners
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_callable_and_precomputed_kernels_equal_the_native_one(cls, data):
    X, y = data(300)
    K = kernel_matrix("rbf", X, gamma=0.7)
    native, called, given = (
        make(cls, kernel=kernel)
        for kernel in ("rbf", lambda a, b: kernel_matrix("rbf", a, b, gamma=0.7), "precomputed")
    )
    for part in (slice(0, 50), slice(50, 300)):
        for model, rows in ((native, X), (called, X), (given, K)):
            model.partial_fit(rows[part], y[part], classes=np.unique(y))
    for other, rows in ((called, X), (given, K)):
        assert_same(other.support_, native.support_)
        assert_same(other.n_mistakes_, native.n_mistakes_)
        scores = other.decision_function(rows), native.decision_function(X)
        np.testing.assert_allclose(*scores, rtol=1e-5, atol=1e-5 * np.abs(scores[1]).max())
    np.testing.assert_array_equal(called.support_vectors_, X[called.support_])


@kernel_learners
def test_a_callable_kernel_takes_sparse_rows_and_may_return_a_sparse_matrix(cls):
    X, y = wide(0.3)
    called, native = make(cls, kernel=lambda a, b: a @ b.T), make(cls, kernel="linear")
    for part in (slice(0, 150), slice(150, 300)):
        for model in (called, native):
            model.partial_fit(sparse.csr_array(X[part]), y[part], classes=["ash", "oak", "yew"])
    assert_same(called.support_, native.support_)
    scores = [model.decision_function(sparse.csr_array(X)) for model in (called, native)]
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-5 * max(1, np.abs(scores[1]).max()))


# --- weights -----------------------------------------------------------------------------------------------


@all_learners
def test_rows_of_weight_zero_are_left_out(cls):
    X, y = three_clouds(200, 3)
    weight = np.where(np.arange(200) % 3, 1.0, 0.0)
    some = make(cls).partial_fit(X, y, classes=np.unique(y), sample_weight=weight)
    some.partial_fit(X, y, sample_weight=np.zeros(200))
    none = make(cls).partial_fit(X[weight > 0], y[weight > 0], classes=np.unique(y))
    assert some.n_iter_ == none.n_iter_ == np.count_nonzero(weight)
    assert_same(some.decision_function(X), none.decision_function(X))
    if cls in LINEAR:
        assert_learned_the_same(some, none)
    else:
        assert_same(some.dual_coef_, none.dual_coef_)
        assert_same(some.support_, np.flatnonzero(weight)[none.support_])


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [(KernelPA, "C", 0.25), (KOIL, "C", 0.5), (OAM, "C", 0.1), (OPAUC, "learning_rate", 0.005)],
)
def test_a_weight_multiplies_the_cost_or_the_step(cls, name, value):
    X, y = three_clouds(200, 3)
    weighted = make(cls, **{name: value}).partial_fit(X, y, np.unique(y), sample_weight=np.full(200, 2.0))
    assert_learned_the_same(weighted, make(cls, **{name: 2 * value}).partial_fit(X, y, np.unique(y)))


@pytest.mark.parametrize("weight", [0.5, 3.0])
def test_the_weight_of_a_row_is_its_coefficient_and_the_bias_of_norma_follows(weight):
    X, y, weights = np.eye(4), np.array([0, 1, 0, 1]), np.full(4, weight)
    for cls in (KernelPerceptron, RBP, Forgetron, Projectron, ProjectronPP):
        model = make(cls, kernel="linear").partial_fit(X, y, [0, 1], sample_weight=weights)
        assert model.dual_coef_.tolist() == [[-weight, weight, -weight, weight]]
    model = NORMA(learning_rate=0.25, alpha=0, kernel="linear", fit_intercept=True, rho=10)
    model.partial_fit(X, y, [0, 1], sample_weight=[weight, weight, 2 * weight, weight])
    assert (4 * model.dual_coef_).tolist() == [[-weight, weight, -2 * weight, weight]]
    assert (4 * model.intercept_).tolist() == [-weight]


@pytest.mark.parametrize("cls", [cls for cls in KERNEL_LEARNERS if cls is not KOIL])
def test_weights_of_classes_multiply_those_of_rows(cls):
    X, y = two_clouds(200, 3)
    weight = np.random.default_rng(0).uniform(0.5, 2, 200)
    both = make(cls, class_weight={1: 3.0}).partial_fit(X, y, [0, 1], sample_weight=weight)
    by_hand = make(cls).partial_fit(X, y, [0, 1], sample_weight=weight * np.where(y, 3.0, 1.0))
    assert_learned_the_same(both, by_hand)
    assert np.any(both.decision_function(X) != make(cls).partial_fit(X, y, [0, 1]).decision_function(X))


# --- several epochs ----------------------------------------------------------------------------------------


class Merging(KeptRows):
    """A row that is kept already is not kept twice: it gets the sum of its coefficients."""

    def append(self, x, a, born=0):
        same = np.flatnonzero((self.X.reshape(-1, len(x)) == x).all(axis=1))
        if len(same):
            self.a[same[0]] += a
        else:
            super().append(x, a, born)


class MergingRBP(Merging):
    """And nobody need go for it."""

    def learn(self, x, y):
        budget = self.budget
        if x.tolist() in self.X.tolist():
            self.budget = np.inf
        super().learn(x, y)
        self.budget = budget


def merging(twin, name):
    if name.startswith("koil"):
        for rows in twin.kept.values():
            rows.__class__ = Merging
    else:
        merges = MergingRBP if name == "rbp" else Merging
        twin.__class__ = type("MergingTwin", (merges, type(twin)), {})
    return twin


@pytest.mark.parametrize("name", [*ONE_SET, *KOILS])
def test_a_row_that_is_kept_is_not_kept_twice(name):
    X, y = clouds(200, seed=8)
    native, twin = pair(name, "rbf", 5, seed=4)
    native.set_params(epochs=3, random_state=InOrder(4)).fit(X, y)
    merging(twin, name)
    for _ in range(3):
        twin.run(X, y)
    assert native.n_iter_ == 600
    rows, a = kept_of(twin)
    assert_same(np.sort(buffers(native)[0]), np.sort(rows % 200))
    assert len(set(rows % 200)) == native.n_kept_
    expected = {row: value for row, value in zip(rows % 200, a, strict=True) if value != 0}
    found = dict(zip(native.support_, native.dual_coef_[0], strict=True))
    tolerance = 1e-4 if name in PROJECTRONS else 1e-5  # of coefficients of rows that are nearly dependent
    assert found == pytest.approx(expected, rel=0, abs=tolerance * np.abs(a).max())
    if name in ("vote", "mean"):  # these must tell the first addition to a row from the second
        twin = pair(name, "rbf", 5)[1]
        for _ in range(3):
            twin.run(X, y)
    f = twin.decide(X)
    np.testing.assert_allclose(raw_scores(native, X), f, rtol=0, atol=1e-5 * max(1, np.abs(f).max()))


@all_learners
def test_fit_draws_an_order_and_is_the_same_for_the_same_random_state(cls):
    X, y = three_clouds(200, 3)
    first, again, other = (make(cls, random_state=seed, epochs=2).fit(X, y) for seed in (1, 1, 2))
    assert_learned_the_same(first, again)
    assert np.any(first.decision_function(X) != other.decision_function(X))
    forgotten = deepcopy(other).set_params(random_state=1).fit(X, y)
    assert_learned_the_same(forgotten, first)
