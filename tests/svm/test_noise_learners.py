"""What LASVM promises about input, state and refusals holds for the learners made for noisy labels, too."""

import pickle
import subprocess
import sys
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import everlearn
from everlearn import LASVMG, LASVMI, LASVMNC, FullSVM, OnlineSVMR, RampSVM
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    assert_same_model,
    coefficients,
    in_blocks,
    kernel_matrix,
    learnt,
    refused,
    snapshot,
    three_clouds,
    two_clouds,
)

ALL = [FullSVM, LASVMG, LASVMNC, LASVMI, OnlineSVMR, RampSVM]
ONLINE = ALL[:-1]
RAMPS = [LASVMNC, LASVMI, OnlineSVMR, RampSVM]
all_learners = pytest.mark.parametrize("cls", ALL)
ATTRIBUTES = ["duality_gap_", "objective_", "objectives_", "n_outliers_", "n_skipped_", "n_kept_"]
online_learners = pytest.mark.parametrize("cls", ONLINE)


def make(cls, C=2.0, **options):
    """A learner with those of the options that its class has; small data must meet the ramp, too."""
    wanted = {
        "gamma": 0.3,
        "random_state": 0,
        "min_support": 15,
        "clean_every": 40,
        "max_idle": 20,
        **options,
    }
    known = cls().get_params()
    return cls(C, **{name: value for name, value in wanted.items() if name in known})


def noisy(data=two_clouds, n=200, features=4, share=0.1):
    """Clouds, the labels of some rows moved to another class."""
    X, y = data(n, features)
    wrong = np.random.default_rng(7).random(n) < share
    classes = np.unique(y)
    other = classes[(np.searchsorted(classes, y) + 1) % len(classes)]
    return X, np.where(wrong, other, y)


def learn(model, X, y, start=0, stop=None, size=30):
    """`partial_fit` in blocks where there is one, else `fit`."""
    if not hasattr(model, "partial_fit"):
        return model.fit(X[:stop], y[:stop])
    return in_blocks(model, X[start:stop], y[start:stop], size, np.unique(y))


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
    assert_same(learnt(plain), learnt(threads))
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
        assert_same(learnt(copy), learnt(model))
        assert_same(copy.decision_function(X), model.decision_function(X))


@all_learners
def test_a_clone_has_the_parameters_and_nothing_else(cls):
    X, y = noisy()
    model = make(cls).fit(X, y)
    bare = clone(model)
    assert bare.get_params() == model.get_params()
    assert not hasattr(bare, "support_")
    assert not any(hasattr(bare, name) for name in ATTRIBUTES)
    assert_same(learnt(bare.fit(X, y)), learnt(model))
    assert_same(learnt(model.fit(X, y)), learnt(bare))  # what was learnt before does not shine through


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


# --- refusals ----------------------------------------------------------------------------------------------


def spoilt(value):
    X, _ = noisy(n=20)
    X[3, 1] = value
    return X


BAD_ROWS = {
    "nan": (spoilt(np.nan), "NaN"),
    "infinity": (spoilt(np.inf), "infinity"),
    "too few features": (noisy(n=20)[0][:, :2], "features"),
    "too many features": (np.hstack([noisy(n=20)[0]] * 2), "features"),
    "no rows": (np.zeros((0, 4)), "0 sample"),
    "overflow": (np.full((20, 4), 1e200), "overflow"),
    "one dimension": (np.zeros(20), "2D array"),
    "words": (np.full((20, 4), "a"), "convert|numeric"),
}


@all_learners
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused_and_change_nothing(cls, name):
    X, y = noisy()
    model, untouched = (learn(make(cls), X, y, 0, 100) for _ in range(2))
    rows, words = BAD_ROWS[name]
    labels = (np.arange(20) % 2)[: len(rows)]
    calls = [lambda: model.predict(rows), lambda: model.decision_function(rows)]
    calls += [lambda: model.partial_fit(rows, labels)] if hasattr(model, "partial_fit") else []
    calls += [] if words == "features" else [lambda: model.fit(rows, labels)]
    for call in calls:
        with refused(model, words):
            call()
    for one in (model, untouched):
        learn(one, X, y, 100, 200)
    assert_same(learnt(model), learnt(untouched))


