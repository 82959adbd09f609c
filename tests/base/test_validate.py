"""Rows that need no conversion skip scikit-learn's validation, and nothing else does."""

import numpy as np
import pandas as pd
import pytest

from everlearn import LASVM
from everlearn._base.validate import check_rows, check_rows_and_labels


def fitted():
    X = np.random.default_rng(0).normal(size=(40, 3))
    return LASVM().fit(X, X[:, 0] > 0), X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_that_fits_is_passed_through(dtype, monkeypatch):
    clf, X = fitted()
    X, y = X.astype(dtype), np.arange(40)
    monkeypatch.setattr("everlearn._base.validate.validate_data", None)
    assert check_rows(clf, X, reset=False) is X
    assert check_rows_and_labels(clf, X, y, reset=False)[0] is X


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[:, :2], "2 features, but LASVM is expecting 3"),
        (lambda X: np.where(X > 1, np.nan, X), "NaN"),
        (lambda X: np.where(X > 1, np.inf, X), "infinity"),
        (lambda X: X[0], "Expected 2D array"),
        (lambda X: X[:0], "0 sample"),
        (lambda X: X.astype(complex), "Complex data not supported"),
    ],
)
def test_whatever_is_wrong_is_still_refused(change, words):
    clf, X = fitted()
    with pytest.raises(ValueError, match=words):
        check_rows(clf, change(X), reset=False)
    with pytest.raises(ValueError, match=words):
        check_rows_and_labels(clf, bad := change(X), np.arange(len(bad)), reset=False)


def test_labels_are_still_checked():
    clf, X = fitted()
    for y in (np.arange(39), np.arange(40.0) * np.nan, np.ones((40, 2))):
        with pytest.raises(ValueError, match=r"inconsistent|NaN|1d array"):
            check_rows_and_labels(clf, X, y, reset=False)


def test_other_layouts_are_converted_and_missing_names_are_reported():
    clf, X = fitted()
    for given in (np.asfortranarray(X), X.tolist(), (100 * X).astype(int), np.repeat(X, 2, axis=0)[::2]):
        rows = check_rows(clf, given, reset=False)
        assert rows.flags.c_contiguous
        assert rows.dtype == np.float64
    named = LASVM().fit(pd.DataFrame(X, columns=list("abc")), X[:, 0] > 0)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.decision_function(X)
