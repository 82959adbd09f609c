"""What LASVM refuses, what it takes although it is odd, and that a refusal leaves it as it was."""

import inspect
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse

from everlearn import LASVM
from svm.lasvm_helpers import (
    assert_same,
    assert_same_model,
    kernel_matrix,
    learned,
    refused,
    snapshot,
    three_clouds,
    two_clouds,
)

X, Y = two_clouds(120, 3)
GOOD = X[:40], Y[:40]


@pytest.fixture
def model():
    return LASVM(gamma=0.3, random_state=0).partial_fit(*GOOD, classes=[0, 1])


def goes_on(model, reference=None):
    """After a refusal a learner learns on, as one that was never asked."""
    reference = reference or LASVM(gamma=0.3).partial_fit(*GOOD, classes=[0, 1])
    assert_same(learned(model.partial_fit(X[40:], Y[40:])), learned(reference.partial_fit(X[40:], Y[40:])))
    assert_same(model.support_, reference.support_)


# Rows and labels.


def spoilt(value, row=3):
    bad = X[40:60].copy()
    bad[row, 1] = value
    return bad


BAD_ROWS = {
    "nan": (spoilt(np.nan), "NaN"),
    "infinity": (spoilt(np.inf), "infinity"),
    "nan in the last row": (spoilt(np.nan, -1), "NaN"),
    "nan in CSR": (sparse.csr_matrix(spoilt(np.nan)), "NaN"),
    "nan in float32": (spoilt(np.nan).astype(np.float32), "NaN"),
    "too few features": (X[40:60, :2], "features"),
    "too many features": (np.hstack([X, X])[40:60], "features"),
    "too many features in CSR": (sparse.csr_matrix(np.hstack([X, X])[40:60]), "features"),
    "no rows": (X[:0], "0 sample"),
    "no features": (X[40:60, :0], "0 feature"),
    "one dimension": (X[40:60, 0], "2D array"),
    "three dimensions": (X[40:60, :, None], "dim"),
    "complex": (X[40:60] * 1j, "[Cc]omplex"),
    "words": (np.full((20, 3), "a"), "convert|numeric"),
    "objects": (np.full((20, 3), {}, dtype=object), "must be a string or a (real )?number"),
    "float32 overflows": (np.full((20, 3), 1e30, dtype=np.float32), "overflow"),
    "float64 overflows": (np.full((20, 3), 1e200), "overflow"),
    "CSR overflows": (sparse.csr_matrix(np.full((20, 3), 1e200)), "overflow"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused(model, name):
    rows, words = BAD_ROWS[name]
    kind = (ValueError, TypeError) if name == "objects" else ValueError
    labels = Y[40 : 40 + rows.shape[0]]
    with refused(model, words, kind):
        model.partial_fit(rows, labels)
    with refused(model, words, kind):
        model.decision_function(rows)
    with refused(model, words, kind):
        model.predict(rows)
    if "features" not in words or rows.shape[1] == 0:
        with refused(model, words, kind):
            model.fit(rows, labels)
        fresh = LASVM()
        with pytest.raises(kind, match=words):
            fresh.partial_fit(rows, labels, classes=[0, 1])
        assert not hasattr(fresh, "support_")
    goes_on(model)


BAD_LABELS = {
    "not in classes": ([0, 1, 2], r"not in classes: 2; classes are 0, 1"),
    "words instead of numbers": (["0", "1", "0"], "not in classes"),
    "numbers between": ([0.5, 1.0, 0.0], "not in classes"),
    "nan": ([0, 1, np.nan], "NaN"),
    "none": ([0, 1, None], "None|NaN|not in classes"),
    "too few": ([0, 1], "inconsistent"),
    "too many": ([0, 1, 0, 1], "inconsistent"),
    "two columns": ([[0, 1], [1, 0], [0, 1]], "1d array|multi"),
}


@pytest.mark.parametrize("name", BAD_LABELS)
def test_bad_labels_are_refused(model, name):
    labels, words = BAD_LABELS[name]
    with refused(model, words, (ValueError, TypeError)):
        model.partial_fit(X[:3], labels)
    goes_on(model)


def test_labels_that_fit_refuses(model):
    for labels, words in (
        ([1, 1, 1], "number of classes has to be greater than one.*partial_fit"),
        ([0.1, 0.2, 0.7], "continuous"),
        ([0, 1], "inconsistent"),
        ([[0, 1], [1, 1], [0, 1]], "1d array|multi"),
        (None, "None|requires y"),
    ):
        with refused(model, words):
            model.fit(X[:3], labels)
    goes_on(model)


def test_classes_must_be_named_once_and_stay(model):
    fresh = LASVM()
    for classes, words in (
        (None, "first call of partial_fit needs classes"),
        ([1], "at least two"),
        ([], "at least"),
    ):
        with pytest.raises(ValueError, match=words):
            fresh.partial_fit(*GOOD, classes=classes)
        assert not hasattr(fresh, "support_")
    for classes in ([0, 2], [0, 1, 2], ["0", "1"]):
        with refused(model, "differs from the classes of the first call"):
            model.partial_fit(*GOOD, classes=classes)
    reference = LASVM(gamma=0.3).partial_fit(*GOOD, classes=[0, 1])
    assert_same(learned(model.partial_fit(*GOOD, classes=[1, 0])), learned(reference.partial_fit(*GOOD)))


BAD_WEIGHTS = {
    "nan": ([np.nan] * 40, "NaN"),
    "infinity": ([1.0] * 39 + [np.inf], "infinity"),
    "negative": ([1.0] * 39 + [-1e-9], "[Nn]egative"),
    "too few": ([1.0] * 39, "sample_weight"),
    "two columns": (np.ones((40, 2)), "1D"),
    "words": (["heavy"] * 40, "convert"),
}


@pytest.mark.parametrize("name", BAD_WEIGHTS)
def test_bad_sample_weights_are_refused(model, name):
    weight, words = BAD_WEIGHTS[name]
    for learn in (model.fit, model.partial_fit):
        with refused(model, words):
            learn(*GOOD, sample_weight=weight)
    goes_on(model)


@pytest.mark.parametrize(
    "weight", [{0: 1, 1: -1}, {0: 1, 1: np.nan}, {0: 1, 1: np.inf}, {0: 1, 1: "a"}, {0: 1, 7: 2}], ids=str
)
def test_bad_class_weights_are_refused(model, weight):
    model.set_params(class_weight=weight)
    for learn in (model.fit, model.partial_fit):
        with refused(model, "class_weight|convert"):
            learn(*GOOD)
    goes_on(model.set_params(class_weight=None))


def test_rows_of_weight_zero_are_left_out(model):
    with refused(model, "weight above 0|non-zero"):
        model.fit(*GOOD, sample_weight=np.zeros(40))
    with refused(model, "weight above 0"):
        model.fit(*GOOD, sample_weight=np.where(GOOD[1] == 1, 1.0, 0.0))
    weight = np.where(np.arange(80) % 3, 1.0, 0.0)
    some, none = deepcopy(model), deepcopy(model)
    some.partial_fit(X[40:], Y[40:], sample_weight=weight)
    none.partial_fit(X[40:][weight > 0], Y[40:][weight > 0])
    assert some.n_iter_ == none.n_iter_ == 40 + np.count_nonzero(weight)
    assert_same(some.dual_coef_, none.dual_coef_)
    assert_same(some.support_vectors_, none.support_vectors_)
    np.testing.assert_array_equal(X[some.support_], some.support_vectors_)  # they count in row numbers


def test_a_block_of_weight_zero_is_a_block_of_rows_left_out(model):
    before = learned(model)
    for size in (1, 20):
        model.partial_fit(X[:size], Y[:size], sample_weight=np.zeros(size))
    assert_same(learned(model), before)
    empty = LASVM().partial_fit(*GOOD, classes=[0, 1], sample_weight=np.zeros(40)).finish()
    assert len(empty.support_) == 0
    assert set(empty.predict(X)) <= {0, 1}
    assert empty.partial_fit(*GOOD).score(*GOOD) > 0.7


# Parameters.

WORDS, HALVES, BELOW = ["1", None], [1.5, "1", None], [0, -1, np.nan, np.inf]
BAD_PARAMETERS = {
    "C": [*WORDS, *BELOW, True],
    "kernel": ["RBF", "", None, 3],
    "degree": [*HALVES, -1, np.nan],
    "gamma": [*BELOW, "skale", None, False],
    "coef0": [*WORDS, np.nan, np.inf, -np.inf],
    "tol": [*WORDS, *BELOW],
    "class_weight": ["balance", 2.0, [1, 2]],
    "cache_size": [*WORDS, *BELOW],
    "row_dtype": ["float64", "", 16, np.float16],
    "n_jobs": [0, 1.5, "2"],
    "verbose": [-1, None, "loud", 0.5],
    "epochs": [*HALVES, 0, -1, True],
    "finishing": [1, 0, True, False, "no"],
    "reserve": [*HALVES, -1, None, "all"],
    "delta_max": [-1e-9, np.nan, np.inf, "1"],
    "selection": ["passive", "", None, 1],
    "early_stopping": [1, "yes", None],
    "n_iter_no_change": [0, -1, 1.5, "1", None],
    "rtol": [-0.1, np.nan, np.inf, "1", None],
    "pool_size": [*HALVES, 0, -3],
    "max_iter": [*HALVES, -2, np.inf],
    "device": ["gpu", "", None, 0],
}


def test_every_parameter_has_a_constraint_and_bad_values():
    assert set(BAD_PARAMETERS) == set(LASVM._constraints)
    assert set(inspect.signature(LASVM).parameters) == {*LASVM._constraints, "random_state"}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_PARAMETERS.items() for value in values]
)
def test_bad_parameters_are_refused_when_learning_begins(model, name, value):
    good = model.get_params()[name]
    model.set_params(**{name: value})  # the constructor and set_params only store
    for learn in (model.fit, model.partial_fit):
        with refused(model, f"parameter '{name}' of LASVM must be .*, got "):
            learn(*GOOD)
    goes_on(model.set_params(**{name: good}))


