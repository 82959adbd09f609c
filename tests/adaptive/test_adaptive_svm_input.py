"""What AdaptiveSVM refuses, and that a refused call changes nothing."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from adaptive.adaptive_helpers import SVMS, X, Y, bits, blobs
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert

HUGE = np.where(np.arange(6)[:, np.newaxis] == 4, 1e200, X)
NAN = np.where(np.arange(6)[:, np.newaxis] == 5, np.nan, X)


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ({"X": NAN}, ValueError, "NaN"),
        ({"X": np.where(np.isnan(NAN), np.inf, X)}, ValueError, "infinity"),
        ({"X": X[:, :3]}, ValueError, "3 features.*expecting 4"),
        ({"X": X[:5]}, ValueError, "inconsistent numbers of samples"),
        ({"X": X[0]}, ValueError, "Expected 2D array"),
        ({"X": X[:0], "y": Y[:0]}, ValueError, "0 sample"),
        ({"X": HUGE}, ValueError, "squared length inf .* scale the features"),
        ({"X": sparse.csr_matrix(HUGE)}, ValueError, "squared length inf"),
        ({"y": Y + 0.5}, ValueError, "continuous"),
        ({"y": np.where(Y == 0, np.nan, Y)}, ValueError, "NaN"),
        ({"y": np.array(["a"] * 6)}, ValueError, "Mix of label input types"),
        ({"y": np.column_stack([Y, Y])}, ValueError, "1d array"),
        ({"classes": [0, 1]}, ValueError, r"classes=\[0, 1\] lacks some of the known classes"),
        ({"classes": [0, 1, 2], "y": Y + 1}, ValueError, r"not in classes=\[0, 1, 2\]: \[3\]"),
        ({"sample_weight": -np.ones(6)}, ValueError, "Negative values in data passed to `sample_weight`"),
        ({"sample_weight": np.ones(5)}, ValueError, r"sample_weight.shape == \(5,\)"),
        ({"sample_weight": np.full(6, np.nan)}, ValueError, "sample_weight contains NaN"),
        ({"ids": [1, 2, 3, 4, 5, 5]}, ValueError, "5 more than once"),
        ({"ids": [1, 2, 3]}, ValueError, "3 ids for 6 rows"),
        ({"ids": [100, 101, 102, 103, 104, 59]}, ValueError, "Duplicate id 59"),
        ({"ids": list("abcdef")}, TypeError, "ids must be integers"),
    ],
    ids=str,
)
def test_bad_input_is_refused_and_changes_nothing(learner, args, error, words):
    before = bits(learner)
    with pytest.raises(error, match=words):
        learner.partial_fit(**({"X": X, "y": Y} | args))
    assert bits(learner) == before


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    "args",
    [
        {"X": NAN},
        {"X": X[:5]},
        {"X": X[:0], "y": Y[:0]},
        {"y": Y + 0.5},
        {"y": np.array(["a", "b", None] * 2, dtype=object)},
        {"sample_weight": -np.ones(6)},
        {"sample_weight": np.ones(5)},
    ],
    ids=str,
)
def test_a_first_call_that_is_refused_leaves_nothing(learner, args, method):
    fresh, before = AdaptiveSVM(experts=SVMS), bits(learner)
    known = dict(vars(fresh))
    for each in (fresh, learner):
        with pytest.raises((ValueError, TypeError)):
            getattr(each, method)(**({"X": X, "y": Y} | args))
    assert vars(fresh) == known
    assert bits(learner) == before


@pytest.mark.parametrize(
    ("params", "error", "words"),
    [
        ({"max_rows": 1}, ValueError, "'max_rows' .* must be an integer from 2 .*got 1"),
        ({"max_rows": 10.5}, ValueError, "'max_rows'.*got 10.5"),
        ({"fading_factor": 1.5}, ValueError, "'fading_factor' .* must be a number from 0 to 1, got 1.5"),
        ({"fading_factor": "x"}, ValueError, "'fading_factor'.*got 'x'"),
        ({"learning_rate": -1}, ValueError, "'learning_rate'.*got -1"),
        ({"fixed_share": float("nan")}, ValueError, "'fixed_share'.*got nan"),
        ({"scaling": "minmax"}, ValueError, "'scaling' .* one of 'standard', 'none', got 'minmax'"),
        ({"class_weight": "equal"}, ValueError, "'class_weight'.*got 'equal'"),
        ({"class_weight": {0: -1.0}}, ValueError, "class_weight must map .* got -1.0 for 0"),
        ({"class_weight": {0: "2"}}, ValueError, "class_weight must map .* got '2' for 0"),
        ({"experts": "all"}, ValueError, "experts must be 'auto' or a list of Expert, got 'all'"),
        ({"experts": []}, ValueError, "at least one Expert"),
        ({"experts": 7}, TypeError, "experts must be 'auto' or a list of Expert, got 7"),
        ({"experts": GaussianNB()}, TypeError, r"list of Expert, got GaussianNB\(\)"),
        ({"experts": iter(SVMS)}, TypeError, "list of Expert, got <"),
        ({"experts": [Expert("poly")]}, ValueError, "kernel of an Expert must be one of .*got 'poly'"),
        ({"experts": [Expert(C=0)]}, ValueError, "C of an Expert must be .*got 0"),
        ({"experts": [Expert(gamma=-1)]}, ValueError, "gamma of an Expert must be .*got -1"),
        ({"experts": [Expert(window=1)]}, ValueError, "window of an Expert must be .*got 1"),
        (
            {"experts": [Expert(estimator=LinearRegression())]},
            TypeError,
            "estimator .* classifier .*LinearRegr",
        ),
        ({"experts": [GaussianNB]}, TypeError, "an instance"),
        ({"experts": [5]}, TypeError, "estimator of an Expert must be .*got 5"),
    ],
)
def test_bad_parameters_are_refused_and_change_nothing(learner, params, error, words):
    A, b = blobs(30, 3)
    for method in ("fit", "partial_fit"):
        fresh = AdaptiveSVM(**params)
        known = dict(vars(fresh))
        with pytest.raises(error, match=words):
            getattr(fresh, method)(A, b)
        assert vars(fresh) == known
    before, good = bits(learner), learner.get_params(deep=False)
    learner.set_params(**params)
    for call in (lambda: learner.partial_fit(X, Y), lambda: learner.forget([59]), lambda: learner.fit(X, Y)):
        with pytest.raises(error, match=words):
            call()
    assert bits(learner.set_params(**good)) == before


@pytest.mark.parametrize(
    ("ids", "error", "words"),
    [
        ([59, 1000], ValueError, "keeps no row with the id 1000"),
        ([0], ValueError, "keeps no row with the id 0: the row was forgotten or dropped"),
        ([59, 59], ValueError, "59 more than once"),
        ([1.5], TypeError, "ids must be integers"),
        ([[59]], TypeError, "one dimension"),
        ("59", TypeError, "ids must be integers"),
    ],
)
def test_ids_that_cannot_be_forgotten(learner, ids, error, words):
    before = bits(learner)
    with pytest.raises(error, match=words):
        learner.forget(ids)
    assert bits(learner) == before
    assert bits(learner.forget([])) == before


def test_a_table_of_one_class_is_refused():
    A, b = blobs(20)
    with pytest.raises(ValueError, match="y has 1 class"):
        AdaptiveSVM().fit(A, np.zeros(20, int))
    with pytest.raises(ValueError, match="one class have a weight above 0"):
        AdaptiveSVM().fit(A, b, sample_weight=b.astype(float))
    with pytest.raises(ValueError, match="not in class_weight"):
        AdaptiveSVM(class_weight={7: 2.0}).fit(A, b)


def test_nothing_can_be_asked_of_an_unfitted_learner():
    fresh = AdaptiveSVM()
    for method in ("predict", "decision_function", "predict_proba", "forget"):
        with pytest.raises(NotFittedError):
            getattr(fresh, method)(X)
    for name in ("weights_", "experts_", "ids_", "n_kept_", "support_"):
        with pytest.raises(AttributeError, match="not fitted yet"):
            getattr(fresh, name)


def test_rows_beyond_the_range_of_a_kernel_cannot_be_asked_about(learner):
    with pytest.raises(ValueError, match="squared length inf"):
        learner.predict(HUGE)


def test_running_numbers_beyond_64_bits_are_refused(learner):
    learner.partial_fit(X[:1], Y[:1], ids=[2**63 - 1])
    before = bits(learner)
    with pytest.raises(ValueError, match="give ids"):
        learner.partial_fit(X, Y)
    assert bits(learner) == before
    assert learner.partial_fit(X, Y, ids=np.arange(-6, 0)).ids_[-1] == -1
