"""The same rows in whatever they come: one result, bit for bit where the arithmetic is the same."""

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from everlearn import LASVM
from everlearn._base.kernels import NAMES
from svm.lasvm_helpers import (
    assert_same,
    assert_same_model,
    in_blocks,
    kernel_matrix,
    snapshot,
    three_clouds,
    two_clouds,
    without_rivals,
)


def sparse_clouds(share=0.2, dtype=np.float64, shift=0.0, data=two_clouds):
    """Wide rows of which only a share of the entries is not zero."""
    X, y = data(300, 120)
    kept = np.random.default_rng(1).random(X.shape) < share
    return np.where(kept, X + shift, 0).astype(dtype), y


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def with_int64_indices(X):
    X = sparse.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted_with_duplicates(X):
    """CSR with descending columns, every entry in two halves; halves of floating numbers are exact."""
    X = sparse.csr_matrix(X)
    parts = [X[row] for row in range(X.shape[0])]
    data = np.concatenate([np.repeat(part.data[::-1] / 2, 2) for part in parts])
    indices = np.concatenate([np.repeat(part.indices[::-1], 2) for part in parts])
    return sparse.csr_matrix((data, indices, 2 * X.indptr), shape=X.shape)


def with_explicit_zeros(X):
    return sparse.csr_matrix(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), X.shape[1] * np.arange(len(X) + 1))
    )