@all_learners
def test_bad_labels_and_weights_are_refused_and_change_nothing(cls):
    X, y = noisy()
    model, untouched = (learn(make(cls), X, y, 0, 100) for _ in range(2))
    for labels, words in ((np.ones(200), "of classes"), (y[:-1], "inconsistent"), (X[:, 0], "ontinuous")):
        with refused(model, words):
            model.fit(X, labels)
    for weight, words in ((np.nan, "NaN"), (-1.0, "[Nn]egative"), (np.inf, "infinity")):
        with refused(model, words):
            model.fit(X, y, sample_weight=np.full(200, weight))
    if cls is not RampSVM:
        for labels, words in ((y + 5, "not in"), (y.astype(str), "not in"), (y[:-1], "inconsistent")):
            with refused(model, words):
                model.partial_fit(X, labels)
        with refused(model, "differs from the classes"):
            model.partial_fit(X, y, classes=[0, 1, 2])
        with pytest.raises(ValueError, match="classes must be given"):
            make(cls).partial_fit(X, y)
        with pytest.raises(ValueError, match="needs all labels at once"):
            make(cls, class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    assert_same(snapshot(model), snapshot(untouched))


BAD_PARAMETERS = [
    ("C", 0), ("C", np.nan), ("tol", 0), ("tol", "small"), ("gamma", -1), ("kernel", "RBF"), ("epochs", 0),
    ("epochs", 1.5), ("cache_size", 0), ("n_jobs", 0), ("s", 1e-9), ("s", 1.0), ("s", np.nan), ("s", np.inf),
    ("s", "-1"), ("s", None), ("min_support", -1), ("min_support", 0.5), ("clean_every", 0), ("max_idle", -1),
    ("clean_every", None), ("max_idle", 2.5), ("min_gain", 0), ("min_gain", np.inf), ("variant", "exact"),
    ("max_iter", -2), ("finishing", "no"), ("class_weight", "balance"),
]  # fmt: skip


@all_learners
def test_bad_parameters_are_refused_by_name(cls):
    X, y = noisy(n=40)
    model = learn(make(cls), X, y)
    known = model.get_params()
    for name, value in [(name, value) for name, value in BAD_PARAMETERS if name in known]:
        model.set_params(**{name: value})
        for method in ("fit", "partial_fit"):
            if hasattr(model, method):
                with refused(model, f"parameter '{name}' of {cls.__name__} must be .*, got "):
                    getattr(model, method)(X, y)
        model.set_params(**{name: known[name]})


# --- odd and hard data -------------------------------------------------------------------------------------


@all_learners
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
def test_numbers_of_any_size_make_a_finite_model_or_a_clear_refusal(cls, kernel):
    X, y = noisy(n=60, features=3)
    outcomes = set()
    for exponent in (-300, -150, -18, 0, 2, 30, 150, 300):
        model = make(cls, kernel=kernel, gamma="scale")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X * 10.0**exponent, y)
        except ValueError as error:
            outcomes.add("refused" if "scale the features" in str(error) else str(error))
        else:
            assert np.isfinite(model.decision_function(X * 10.0**exponent)).all()
            outcomes.add("learnt")
    assert outcomes == {"refused", "learnt"}


@all_learners
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("value", [0.0, 1.0, 10.0])
def test_constant_features_tell_nothing_and_break_nothing(cls, kernel, value):
    y = np.array([0, 1, 1, 0, 1] * 12)
    model = make(cls, kernel=kernel, gamma="scale").fit(np.full((60, 3), value), y)
    f = model.decision_function(np.full((3, 3), value))
    assert np.isfinite(f).all()
    assert np.ptp(f) == 0
    # Every row lies at the same place: a ramp may take either class for outliers, the hinge takes a vote.
    assert (value == 0 and kernel == "linear") or cls in (LASVMNC, LASVMI) or f[0] > 0
    assert np.all(np.abs(coefficients(model, 60)) <= 2.0)


@online_learners
def test_labels_flipped_in_mid_stream_are_survived(cls):
    X, y = two_clouds(1200, 3, apart=2.0)
    y = np.where(np.arange(1200) < 400, y, 1 - y)
    model = in_blocks(make(cls, 5.0, min_support=100, clean_every=300, max_idle=100), X, y, 50, [0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    assert np.all(np.abs(model.dual_coef_) <= 5.0)
    model.partial_fit(X[:50], y[:50])
    if cls in (FullSVM, LASVMG):  # the hinge follows the majority; a ramp may stay with what it learnt first
        assert np.mean(model.predict(X[400:]) == y[400:]) > 0.8


@online_learners
def test_one_class_so_far(cls):
    X, y = noisy()
    ones = X[y == 1]
    model = make(cls).partial_fit(ones, np.ones(len(ones), int), classes=[0, 1])
    assert np.isfinite(model.decision_function(X)).all()
    assert set(model.predict(ones)) == {1}
    if hasattr(model, "finish"):
        model.finish()
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert model.score(X, y) > 0.7


@pytest.mark.parametrize("cls", RAMPS)
def test_the_end_of_the_ramp(cls):
    X, y = two_clouds(300, apart=2.0)
    y[3::10] = 1 - y[3::10]
    options = {"min_support": 20, "random_state": InOrder(0), "C": 5.0}
    far, none = (make(cls, s=s, **options).fit(X, y) for s in (-1e6, -np.inf))
    assert_same_model(far, none)
    assert_same(far.decision_function(X), none.decision_function(X))
    for s in (-1, np.float32(-0.5), 0, -0.0):
        near = make(cls, s=s, **options).fit(X, y)
        assert len(near.support_) < len(none.support_)
        if s < 0 or cls is not OnlineSVMR:  # which at 0 may never learn the second class
            assert near.score(X, y) > 0.85


def test_large_rows_do_not_take_for_ever():
    """A linear kernel of rows not scaled has a huge cost and a gap that falls slowly: it must end."""
    program = """
import numpy as np
from everlearn import LASVMG
X = np.random.default_rng(0).standard_normal((60, 3))
y = (X[:, 0] + np.random.default_rng(1).standard_normal(60) > 0) * 1
LASVMG(2.0, kernel="linear").fit(1e8 * X, y)
LASVMG(2.0, kernel="linear").fit(np.full((60, 3), 1e4), y)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=10)
