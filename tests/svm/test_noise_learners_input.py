"""What LASVM promises about refusals and hard data holds for the learners made for noisy labels, too."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from everlearn import LASVMG, LASVMI, LASVMNC, FullSVM, OnlineSVMR, RampSVM
from everlearn._base.kernels import NAMES
from svm.lasvm_helpers import (
    InOrder,
    assert_same,
    assert_same_model,
    coefficients,
    in_blocks,
    learned,
    refused,
    snapshot,
    two_clouds,
)
from svm.noise_helpers import RAMPS, all_learners, learn, make, noisy, online_learners

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
    assert_same(learned(model), learned(untouched))


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
        with pytest.raises(ValueError, match="first call of partial_fit needs classes"):
            make(cls).partial_fit(X, y)
    assert_same(snapshot(model), snapshot(untouched))


BAD_PARAMETERS = [
    ("C", 0), ("C", np.nan), ("tol", 0), ("tol", "small"), ("gamma", -1), ("kernel", "RBF"), ("epochs", 0),
    ("epochs", 1.5), ("cache_size", 0), ("n_jobs", 0), ("s", 1e-9), ("s", 1.0), ("s", np.nan), ("s", np.inf),
    ("s", "-1"), ("s", None), ("min_support", -1), ("min_support", 0.5), ("clean_every", 0), ("max_idle", -1),
    ("clean_every", None), ("max_idle", 2.5), ("min_gain", 0), ("min_gain", np.inf), ("variant", "exact"),
    ("max_iter", -2), ("finishing", "no"), ("class_weight", "balance"), ("row_dtype", "float64"),
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
@pytest.mark.parametrize("kernel", NAMES)
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
            outcomes.add("learned")
    assert outcomes == {"refused", "learned"}


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
    if cls in (FullSVM, LASVMG):  # the hinge follows the majority; a ramp may stay with what it learned first
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
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=100)
