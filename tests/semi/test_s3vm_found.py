"""What the learners from few labels, the selector and the rule for questions did wrong once."""

import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.svm import SVC

from everlearn import QPS3VM, Exemplars, StreamS3VM, SubmodS3VM
from everlearn._submodular.choice import StoredSimilarities
from everlearn.query import Submodular
from semi.semi_helpers import THESIS, clouds

X, y = clouds(40, 0)
PARTLY = np.where(np.arange(40) < 8, y, np.nan)
THREE = np.where(np.arange(40) < 9, np.arange(40) % 3, np.nan)


@contextmanager
def within(seconds):
    """An error, not a test that never ends."""

    def stop(*_):
        raise AssertionError(f"not done within {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


# --- rows held ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_a_stream_does_not_hold_the_array_of_its_caller(form):
    """A loop that reads every batch into the same array must not change the rows held."""
    rows = form(X[:20])
    model = StreamS3VM(SubmodS3VM(positive_fraction=0.5), random_state=0).partial_fit(rows, PARTLY[:20])
    held = model._held[1].X
    values, theirs = (part.data if sparse.issparse(part) else part for part in (held, rows))
    theirs[:] = 7.0
    assert not (np.asarray(values) == 7.0).any()


# --- values that overflow ----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [PARTLY, THREE], ids=["two", "three"])
@pytest.mark.parametrize("solver", ["greedy", "two-sided", "fast"])
def test_similarities_that_overflow_are_refused(solver, labels):
    """Cubes of 1e180: with NaN for an objective "no better than before" was never true, and nothing ended."""
    shares = {0: 0.3, 1: 0.3, 2: 0.4} if labels is THREE else 0.5
    clf = SubmodS3VM(
        kernel="poly", gamma=1.0, scaling="none", solver=solver, positive_fraction=shares, estimator=None
    )
    with within(10), pytest.raises(ValueError, match="overflow"):
        clf.fit(X * 1e60, labels)


@pytest.mark.filterwarnings("ignore:invalid value encountered in reduce:RuntimeWarning")  # of validation
@pytest.mark.parametrize("cls", [SubmodS3VM, QPS3VM])
def test_a_matrix_whose_sums_overflow_is_refused(cls):
    clf = cls(kernel="precomputed", positive_fraction=0.5, estimator=None)
    with within(10), pytest.raises(ValueError, match="overflow"):
        clf.fit(X @ X.T * 1e307, PARTLY)


@pytest.mark.parametrize("C", [1e-200, 1e154, 1e200])
def test_labels_found_do_not_depend_on_C(C):
    """With label_scores='similarity' only rho matters; squares of C are not computed."""
    settings = {"positive_fraction": 0.5, "estimator": None, "random_state": 0, **THESIS}
    with within(10):
        found = SubmodS3VM(C=C, **settings).fit(X, PARTLY).transduction_
    np.testing.assert_array_equal(found, SubmodS3VM(**settings).fit(X, PARTLY).transduction_)


@pytest.mark.parametrize("columns", [5, 60])
def test_rows_too_long_for_their_length_are_refused(columns):
    """A length of infinity made rows of zeros of them."""
    rows = np.tile(X, (1, 12))[:, :columns] * 1e200
    for form in (np.asarray, sparse.csr_matrix):
        with pytest.raises(ValueError, match="overflow"):
            Exemplars(3, kernel="linear", scaling="unit").fit(form(rows))
        with pytest.raises(ValueError, match="overflow"):
            Submodular(kernel="linear", scaling="unit").query(None, form(rows), 3, labeled=(rows, y))


# --- shares that are estimated -----------------------------------------------------------------------------

RAW = """
import numpy as np
from sklearn.datasets import load_breast_cancer
from everlearn import SubmodS3VM
X, target = load_breast_cancer(return_X_y=True)
y = np.where(np.arange(569) % 30 == 0, target, np.nan)
SubmodS3VM(kernel="linear", scaling="none", estimator=None).fit(X, y)
"""


def test_the_share_of_unscaled_rows_is_estimated_in_time():
    """With the share given this takes 0.05 s; the machines of the estimate have no limit of steps."""
    subprocess.run([sys.executable, "-c", RAW], timeout=60, check=True)


# --- labels ------------------------------------------------------------------------------------------------


def test_nan_among_names_in_a_list_is_no_label():
    labels = ["a", *[float("nan")] * 39]
    np.testing.assert_array_equal(
        Exemplars(3).fit(X, labels).kept_, Exemplars(3).fit(X, np.array(labels, dtype=object)).kept_
    )
    rule, few = Submodular(), ["a", "b", *[float("nan")] * 6]
    np.testing.assert_array_equal(
        rule.utilities(None, X, labeled=(X[:8], few)),
        rule.utilities(None, X, labeled=(X[:8], np.array(few, dtype=object))),
    )


@pytest.mark.parametrize("labeled", [40, 39, 20])
def test_a_stream_predicts_its_only_label_when_another_is_named(labeled):
    """All rows with a label, or with the same one found, leave nothing to learn a rule from."""
    labels = np.where(np.arange(40) < labeled, 1.0, np.nan)
    for share in (None, 0.5, 1.0):
        model = StreamS3VM(SubmodS3VM(positive_fraction=share), random_state=0)
        model.partial_fit(X, labels, classes=[0, 1])
        assert set(model.predict(X)) <= {0.0, 1.0}, share
        assert model.decision_function(X).shape == (40,)


def test_the_mark_of_a_missing_label_is_no_class():
    one = np.where(np.arange(40) < 8, 0, -1)
    with pytest.raises(ValueError, match="unlabeled"):
        SubmodS3VM(unlabeled=-1, positive_fraction={0: 0.5, -1: 0.5}).fit(X, one)
    for key in (None, np.nan):
        with pytest.raises(ValueError, match="positive_fraction"):
            SubmodS3VM(positive_fraction={0: 0.5, key: 0.5}).fit(X, np.where(one == 0, 0, np.nan))


def test_a_missing_value_of_pandas_may_mark_missing_labels():
    labels = pd.Series(PARTLY).astype("Int64").astype(object)
    found = SubmodS3VM(unlabeled=pd.NA, positive_fraction=0.5).fit(X, labels).classes_
    assert found.tolist() == [-1, 1]


# --- formats -----------------------------------------------------------------------------------------------


def test_a_sparse_matrix_of_similarities_to_the_next_rows():
    K = X @ X.T
    selector = Exemplars(3, kernel="precomputed")
    expected = selector.fit(K, None, K[:5]).indices_
    np.testing.assert_array_equal(selector.fit(K, None, sparse.csr_matrix(K[:5])).indices_, expected)


@pytest.mark.parametrize("form", [sparse.coo_matrix, sparse.dia_matrix, sparse.bsr_array])
def test_what_fit_takes_select_cuts(form):
    np.testing.assert_array_equal(
        Exemplars(3).fit_select(form(X)).toarray(), Exemplars(3).fit_select(sparse.csr_matrix(X)).toarray()
    )


# --- ties --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("h", [0.0, 6.0, 6 + 1e-12, 20 / 3])
def test_a_bound_makes_no_difference_to_a_stored_matrix(h):
    """All gains are small integers: rows tie exactly, and what is taken away from all must not untie them."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        K = random.integers(0, 4, (8, 8)).astype(float)
        base, K = random.integers(0, 8, (8, 1)).astype(float), K + K.T
        order, taken = StoredSimilarities(K).greedy(base, 1.0, h, [8]).order.tolist(), []
        for row in order:
            gains = base[:, 0] + K[:, taken].sum(axis=1)
            gains[taken] = -np.inf
            assert row == int(np.argmax(gains)), seed
            taken.append(row)


# --- room --------------------------------------------------------------------------------------------------


def test_more_classes_than_room():
    """Six classes and room for a summary of four rows: not one row more is held."""
    labels = np.where(np.arange(40) % 2 == 0, np.arange(40) % 6, np.nan)
    model = StreamS3VM(memory_rows=24, estimator=None, random_state=0)
    for start in range(0, 40, 10):
        model.partial_fit(X[start : start + 10], labels[start : start + 10])
        assert model.n_stored_ <= 24
    small = StreamS3VM(memory_rows=14, estimator=None, random_state=0)
    for start in range(0, 40, 7):
        small.partial_fit(X[start : start + 7], labels[start : start + 7])
        assert small.n_stored_ <= 14


def test_guesses_never_weigh_more_than_truths():
    """More given labels than found ones: a found one has weight 1, not more."""

    class Spy(SVC):
        weights = None

        def fit(self, X, y, sample_weight=None):
            type(self).weights = sample_weight
            return super().fit(X, y, sample_weight)

    SubmodS3VM(positive_fraction=0.5, estimator=Spy()).fit(X, np.where(np.arange(40) < 35, y, np.nan))
    np.testing.assert_array_equal(Spy.weights, np.ones(40))
