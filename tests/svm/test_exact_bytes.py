"""`fit` on rows of small whole numbers: it checks rows in bytes, and finds the same optimum."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from everlearn import LASVM
from everlearn._base import exact
from everlearn._base.exact import RowScores
from everlearn._base.learner import LabeledRows
from everlearn._base.validate import as_block


def digits(scale=1 / 16):
    X, y = load_digits(return_X_y=True)
    flip = np.random.default_rng(0).random(len(y)) < 0.1
    return X * scale, np.where(flip, 1, y % 2)


@pytest.fixture
def in_bytes(monkeypatch):
    """Rows are checked in bytes, also where that is not faster, and in chunks."""
    monkeypatch.setattr(exact, "_FIRST_CHUNK", 200)
    first = RowScores.__init__

    def begin(scores, *given):
        first(scores, *given)
        scores._step = given[1].byte_step
        assert scores._step > 0

    monkeypatch.setattr(RowScores, "__init__", begin)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix])
def test_the_optimum_is_that_of_svc(in_bytes, form):
    X, y = digits()
    model = LASVM(C=3, gamma=0.05, random_state=0).fit(form(X), y)
    svc = SVC(C=3, gamma=0.05, tol=1e-6).fit(X, y)
    assert np.abs(model.decision_function(X) - svc.decision_function(X)).max() < 5e-3
    assert model.n_rounds_ > 0


def test_scores_are_those_of_the_model(in_bytes):
    X, y = digits(scale=3.0)
    y = load_digits().target
    model = LASVM(C=3, gamma=0.001, random_state=0).fit(X, y)
    labels = np.searchsorted(model.classes_, y).astype(np.int32)
    rows = LabeledRows(X, labels, np.full(len(y), 3.0), np.arange(len(y)))
    scores = RowScores(model._machine, rows, np.arange(len(y)), None, False)
    scores.check_all(0.0)
    expected = model.decision_function(X) - model.intercept_
    assert np.abs(scores._scores - expected).max() < 1e-4


def test_rounding_does_not_let_a_row_be_learned_without_end(in_bytes, monkeypatch):
    """Scores in bytes that are far off where a row is near the margin: the model's own have the last word."""
    refresh = RowScores._refresh

    def off(scores, group):
        refresh(scores, group)
        near = group.places[~scores._kept(group.places)]
        scores._scores[near] -= 0.01 * scores._signs[near]

    monkeypatch.setattr(RowScores, "_refresh", off)
    X, y = digits()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LASVM(C=3, gamma=0.05, random_state=0).fit(X, y)
    assert model.n_rounds_ < 20
    svc = SVC(C=3, gamma=0.05, tol=1e-6).fit(X, y)
    assert np.abs(model.decision_function(X) - svc.decision_function(X)).max() < 0.02


def test_times_are_no_small_whole_numbers():
    """Large and near each other: all of them are about one step, but they differ."""
    random = np.random.default_rng(0)
    seconds = random.integers(0, 800, 2000)
    y = seconds + 100 * random.standard_normal(2000) > 400
    for offset in (1.7e9, 0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = LASVM(random_state=0).fit((seconds + offset)[:, np.newaxis], y)
        assert model.n_rounds_ < 10


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e40])
def test_extreme_steps(scale):
    X, y = digits(scale)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LASVM(random_state=0).fit(X, y).n_rounds_ < 10


def test_sums_in_bytes_need_an_rbf_kernel_of_rows_as_they_are():
    X, y = digits()
    block, which = as_block(X), np.arange(3)
    for options in ({"kernel": "linear"}, {"row_dtype": "float16"}):
        native = LASVM(random_state=0, **options).fit(X, y)._machine.native
        assert not native.takes_bytes
        with pytest.raises(ValueError, match="do not take bytes"):
            native.add_kernel_sums(block, which, np.ones((1, 3)), which, np.zeros((len(X), 1)), 1 / 16)
