"""Query strategies and models: what counts as scores, and the errors for what does not."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

from everlearn import LASVM
from everlearn.query import All, RampRegion, RecentMargin
from everlearn.query._scores import decision_scores, has_learned, margins
from query.query_helpers import Given, column
from svm.lasvm_helpers import three_clouds, two_clouds


class Returns:
    """A model that returns what it is told to."""

    def __init__(self, scores, classes=None):
        self.scores = scores
        if classes is not None:
            self.classes_ = np.arange(classes)

    def decision_function(self, X):
        return self.scores


def four_clouds():
    X, y = two_clouds(120)
    return X, y + 2 * (X[:, 1] > 0)


def test_two_classes_make_one_column():
    X, y = two_clouds(100)
    model = LASVM().fit(X, y)
    np.testing.assert_array_equal(decision_scores(model, X), model.decision_function(X)[:, np.newaxis])


def test_more_classes_make_a_column_each():
    X, y = three_clouds(100)
    model = LASVM().fit(X, y)
    np.testing.assert_array_equal(decision_scores(model, X), model.decision_function(X))


@pytest.mark.parametrize("scores", [[1, 2], [[1], [2]], np.float32([1, 2]), np.array([1, 2], dtype=object)])
def test_scores_become_numbers_in_two_dimensions(scores):
    found = decision_scores(Returns(scores), np.zeros((2, 3)))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[1.0], [2.0]])


def test_margins():
    np.testing.assert_array_equal(margins(column(-2.0, 0.0, 3.0)), [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(margins(np.array([[1.0, 4.0], [4.0, 1.0]])), [3.0, 3.0])
    np.testing.assert_array_equal(margins(np.array([[1.0, 4.0, 2.0], [5.0, 5.0, 0.0]])), [2.0, 0.0])


# ----------------------------------------------------------------------------------------- what is refused

STRATEGIES = [RampRegion(), RampRegion(s=-np.inf), RecentMargin(), RecentMargin(block_size=1)]


def refused(model, X, words, error=ValueError):
    for strategy in STRATEGIES:
        for call in (strategy.query, strategy.utilities):
            with pytest.raises(error, match=words):
                call(model, X)


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(), GaussianNB(), CalibratedClassifierCV(), object()]
)
def test_a_model_without_scores(model):
    name = type(model).__name__
    words = f"{name} has no decision_function, which this query strategy needs.*LASVM, SGDClassifier or SVC"
    refused(model, np.zeros((3, 2)), words, TypeError)


def test_a_pipeline_without_scores():
    X, y = two_clouds(30)
    refused(
        make_pipeline(StandardScaler(), GaussianNB()).fit(X, y), X, "Pipeline has no decision_func", TypeError
    )


def test_a_class_instead_of_a_model():
    refused(LASVM, np.zeros((3, 2)), "model is the class LASVM: pass a fitted instance", TypeError)


@pytest.mark.parametrize(
    "model", [LASVM(), SVC(), SGDClassifier(), make_pipeline(StandardScaler(), SGDClassifier())], ids=str
)
def test_a_model_that_has_learned_nothing(model):
    words = f"This {type(model).__name__} is not fitted: call fit or partial_fit"
    refused(model, np.zeros((3, 2)), words, NotFittedError)


@pytest.mark.parametrize(
    "rows", [[], np.zeros((0, 1)), sparse.csr_matrix((0, 1))], ids=["list", "dense", "sparse"]
)
def test_no_rows(rows):
    refused(Given(), rows, "X has no rows: pass at least one")
    with pytest.raises(ValueError, match="X has no rows"):
        All().query(Given(), rows)


def test_a_single_row_must_be_a_row():
    words = r"X must be two-dimensional, got shape \(3,\): pass a single row as X.reshape\(1, -1\)"
    refused(Given(), np.zeros(3), words)
    with pytest.raises(ValueError, match=words):
        All().query(Given(), np.zeros(3))


def test_something_without_rows():
    refused(Given(), 3, "Expected sequence or array-like", TypeError)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(bad):
    words = r"scores of Returns contain NaN or infinity \(first in row 1\): it has learned too few rows"
    refused(Returns([0.0, bad, bad]), np.zeros((3, 2)), words)
    refused(Returns([[0.0, 1.0, 2.0], [0.0, 1.0, bad], [bad, 0.0, 1.0]]), np.zeros((3, 2)), words)


@pytest.mark.parametrize(
    "scores", [np.zeros(2), np.zeros((2, 3)), np.zeros((3, 0)), np.zeros((3, 1, 1)), 0.0]
)
def test_scores_of_another_shape(scores):
    words = r"decision_function of Returns returned shape \(.*\) for 3 rows; it must return one score"
    refused(Returns(scores), np.zeros((3, 2)), words)


@pytest.mark.parametrize("data", [three_clouds, four_clouds])
@pytest.mark.parametrize("wrap", [lambda svc: svc, lambda svc: make_pipeline(StandardScaler(), svc)])
def test_scores_of_pairs_of_classes(data, wrap):
    X, y = data()
    pairs = wrap(SVC(decision_function_shape="ovo")).fit(X, y)
    refused(pairs, X, 'not one for each of its [34] classes: for SVC set decision_function_shape="ovr"')
    assert decision_scores(wrap(SVC(decision_function_shape="ovr")).fit(X, y), X).shape == (
        len(X),
        len(set(y)),
    )


def test_two_classes_have_one_pair():
    X, y = two_clouds(50)
    model = SVC(decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(decision_scores(model, X)[:, 0], model.decision_function(X))


def test_columns_that_do_not_fit_the_classes():
    refused(Returns(np.zeros((3, 4)), classes=3), np.zeros((3, 2)), "has 4 columns, not one for each")


def test_what_the_model_refuses_is_refused_with_its_words():
    X, y = two_clouds(50)
    model = LASVM().fit(X, y)
    refused(model, X[:, :2], "features")
    refused(model, np.full_like(X, np.nan), "NaN")


# --------------------------------------------------------------------------------------- has it learned yet?


def test_who_has_learned():
    X, y = two_clouds(50)
    for model in (LASVM(), SGDClassifier(), make_pipeline(StandardScaler(), SVC())):
        assert not has_learned(model)
        assert has_learned(model.fit(X, y))
    assert not has_learned(OneClassSVM().fit(X)), "no classes are no labels learned"
    assert not has_learned(Returns([0.0]))
    assert has_learned(Returns([0.0], classes=2))