FORMATS = {
    "fortran": np.asfortranarray,
    "every other row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns of a larger array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "reversed twice": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "int64 indices": with_int64_indices,
    "unsorted with duplicates": unsorted_with_duplicates,
    "explicit zeros": with_explicit_zeros,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_model_bit_for_bit(name, dtype):
    X, y = sparse_clouds(0.4, dtype)
    given = FORMATS[name](X)
    untouched = deepcopy(given)
    plain = LASVM(gamma=0.2, random_state=0).fit(X, y)
    other = LASVM(gamma=0.2, random_state=0).fit(given, y)
    assert_same_model(plain, other)
    assert_same(plain.decision_function(X), other.decision_function(given))
    assert_same(plain.decision_function(X), plain.decision_function(given))
    if sparse.issparse(given):
        assert_same(untouched.tocsr(), given.tocsr())
        np.testing.assert_array_equal(other.support_vectors_.toarray(), plain.support_vectors_)
        assert other.support_vectors_.format == "csr"
    else:
        np.testing.assert_array_equal(untouched, given)
        assert_same(other.support_vectors_, plain.support_vectors_)


def test_lists_are_float64_and_integers_too():
    X, y = two_clouds(80)
    X = np.round(X * 8)
    plain = LASVM(gamma=0.01, random_state=0).fit(X, y)
    for given in (X.tolist(), X.astype(np.int32), X.astype(object), X.astype(">f8")):
        assert_same(snapshot(LASVM(gamma=0.01, random_state=0).fit(given, y.tolist())), snapshot(plain))


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])  # stored sparse, and dense although it came sparse
def test_sparse_is_dense_bit_for_bit(share, kernel, gamma, data):
    if kernel == "sigmoid" and gamma != 0.3:
        return  # not positive definite there, which says nothing about the storage
    for dtype in (np.float32, np.float64):
        X, y = sparse_clouds(share, dtype, data=data)
        options = {"kernel": kernel, "gamma": 0.005 if kernel == "sigmoid" else gamma, "random_state": 0}
        dense = LASVM(**options).fit(X, y)
        other = LASVM(**options).fit(sparse.csr_array(X), y)
        assert dense._machine.spec["layout"] == ("sparse" if share == 0.1 else "dense")
        assert_same(dense._machine.spec["gamma"], other._machine.spec["gamma"])
        assert_same_model(dense, other)
        assert_same(dense.decision_function(X), other.decision_function(sparse.csr_matrix(X)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_bit_for_bit_for_rows_far_from_the_origin(dtype):
    X, y = sparse_clouds(1.0, dtype, shift=5.0)
    dense = LASVM(gamma=0.1, random_state=0).fit(X, y)
    assert_same_model(dense, LASVM(gamma=0.1, random_state=0).fit(sparse.csr_matrix(X), y))


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_blocks_may_be_dense_or_sparse_and_of_either_precision_in_turn(share):
    X, y = sparse_clouds(share)
    X = X.astype(np.float32).astype(np.float64)  # exact in both
    plain = in_blocks(LASVM(gamma=0.2), X, y, 60, [0, 1])
    mixed = LASVM(gamma=0.2)
    formats = [
        np.asarray,
        sparse.csr_matrix,
        np.asfortranarray,
        sparse.csr_array,
        lambda X: X.astype(np.float32),
    ]
    for block, form in enumerate(formats):
        part = slice(60 * block, 60 * block + 60)
        mixed.partial_fit(form(X[part]), y[part], classes=[0, 1])
    assert_same_model(plain, mixed)


def test_precision_is_that_of_the_first_block():
    X, y = two_clouds()
    single = LASVM(random_state=0).fit(X.astype(np.float32), y)
    assert single.support_vectors_.dtype == np.float32
    assert LASVM(random_state=0).fit(X, y).support_vectors_.dtype == np.float64
    double = LASVM(random_state=0, epochs=3).fit(X, y).decision_function(X)
    single = LASVM(random_state=0, epochs=3).fit(X.astype(np.float32), y).decision_function(X)
    np.testing.assert_allclose(single, double, rtol=0, atol=0.01)


# Labels and names.


@pytest.mark.parametrize(
    "labels", [["no", "yes"], [7, -2], [0.0, 1.0], [False, True], np.array(["b", "a"], object)]
)
def test_any_two_labels(labels):
    X, y = two_clouds()
    given = np.asarray(labels)[y]
    model = LASVM(random_state=0).fit(X, given)
    assert_same(model.classes_, np.unique(given))
    assert_same(model.predict(X).dtype, given.dtype)
    second = given == model.classes_[1]
    np.testing.assert_array_equal(model.predict(X) == model.classes_[1], model.decision_function(X) > 0)
    assert np.mean((model.decision_function(X) > 0) == second) > 0.8
    online = LASVM().partial_fit(X, given, classes=labels[::-1])
    assert online.classes_.tolist() == model.classes_.tolist()
    assert online.score(X, given) > 0.8


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_bring_feature_names(frame):
    X, y = two_clouds(features=3)
    named = frame(dict(zip(("north", "east", "up"), X.T, strict=True)))
    model = LASVM(random_state=0).fit(named, y)
    assert_same_model(model, LASVM(random_state=0).fit(X, y))
    assert model.feature_names_in_.tolist() == ["north", "east", "up"]
    assert_same(model.decision_function(named), LASVM(random_state=0).fit(X, y).decision_function(X))
    before = snapshot(model)
    swapped = named[["east", "north", "up"]]
    for call in (model.predict, model.decision_function, lambda X: model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(swapped)
    assert_same(snapshot(model), before)
    model.partial_fit(named, y)
    online = LASVM().partial_fit(named[:100], y[:100], classes=[0, 1]).partial_fit(named[100:], y[100:])
    assert online.feature_names_in_.tolist() == ["north", "east", "up"]


def test_labels_and_weights_may_come_in_series():
    X, y = two_clouds()
    weight = np.linspace(0.5, 2, 200)
    plain = LASVM(random_state=0).fit(X, y, weight)
    for series in (pd.Series, pl.Series, list):
        assert_same_model(LASVM(random_state=0).fit(X, series(y), series(weight)), plain)


# What must not matter.


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("selection", ["random", "active"])
def test_threads_do_not_matter(data, selection):
    X, y = data(1500, 20)
    options = {"C": 3, "gamma": 0.05, "selection": selection, "random_state": 0, "max_iter": 700, "epochs": 2}
    one, two = (LASVM(n_jobs=jobs, **options).fit(X, y) for jobs in (1, 2))
    assert_same(snapshot(one)["machine"], snapshot(two)["machine"])
    assert_same(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("finishing", [None, "kept"])
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_the_cache_size_does_not_matter(data, finishing):
    X, y = data(700, 8)
    options = {"C": 3, "gamma": 0.1, "random_state": 0, "epochs": 2, "finishing": finishing}
    large = LASVM(**options).fit(X, y)
    for megabytes in (0.001, 0.1, 1):
        small = LASVM(cache_size=megabytes, **options).fit(X, y)
        assert small.n_kernel_evaluations_ > large.n_kernel_evaluations_
        assert_same_model(small, large)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_block_sizes_do_not_matter_where_no_step_has_a_rival(size):
    X, y, weight = without_rivals(30, seed=13)
    whole = LASVM(C=0.005, gamma=0.05).partial_fit(X, y, classes=[-1, 1], sample_weight=weight)
    parts = LASVM(C=0.005, gamma=0.05)
    for start in range(0, 30, size):
        part = slice(start, start + size)
        parts.partial_fit(X[part], y[part], classes=[-1, 1], sample_weight=weight[part])
    np.testing.assert_array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-9)


def test_block_sizes_lead_to_equally_good_models():
    X, y = two_clouds(500, 6)
    K = kernel_matrix("rbf", X, gamma=0.1)
    duals = []
    for size in (1, 50, 128, 500):
        model = in_blocks(LASVM(C=2, gamma=0.1), X, y, size, [0, 1]).finish()
        alpha = np.zeros(500)
        alpha[model.support_] = model.dual_coef_[0]
        duals.append(np.abs(alpha).sum() - 0.5 * alpha @ K @ alpha)
    assert max(duals) < 1.03 * min(duals)


# The slower door.


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_callable_and_precomputed_kernels_equal_the_native_one(data):
    X, y = data(200)
    K = kernel_matrix("rbf", X, gamma=0.3)
    options = {"C": 2, "random_state": 0, "epochs": 6, "tol": 1e-5}
    native = LASVM(gamma=0.3, **options).fit(X, y)
    called = LASVM(kernel=lambda a, b: kernel_matrix("rbf", a, b, gamma=0.3), **options).fit(X, y)
    given = LASVM(kernel="precomputed", **options).fit(K, y)
    np.testing.assert_array_equal(called.support_vectors_, X[called.support_])
    assert given.support_vectors_.shape == (0, 0)
    for other, rows in ((called, X), (given, K)):
        assert set(other.support_) == set(native.support_)
        np.testing.assert_array_equal(other.n_support_, native.n_support_)
        np.testing.assert_allclose(
            other.decision_function(rows), native.decision_function(X), rtol=0, atol=1e-3
        )
    assert_same_model(called, given)


@pytest.mark.parametrize("selection", ["random", "gradient", "active", "autoactive"])
def test_foreign_kernels_with_exact_values_take_the_native_path_bit_for_bit(selection):
    X, y = two_clouds(300)
    X = np.round(3 * X)  # so that products are integers, in single precision too
    options = {"C": 0.1, "random_state": 0, "selection": selection}
    called = LASVM(kernel=lambda a, b: a @ b.T, **options).fit(X, y)
    given = LASVM(kernel="precomputed", **options).fit(X @ X.T, y)
    assert_same_model(called, given)
    if selection == "random":  # the other rules draw from a generator of the core
        assert_same_model(called, LASVM(kernel="linear", **options).fit(X, y))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_callable_kernel_gets_rows_as_they_came_and_learns_online(form):
    X, y = sparse_clouds(0.3)
    asked = []

    def kernel(a, b):
        asked.append((type(a), type(b), a.shape[1]))
        return a @ b.T

    model = in_blocks(LASVM(kernel=kernel), form(X), y, 70, [0, 1]).finish()
    assert set(asked) == {(type(form(X)), type(form(X)), 120)}
    native = in_blocks(LASVM(kernel="linear", reserve=0), X, y, 70, [0, 1]).finish()
    np.testing.assert_array_equal(model.support_, native.support_)
    np.testing.assert_allclose(model.decision_function(form(X)), native.decision_function(X), atol=1e-5)
    assert model.predict(form(X)).tolist() == native.predict(X).tolist()


def test_a_precomputed_kernel_learns_online_and_predicts_new_rows():
    X, y = two_clouds(300)
    X = np.round(3 * X)
    K = X @ X[:200].T
    online = in_blocks(LASVM(kernel="precomputed", C=0.1), K[:200], y[:200], 40, [0, 1])
    native = in_blocks(LASVM(kernel="linear", C=0.1), X[:200], y[:200], 40, [0, 1])
    assert online.n_features_in_ == 200
    assert_same_model(online, native)
    np.testing.assert_allclose(online.decision_function(K[200:]), native.decision_function(X[200:]))