@pytest.mark.parametrize(
    ("name", "value"),
    [("degree", 2**31), ("cache_size", 1e300), ("pool_size", 2**70), ("max_iter", 2**70), ("n_jobs", 2**40)],
)
def test_enormous_parameters_work_or_are_refused_by_name(name, value):
    model = LASVM(kernel="poly", gamma=1e-3, selection="active", random_state=0).set_params(**{name: value})
    said = name
    try:
        model.fit(*GOOD)
    except ValueError as error:
        said = str(error)
    assert name in said


def test_a_bad_random_state_is_refused(model):
    for bad in ("now", 1.5, -1):
        with refused(model.set_params(random_state=bad), "seed|Seed"):
            model.fit(*GOOD)


# Foreign kernels.


def test_bad_precomputed_kernels_are_refused():
    K = kernel_matrix("rbf", X, gamma=0.3)
    fresh = LASVM(kernel="precomputed")
    for bad, words in (
        (sparse.csr_matrix(K), "dense"),
        (K[:, :100], "square"),
        (np.where(K == 1, np.nan, K), "NaN"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            fresh.fit(bad, Y)
        assert not hasattr(fresh, "support_")
    model = LASVM(kernel="precomputed").partial_fit(K[:60, :100], Y[:60], classes=[0, 1])
    reference = LASVM(kernel="precomputed").partial_fit(K[:60, :100], Y[:60], classes=[0, 1])
    with refused(model, "a column for every row"):
        model.partial_fit(K[60:, :100], Y[60:])
    with refused(model, "features"):
        model.partial_fit(K[60:80], Y[60:80])
    with refused(model, "features"):
        model.predict(K)
    with refused(model, "overflow|too large|scale|finite"):
        model.partial_fit(K[60:80, :100] * 1e60, Y[60:80])
    for learner in (model, reference):
        learner.partial_fit(K[60:100, :100], Y[60:100])
    assert_same(learned(model), learned(reference))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda K: K[:, :-1], "returned shape"),
        (lambda K: K[0], "returned shape"),
        (lambda K: np.where(K.max() == K, np.nan, K), "not finite"),
        (lambda K: K * np.inf, "not finite"),
        (lambda K: K * 1e200, "overflow|too large|scale|finite"),
        (lambda K: "kernel", "convert|returned shape"),
    ],
)
def test_bad_values_of_a_callable_are_refused(spoil, words):
    bad = False

    def kernel(a, b):
        K = kernel_matrix("rbf", a, b, gamma=0.3)
        return spoil(K) if bad else K

    model, reference = (LASVM(kernel=kernel).partial_fit(*GOOD, classes=[0, 1]) for _ in range(2))
    bad = True
    with refused(model, words), np.errstate(invalid="ignore"):
        model.partial_fit(X[40:60], Y[40:60])
    if "convert" not in words:
        with refused(model, words), np.errstate(invalid="ignore"):
            model.decision_function(X[40:60])
    bad = False
    goes_on(model, reference)


