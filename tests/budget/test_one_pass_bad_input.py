"""What one-pass learners refuse, with which words, and that a refusal leaves them as they were."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse

from budget.native_helpers import KERNEL_LEARNERS, LEARNERS, LINEAR, make
from budget.refusal_helpers import GOOD, X, Y, goes_on, learned, refused
from everlearn import KOIL, NORMA, OAM, OPAUC, RBP

all_learners = pytest.mark.parametrize("cls", LEARNERS)


# --- rows, labels, weights ---------------------------------------------------------------------------------


def spoilt(value):
    bad = X[60:80].copy()
    bad[3, 1] = value
    return bad


BAD_ROWS = {
    "nan": (spoilt(np.nan), "NaN"),
    "infinity": (spoilt(np.inf), "infinity"),
    "nan in CSR": (sparse.csr_matrix(spoilt(np.nan)), "NaN"),
    "too few features": (X[60:80, :2], "features"),
    "too many features": (np.hstack([X, X])[60:80], "features"),
    "no rows": (X[:0], "0 sample"),
    "no features": (X[60:80, :0], "0 feature"),
    "one dimension": (X[60:80, 0], "2D array"),
    "words": (np.full((20, 3), "a"), "convert|numeric"),
    "squares overflow": (np.full((20, 3), 1e200), "overflow"),
    "one square overflows": (spoilt(1e160), "overflow"),
    "CSR overflows": (sparse.csr_matrix(np.full((20, 3), 1e200)), "overflow"),
}


@all_learners
@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused(cls, name):
    model, (rows, words) = learned(cls), BAD_ROWS[name]
    labels = Y[60 : 60 + rows.shape[0]]
    with refused(model, words):
        model.partial_fit(rows, labels)
    if cls not in LINEAR or "overflow" not in words:  # a linear score of a huge row is a huge number
        with refused(model, words):
            model.decision_function(rows)
    if "features" not in words:
        with refused(model, words):
            model.fit(rows, labels)
        fresh = make(cls)
        with refused(fresh, words):
            fresh.partial_fit(rows, labels, classes=[0, 1])
        goes_on(fresh.partial_fit(*GOOD, classes=[0, 1]))
    goes_on(model)


BAD_LABELS = {
    "not in classes": ([0, 1, 2], r"not in classes: 2; classes are 0, 1"),
    "words instead of numbers": (["0", "1", "0"], "not in classes"),
    "numbers between": ([0.5, 1.0, 0.0], "not in classes"),
    "nan": ([0, 1, np.nan], "NaN"),
    "too few": ([0, 1], "inconsistent"),
    "two columns": ([[0, 1], [1, 0], [0, 1]], "1d array|multi"),
}


@all_learners
def test_bad_labels_and_classes_are_refused(cls):
    model, fresh = learned(cls), make(cls)
    for labels, words in BAD_LABELS.values():
        with refused(model, words, (ValueError, TypeError)):
            model.partial_fit(X[:3], labels)
    for classes, words in (
        (None, "first call of partial_fit needs classes"),
        ([1], "at least two"),
        ([], "at least"),
    ):
        with refused(fresh, words):
            fresh.partial_fit(*GOOD, classes=classes)
    for classes in ([0, 2], [0, 1, 2], ["0", "1"]):
        with refused(model, "differs from the classes of the first call"):
            model.partial_fit(*GOOD, classes=classes)
    with refused(model, r"number of classes has to be greater than one.*partial_fit"):
        model.fit(X[:3], [1, 1, 1])
    goes_on(model)


BAD_WEIGHTS = [
    ([np.nan] * 60, "NaN"),
    ([1.0] * 59 + [np.inf], "infinity"),
    ([1.0] * 59 + [-1e-9], "[Nn]egative"),
    ([1.0] * 59, "sample_weight"),
    (["heavy"] * 60, "convert"),
]


@all_learners
def test_bad_weights_are_refused(cls):
    model = learned(cls)
    for (weight, words), method in product(BAD_WEIGHTS, ("fit", "partial_fit")):
        with refused(model, words):
            getattr(model, method)(*GOOD, sample_weight=weight)
    with refused(model, "weight above 0"):
        model.fit(*GOOD, sample_weight=GOOD[1])
    goes_on(model)


@pytest.mark.parametrize("cls", [cls for cls in KERNEL_LEARNERS if cls is not KOIL])
def test_bad_weights_of_classes_are_refused(cls):
    model = learned(cls)
    for weight, words in (
        ({1: -1.0}, "class_weight"),
        ({7: 2.0}, "class_weight"),
    ):
        model.set_params(class_weight=weight)
        with refused(model, words):
            model.partial_fit(*GOOD)
    goes_on(model.set_params(class_weight=None))


# --- parameters --------------------------------------------------------------------------------------------

HALVES, BELOW, SHARES = (
    [1.5, "1", 0, -1, True],
    [-1, np.nan, np.inf, "1", None],
    [0, 1, -0.1, 1.5, np.nan, "1"],
)
BAD_PARAMETERS = {
    "budget": HALVES,
    "C": [*BELOW, 0],
    "learning_rate": [*BELOW[:2], np.inf, "1"],
    "max_projection_error": [*BELOW[:2], np.inf, "1"],
    "alpha": BELOW,
    "rho": BELOW,
    "nu": SHARES,
    "decay_learning_rate": [1, None],
    "fit_intercept": [1, None],
    "margin": BELOW,
    "average": ["median", None],
    "variant": ["PA-III", "pa", 1, None],
    "n_neighbors": [*HALVES, None],
    "replacement": ["lifo", None],
    "neighbors_of": ["some", None],
    "literal": [1, None],
    "weighted_C": [1, None],
    "rank": [*HALVES, "half", None],
    "kernel": ["RBF", None],
    "degree": [-1, 1.5],
    "gamma": [0, -1, "skale", None],
    "coef0": [np.inf, None],
    "class_weight": ["balance", 2.0],
    "epochs": HALVES,
    "n_jobs": [0, 1.5],
    "row_dtype": ["float64", "", 16],
    "verbose": [-1, None],
}
NOT_ALL = [
    (KOIL, "learning_rate", 1),
    (KOIL, "learning_rate", 0),
    (KOIL, "learning_rate", 1.5),
    (NORMA, "learning_rate", 0),
    (OPAUC, "learning_rate", 0),
]
NOT_ALL += [(cls, "budget", None) for cls in (RBP, NORMA, OAM)]


@all_learners
def test_bad_parameters_are_refused_by_name_when_learning_begins(cls):
    model, good = learned(cls), make(cls).get_params()
    assert set(cls._constraints) <= set(BAD_PARAMETERS)
    assert set(good) == {*cls._constraints, "random_state"}
    cases = [(name, value) for name in cls._constraints for value in BAD_PARAMETERS[name]]
    cases += [(name, value) for other, name, value in NOT_ALL if other is cls]
    for name, value in cases:
        model.set_params(**{name: value})
        for method in ("fit", "partial_fit"):
            with refused(model, f"parameter '{name}' of {cls.__name__} must be .*, got "):
                getattr(model, method)(*GOOD)
        model.set_params(**{name: good[name]})
    goes_on(model)


@all_learners
def test_a_bad_random_state_is_refused(cls):
    model, fresh = learned(cls).set_params(random_state="now"), make(cls, random_state=-1)
    with refused(model, "seed|Seed"):
        model.fit(*GOOD)
    with refused(fresh, "seed|Seed"):
        fresh.partial_fit(*GOOD, classes=[0, 1])


# --- the Forgetron's rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", KERNEL_LEARNERS)
@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda K: K[:, :-1], "returned shape"),
        (lambda K: K[0], "returned shape"),
        (lambda K: K * np.nan, "not finite"),
        (lambda K: K * 1e300, "overflow|at most 1"),
    ],
)
def test_bad_values_of_a_callable_kernel_are_refused(cls, spoil, words):
    bad = False

    def kernel(a, b):
        return spoil(a @ b.T) if bad else a @ b.T

    model, untouched = (learned(cls, kernel=kernel) for _ in range(2))
    bad = True
    with refused(model, words):
        model.partial_fit(X[60:], Y[60:])
    bad = False
    goes_on(model, untouched)
