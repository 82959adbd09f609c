"""What LASVM promises about formats, kernels and state holds for the learners made for noisy labels, too."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

import everlearn
from everlearn import RampSVM
from svm.lasvm_helpers import (
    assert_same,
    assert_same_model,
    in_blocks,
    kernel_matrix,
    learned,
    snapshot,
    three_clouds,
    two_clouds,
)
from svm.noise_helpers import ATTRIBUTES, all_learners, learn, make, noisy, online_learners

# --- formats -----------------------------------------------------------------------------------------------

FORMATS = {
    "fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "list": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
}


@all_learners
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0.15, 0.6])  # stored sparse, and dense although it came sparse
def test_every_format_gives_the_same_model_bit_for_bit(cls, dtype, share):
    X, y = noisy(features=60)
    X = np.where(np.random.default_rng(1).random(X.shape) < share, X, 0).astype(dtype)
    plain = make(cls, gamma=0.1).fit(X, y)
    for name, form in FORMATS.items():
        given = form(X)
        if isinstance(given, pd.DataFrame):
            given.columns = [f"x{i}" for i in range(60)]
        if name in ("list", "polars") and dtype == np.float32:
            continue  # both are read as float64
        other = make(cls, gamma=0.1).fit(given, y)
        assert_same_model(plain, other)
        assert_same(plain.decision_function(X), other.decision_function(given))


@online_learners
def test_blocks_may_be_dense_or_sparse_and_of_either_precision_in_turn(cls):
    X, y = noisy()
    X = X.astype(np.float32).astype(np.float64)  # exact in both
    plain, mixed = in_blocks(make(cls), X, y, 50, [0, 1]), make(cls)
    for block, form in enumerate((np.asarray, sparse.csr_matrix, np.float32, sparse.csr_array)):
        part = slice(50 * block, 50 * block + 50)
        mixed.partial_fit(form(X[part]), y[part], classes=[0, 1])
    assert_same_model(plain, mixed)


@all_learners
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_bring_feature_names(cls, frame):
    X, y = noisy(features=3)
    named = frame(dict(zip(("north", "east", "up"), X.T, strict=True)))
    model = make(cls).fit(named, pd.Series(y))
    assert_same_model(model, make(cls).fit(X, y))
    assert model.feature_names_in_.tolist() == ["north", "east", "up"]
    before = snapshot(model)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(named[["east", "north", "up"]])
    assert_same(snapshot(model), before)


@all_learners
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_threads_and_cache_do_not_matter(cls, data):
    X, y = noisy(data, 900, 10)
    plain = make(cls, gamma=0.05, n_jobs=1).fit(X, y)
    threads, cramped = (
        make(cls, gamma=0.05, n_jobs=2).fit(X, y),
        make(cls, gamma=0.05, cache_size=0.01).fit(X, y),
    )
    assert_same(learned(plain), learned(threads))
    assert_same(plain.decision_function(X), threads.decision_function(X))
    assert_same_model(plain, cramped)


# --- kernels -----------------------------------------------------------------------------------------------


@all_learners
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_foreign_kernels_with_exact_values_are_the_native_one(cls, data, kernel):
    X, y = noisy(data)
    X = np.round(2 * X)  # kernel values are integers, in single precision too
    options = {"gamma": 1.0, "coef0": 1.0, "degree": 2}

    def values(a, b):
        return kernel_matrix(kernel, a, b, **options)

    native = make(cls, 0.01, kernel=kernel, **options).fit(X, y)
    called = make(cls, 0.01, kernel=values).fit(X, y)
    given = make(cls, 0.01, kernel="precomputed").fit(values(X, X), y)
    assert_same_model(called, given)
    assert_same_model(called, native)
    np.testing.assert_allclose(given.decision_function(values(X, X)), native.decision_function(X), atol=1e-6)


# --- state -------------------------------------------------------------------------------------------------

STREAMS = {
    "plain": ({}, noisy),
    "float32": ({}, lambda: (noisy()[0].astype(np.float32), noisy()[1])),
    "classes": ({}, lambda: noisy(three_clouds)),
    "sparse": (
        {"gamma": 0.05},
        lambda: (np.where(noisy(features=80)[0] > 1.3, 1.0, 0.0), noisy(features=80)[1]),
    ),
    "weights": ({"class_weight": {0: 1.0, 1: 2.5}, "s": 0.0}, noisy),
    "matrix": ({"kernel": "precomputed"}, lambda: (kernel_matrix("rbf", noisy()[0], gamma=0.3), noisy()[1])),
}


@all_learners
@pytest.mark.parametrize("name", STREAMS)
def test_saved_pickled_and_copied_learners_go_on_bit_for_bit(cls, name, tmp_path):
    options, data = STREAMS[name]
    X, y = data()
    model = learn(make(cls, **options), X, y, 0, None if cls is RampSVM else 110)
    everlearn.save(model, tmp_path / "model")
    copies = [everlearn.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), deepcopy(model)]
    for copy in copies:
        assert type(copy) is cls
        assert_same(snapshot(copy), snapshot(model))
        assert_same(copy.decision_function(X), model.decision_function(X))
        for known in ATTRIBUTES:
            assert hasattr(copy, known) == hasattr(model, known), known
            value = np.asarray(getattr(model, known, 0), float)
            np.testing.assert_allclose(np.asarray(getattr(copy, known, 0), float), value, rtol=1e-12)
    for one in (model, *copies):
        learn(one, X, y, 110, 200)
        if hasattr(one, "finish"):
            one.finish()
    for copy in copies:
        assert_same(learned(copy), learned(model))
        assert_same(copy.decision_function(X), model.decision_function(X))


@all_learners
def test_a_clone_has_the_parameters_and_nothing_else(cls):
    X, y = noisy()
    model = make(cls).fit(X, y)
    bare = clone(model)
    assert bare.get_params() == model.get_params()
    assert not hasattr(bare, "support_")
    assert not any(hasattr(bare, name) for name in ATTRIBUTES)
    assert_same(learned(bare.fit(X, y)), learned(model))
    assert_same(learned(model.fit(X, y)), learned(bare))  # what was learned before does not shine through


@all_learners
def test_asking_changes_nothing(cls):
    X, y = noisy()
    model = learn(make(cls), X, y)
    before = snapshot(model)
    for _ in range(2):
        model.predict(X), model.decision_function(X[:3]), model.score(X, y), repr(model)
        for name in dir(model):
            if name.endswith("_") and not name.endswith("__"):
                getattr(model, name)
    assert_same(snapshot(model), before)