def test_an_error_in_a_callable_in_mid_block_leaves_a_learner_that_goes_on():
    calls = 0

    def kernel(a, b):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise RuntimeError("out of luck")
        return a @ b.T

    rows, labels = two_clouds(600)
    model = LASVM(kernel=kernel).partial_fit(rows[:100], labels[:100], classes=[0, 1])
    with pytest.raises(RuntimeError, match="out of luck"):
        model.partial_fit(rows[100:], labels[100:])
    model.partial_fit(rows[100:], labels[100:]).finish()
    assert model.score(rows, labels) > 0.8


def test_nothing_is_learned_from_a_first_block_that_is_refused():
    fresh = LASVM(gamma=0.3)
    for rows, labels, options in (
        (X * np.nan, Y, {}),
        (X * 1e200, Y, {}),
        (X, Y + 5, {}),
        (X, Y, {"sample_weight": [-1] * 120}),
    ):
        with pytest.raises(ValueError, match=r"NaN|overflow|not in classes|[Nn]egative"):
            fresh.partial_fit(rows, labels, classes=[0, 1], **options)
        assert_same(snapshot(fresh), snapshot(LASVM(gamma=0.3)))
    names = three_clouds(120, 5)
    fresh.partial_fit(*names, classes=["ash", "oak", "yew"])
    assert_same_model(fresh, LASVM(gamma=0.3).partial_fit(*names, classes=["ash", "oak", "yew"]))
