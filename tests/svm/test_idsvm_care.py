"""The exact SVM and bad input: it is refused, and the machine is what it was, bit for bit."""

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

from everlearn import IDSVM
from svm.idsvm_helpers import rbf
from svm.idsvm_native_helpers import Refused, clouds_learned, known
from svm.lasvm_helpers import assert_same, two_clouds

# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        (60, ValueError, "no row with the id 60"),
        ([1, 2, 99], ValueError, "99"),
        (-1, ValueError, "-1"),
        ([3, 3], ValueError, "more than once"),
        ([1.0], TypeError, "integers"),
        (["a"], TypeError, "integers"),
        ([[1, 2]], TypeError, "one dimension"),
        ([True], TypeError, "integers"),
        (None, TypeError, "integers"),
        (np.array([2**63], dtype=np.uint64), ValueError, "64-bit"),
        ([np.iinfo(np.int64).min], ValueError, "64-bit"),
    ],
)
def test_ids_that_cannot_be_meant(ids, error, words):
    model = clouds_learned()
    with Refused(model, words, error):
        model.forget(ids)
    with Refused(model, words, error):
        model.relabel(ids, np.ones(np.size(ids), int))
    if error is TypeError and ids is not None:
        with Refused(model, "integers", error):
            model.partial_fit([[0.0, 0.0]], [1], ids=ids)
    model.forget(3)
    with Refused(model, "no row with the id 3"):
        model.forget(3)
    assert model.n_kept_ == 59


def test_ids_of_new_rows():
    model = clouds_learned()
    X, y = two_clouds(5, 2, seed=1)
    with Refused(model, "Duplicate id 7"):
        model.partial_fit(X, y, ids=[100, 101, 7, 102, 103])
    with Refused(model, "more than once"):
        model.partial_fit(X, y, ids=[100, 101, 100, 102, 103])
    with Refused(model, "each row"):
        model.partial_fit(X, y, ids=[100])
    model.forget(7).partial_fit(X, y, ids=[100, 101, 7, 102, -5])
    np.testing.assert_array_equal(model.ids_[-5:], [100, 101, 7, 102, -5])
    model.forget([7, -5])
    assert model.n_kept_ == 62
    model.forget([]).relabel([], [])
    assert model.n_kept_ == 62


def test_default_ids_go_on_where_the_rows_seen_ended():
    model = clouds_learned().forget([58, 59])
    X, y = two_clouds(3, 2, seed=1)
    np.testing.assert_array_equal(model.partial_fit(X, y).ids_[-3:], [60, 61, 62])
    model.partial_fit(X, y, ids=[66, 67, 68])
    with Refused(model, "66"):
        model.partial_fit(X, y)


def test_rows_of_weight_zero_are_not_kept():
    X, y = two_clouds(20, 2)
    weight = np.where(np.arange(20) % 4, 1.0, 0.0)
    model = IDSVM().partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    np.testing.assert_array_equal(model.ids_, np.flatnonzero(weight))
    with Refused(model, "no row with the id 4"):
        model.forget(4)


def test_labels_that_cannot_be():
    model = clouds_learned()
    for ids, y, words in (
        ([1, 2], [0], "label for each id"),
        (1, [0, 1], "label for each id"),
        ([1, 2], [0, 2], "2"),
        ([1], ["x"], None),
        ([1], [np.nan], None),
        ([1, 2], [[0, 1]], None),
    ):
        with Refused(model, words):
            model.relabel(ids, y)
    before = known(model)
    y = model.leave_one_out().labels
    model.relabel(np.arange(60), y)  # the labels that they have
    assert_same(known(model), before)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[np.nan, 0.0]], "NaN"),
        ([[np.inf, 0.0]], "infinity"),
        ([[1e200, 0.0]], "overflows"),
        ([[1.0, 2.0, 3.0]], "features"),
        ([1.0, 2.0], "2D"),
    ],
)
def test_rows_that_cannot_be_learned(X, words):
    for options in ({}, {"kernel": "linear"}, {"kernel": lambda a, b: a @ b.T}):
        if callable(options.get("kernel")) and words == "overflows":
            words = "3e38"
        model = clouds_learned(**options)
        with Refused(model, words):
            model.partial_fit(X, [1])
        model.partial_fit([[0.0, 0.0]], [1])


