"""Classifiers of scikit-learn and River as experts of AdaptiveSVM."""

import warnings

import numpy as np
import pytest
from river import dummy, forest, linear_model, multiclass, naive_bayes, neighbors, tree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from adaptive.adaptive_helpers import as_sparse, blobs
from everlearn import IDSVM, AdaptiveSVM
from everlearn.adaptive import Expert

SVMS = [Expert("linear"), Expert("rbf", window=20)]
MODELS = [
    GaussianNB(),
    DecisionTreeClassifier(),
    RandomForestClassifier(5),
    LogisticRegression(),
    RidgeClassifier(),  # decision values only
    SVC(),
    SVC(decision_function_shape="ovo"),  # a column for each pair of classes
    VotingClassifier([("a", GaussianNB()), ("b", DecisionTreeClassifier())]),  # predictions only
    BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=3),
    make_pipeline(StandardScaler(), LogisticRegression()),
    IDSVM(),
    naive_bayes.GaussianNB(),
    tree.HoeffdingTreeClassifier(grace_period=20),
    forest.ARFClassifier(n_models=3),
    neighbors.KNNClassifier(),
    multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
]
names = [f"{type(model).__module__.split('.')[0]} {type(model).__name__}" for model in MODELS]


def boxes(n):
    """Nine cells parallel to the axes of two columns, among columns that mean nothing: trees are at home."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 8))
    row, column = np.digitize(X[:, 0], [-0.33, 0.33]), np.digitize(X[:, 1], [-0.33, 0.33])
    return X, np.array([[0, 1, 1], [2, 0, 1], [2, 2, 0]])[row, column]


def in_blocks(learner, X, y, size=20):
    for start in range(0, len(y), size):
        learner.partial_fit(X[start : start + size], y[start : start + size])
    return learner


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=names)
def test_every_kind_of_model_votes(model, n_classes):
    X, y = blobs(160, n_classes, noise=0.5)
    y = 2 * y  # classes and their numbers differ
    learner = in_blocks(AdaptiveSVM(experts=[*SVMS, model], random_state=0), X[:100], y[:100])
    given = learner._committee.voters[-1].probabilities(learner._scaler.transform(X[100:]))
    np.testing.assert_allclose(given.sum(axis=1), 1.0)
    assert np.mean(learner.classes_[given.argmax(axis=1)] == y[100:]) > 0.6
    learner.partial_fit(X[:20] + 8, np.full(20, 99))  # a class that comes late
    assert (learner.predict(X[:20] + 8) == 99).mean() > 0.8


def test_a_classifier_for_two_classes_is_named_where_there_are_more():
    X, y = blobs(60, 3)
    with pytest.warns(RuntimeWarning, match="LogisticRegression.*OneVsRestClassifier"):
        AdaptiveSVM(experts=[*SVMS, linear_model.LogisticRegression()]).partial_fit(X, y)
    y = np.where(y > 1, 5, 3)  # two classes among three known ones
    learner = AdaptiveSVM(experts=[*SVMS, linear_model.LogisticRegression()])
    learner.partial_fit(X, y, classes=[1, 3, 5])
    given = learner._committee.voters[-1].probabilities(learner._scaler.transform(X))
    assert np.mean(learner.classes_[given.argmax(axis=1)] == y) > 0.7


def test_a_tree_takes_over_where_classes_are_boxes():
    X, y = boxes(900)
    plain = in_blocks(AdaptiveSVM(), X[:300], y[:300])
    tree_too = AdaptiveSVM(experts=["auto", DecisionTreeClassifier()], random_state=0)
    wooden = in_blocks(tree_too, X[:300], y[:300])
    assert wooden.weights_[-1] > 0.5
    assert wooden.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]) + 0.01


def test_the_model_is_the_one_of_its_window():
    X, y = blobs(150, 3)
    learner = in_blocks(AdaptiveSVM(experts=[Expert(estimator=GaussianNB(), window=40)]), X, y, 10)
    voter, rows = learner._committee.voters[0], learner._scaler.transform(X)
    assert set(voter.trained) == set(range(110, 150))  # ten of forty are new: it was trained with this block
    expected = GaussianNB().fit(rows[110:], y[110:])
    np.testing.assert_allclose(voter.probabilities(rows), expected.predict_proba(rows))


def test_a_model_is_trained_anew_when_a_tenth_is_new():
    class Counting(GaussianNB):
        trainings = 0

        def fit(self, X, y, sample_weight=None):
            Counting.trainings += 1
            return super().fit(X, y, sample_weight)

    X, y = blobs(300)
    in_blocks(AdaptiveSVM(experts=[*SVMS, Counting()]), X, y, 1)
    assert 30 < Counting.trainings < 80  # about log(300) / log(1.1), and at changes of scale


def test_weights_reach_the_model():
    X, y = blobs(80, noise=2.0)
    weight = np.where(y == 1, 5.0, 0.5)
    learner = AdaptiveSVM(experts=[GaussianNB()], class_weight={0: 2.0})
    learner.partial_fit(X, y, sample_weight=weight)
    voter, rows = learner._committee.voters[0], learner._scaler.transform(X)
    expected = GaussianNB().fit(rows, y, np.where(y == 0, 2.0, 1.0) * weight)
    np.testing.assert_allclose(voter.probabilities(rows), expected.predict_proba(rows))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5),
        BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=3),
        make_pipeline(StandardScaler(), RandomForestClassifier(5)),
        forest.ARFClassifier(n_models=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_random_state_decides_every_draw(model):
    X, y = blobs(80, 3)
    found = [
        AdaptiveSVM(experts=[model], random_state=seed).partial_fit(X, y).decision_function(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


# ----------------------------------------------------------------------------------------- models that fail


class Failing(ClassifierMixin, BaseEstimator):
    """Fails in one of its methods."""

    def __init__(self, where="fit"):
        self.where = where

    def fit(self, X, y):
        if self.where == "fit":
            raise OSError("no disk")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if self.where == "predict":
            raise ValueError("no idea")
        return np.full(X.shape[0], {"label": 99, "text": "a", "nan": np.nan}[self.where])


class Empty(ClassifierMixin, BaseEstimator):
    """Answers with probabilities that are none."""

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return np.full((X.shape[0], 2), np.nan)


@pytest.mark.parametrize("where", ["fit", "predict", "label", "text", "nan"])
def test_a_model_that_fails_abstains_with_a_warning(where):
    X, y = blobs(120)
    learner = AdaptiveSVM(experts=[*SVMS, Failing(where)])
    with pytest.warns(RuntimeWarning, match="'Failing' could not (be trained|predict) and abstains: "):
        in_blocks(learner, X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = learner._committee.voters[-1].probabilities(X)
        assert learner.weights_[-1] < 0.2
        assert learner.score(X, y) > 0.8
    shares = (np.bincount(y) + 0.5) / (len(y) + 1)
    np.testing.assert_allclose(given, np.tile(shares, (len(X), 1)))


def test_a_table_with_a_model_that_fails():
    X, y = blobs(120)
    with pytest.warns(RuntimeWarning, match="abstains: OSError: no disk"):
        learner = AdaptiveSVM(experts=[*SVMS, Failing()], random_state=0).fit(X, y)
    assert learner.score(X, y) > 0.8


def test_a_warning_that_is_an_error_undoes_the_call():
    X, y = blobs(60)
    learner = AdaptiveSVM(experts=[*SVMS, Failing()]).partial_fit(X[:5], np.zeros(5, int))
    before = learner.ids_.tolist()
    with pytest.raises(RuntimeWarning, match="abstains"):  # warnings are errors in tests
        learner.partial_fit(X, y)
    assert learner.ids_.tolist() == before


def test_answers_that_are_no_probabilities_are_even():
    X, y = blobs(60)
    learner = AdaptiveSVM(experts=[*SVMS, Empty()]).partial_fit(X, y)
    np.testing.assert_array_equal(learner._committee.voters[-1].probabilities(X), 0.5)


def test_a_model_that_takes_dense_rows_only_abstains_for_sparse_ones():
    X, y = blobs(60)
    with pytest.warns(RuntimeWarning, match="GaussianNB.*abstains.*dense"):
        AdaptiveSVM(experts=[*SVMS, GaussianNB()]).partial_fit(as_sparse(X), y)
    learner = AdaptiveSVM(experts=[*SVMS, DecisionTreeClassifier()])
    for turn, start in enumerate(range(0, 60, 10)):  # sparse and dense by turns
        part = X[start : start + 10]
        learner.partial_fit(part if turn % 2 else as_sparse(part), y[start : start + 10])
    assert learner.score(X, y) > 0.8


def test_a_river_model_without_an_answer_is_even():
    X, y = blobs(60)
    learner = AdaptiveSVM(experts=[*SVMS, dummy.NoChangeClassifier()]).partial_fit(X, y)
    assert learner._committee.voters[-1].probabilities(X).shape == (60, 2)