@pytest.mark.parametrize("window", [0, -3, 2.5, "ten", True])
def test_windows_that_cannot_be(window):
    model = clouds_learned()
    model.window = window
    for call in (
        lambda: model.partial_fit([[0.0, 0.0]], [1]),
        lambda: model.forget(1),
        lambda: model.relabel(1, 0),
        lambda: IDSVM(window=window).fit([[0.0], [1.0]], [0, 1]),
    ):
        with Refused(model, "window", (ValueError, TypeError)):
            call()


def test_nothing_works_before_rows_have_come():
    for call in ("forget", "leave_one_out", "relabel", "predict"):
        with pytest.raises((AttributeError, ValueError), match=r"not (fitted|learned)"):
            getattr(IDSVM(), call)(*{"leave_one_out": (), "relabel": ([0], [1])}.get(call, ([[0]],)))
    for name in ("ids_", "n_margin_", "objective_", "residual_", "n_refreshes_", "n_fallbacks_", "support_"):
        assert not hasattr(IDSVM(), name)


def test_constant_features_and_equal_rows():
    for kernel in ("linear", "rbf", "poly"):
        model = IDSVM(kernel=kernel, C=2.0).fit(np.ones((6, 3)), [0, 1, 0, 1, 1, 1])
        np.testing.assert_allclose(model.decision_function(np.ones((1, 3))), 1, atol=1e-7)
        model.forget([1, 3, 4])
        np.testing.assert_allclose(model.decision_function(np.ones((1, 3))), -1, atol=1e-7)
    zeros = IDSVM(kernel="linear").partial_fit(np.zeros((4, 2)), [0, 1, 1, 0], classes=[0, 1])
    np.testing.assert_allclose(zeros.decision_function(np.zeros((1, 2))), 0, atol=1e-12)


def test_long_rows():
    """Features of 1e8 under a linear kernel: the machine of the same rows in other units."""
    X, y = two_clouds(60, 2)
    small = IDSVM(kernel="linear", C=1.0).partial_fit(X, y, classes=[0, 1]).forget(np.arange(10))
    large = IDSVM(kernel="linear", C=1e-16).partial_fit(1e8 * X, y, classes=[0, 1]).forget(np.arange(10))
    np.testing.assert_allclose(
        large.decision_function(1e8 * X), small.decision_function(X), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kernel", ["rbf", "callable", "precomputed"])
def test_forgetting_everything_and_beginning_again(kernel):
    X, y = two_clouds(90, 2)
    rows = rbf(X, 0.5) if kernel == "precomputed" else X
    options = {"kernel": (lambda a, b: rbf(a, 0.5, b)) if kernel == "callable" else kernel, "gamma": 0.5}
    model = IDSVM(**options).partial_fit(rows, y, classes=[0, 1])
    model.forget(np.flatnonzero(y == 0))
    np.testing.assert_allclose(model.decision_function(rows), 1, rtol=0, atol=1e-9)
    assert len(model.support_) == 0
    model.forget(np.flatnonzero(y == 1))
    np.testing.assert_array_equal(model.decision_function(rows), 0)
    assert (model.n_kept_, len(model.ids_), model.residual_) == (0, 0, 0)
    empty = model.leave_one_out()
    assert (len(empty.ids), len(empty.scores), len(empty.predictions)) == (0, 0, 0)
    assert np.isnan(empty.error)
    with Refused(model, "no row"):
        model.forget(0)
    model = pickle.loads(pickle.dumps(model)) if kernel != "callable" else model
    model.partial_fit(rows, y, ids=np.arange(90))
    fresh = IDSVM(**options).partial_fit(rows, y, classes=[0, 1])
    np.testing.assert_allclose(
        model.decision_function(rows), fresh.decision_function(rows), rtol=0, atol=1e-9
    )


def test_relabeled_rows_have_the_weight_of_their_new_class():
    """As if they had come with it."""
    X, y = two_clouds(60, 2)
    weight = np.random.default_rng(0).uniform(0.5, 2, 60)
    options = {"gamma": 0.5, "class_weight": {0: 1.0, 1: 10.0}}
    model = IDSVM(**options).partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    model.relabel(np.arange(6), 1 - y[:6])
    turned = np.where(np.arange(60) < 6, 1 - y, y)
    other = IDSVM(**options).partial_fit(X, turned, classes=[0, 1], sample_weight=weight)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-7)


def test_class_weights_are_costs():
    X, y = two_clouds(80, 2)
    for weights in ({0: 1.0, 1: 4.0}, {1: 0.25}, "balanced"):
        exact = SVC(C=2.0, gamma=0.5, class_weight=weights, tol=1e-6).fit(X, y)
        model = IDSVM(C=2.0, gamma=0.5, class_weight=weights).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), rtol=0, atol=1e-4)
