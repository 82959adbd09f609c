"""Rules for pools in the loops of scikit-activeml, if it is installed; what is said if it is not."""

import pickle
import sys

import numpy as np
import pytest
from skactiveml.classifier import SklearnClassifier
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everlearn import LASVM
from everlearn.query import (
    AutoMargin,
    Gradient,
    Margin,
    RampRegion,
    Random,
    Submodular,
    activeml,
    as_skactiveml,
)
from svm.lasvm_helpers import three_clouds, two_clouds

# What scikit-activeml's wrapper says where its model cannot be fitted yet.
pytestmark = pytest.mark.filterwarnings("ignore:The 'base_estimator' could not be fitted:UserWarning")

STRATEGIES = [
    Random(random_state=0),
    Margin(pool_size=20, random_state=0),
    AutoMargin(random_state=0),
    Submodular(pool_size=20, random_state=0),
]


@pytest.fixture
def wrapper():
    return SklearnClassifier


def test_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "skactiveml", None)
    monkeypatch.setitem(sys.modules, "skactiveml.base", None)
    activeml._strategy_class.cache_clear()
    with pytest.raises(ImportError, match="needs scikit-activeml, which is not installed: pip install"):
        as_skactiveml(Margin())


@pytest.mark.parametrize("unfit", [Gradient(), RampRegion(), Margin, None], ids=str)
def test_strategies_that_will_not_do(unfit):
    with pytest.raises(
        TypeError,
        match="query_strategy must be a query strategy for pools that needs no labels, such as Margin",
    ):
        as_skactiveml(unfit)


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("ours", STRATEGIES, ids=repr)
def test_a_loop(ours, data, wrapper):
    X, truth = data(120)
    classes, numbers = np.unique(truth, return_inverse=True)
    y, strategy = np.full(len(X), np.nan), as_skactiveml(ours)
    model = wrapper(LASVM(random_state=0), classes=np.arange(len(classes)))
    for _ in range(15):  # from no label at all
        asked = strategy.query(X=X, y=y, clf=model, batch_size=2)
        assert np.isnan(y[asked]).all()
        assert len(set(asked)) == 2
        y[asked] = numbers[asked]
    assert model.fit(X, y).score(X, numbers) > 0.6


def test_known_answer_and_utilities(wrapper):
    X, truth = two_clouds(60)
    y = np.where(np.arange(60) < 20, truth, np.nan)
    strategy = as_skactiveml(Margin(pool_size=None))
    asked, utilities = strategy.query(
        X, y, wrapper(SVC(), classes=[0, 1]), batch_size=3, return_utilities=True
    )
    margins = np.abs(SVC().fit(X[:20], truth[:20]).decision_function(X))
    np.testing.assert_array_equal(asked, 20 + np.argsort(margins[20:])[:3])  # best first
    assert utilities.shape == (3, 60)
    assert np.isnan(utilities[:, :20]).all()
    np.testing.assert_array_equal(np.nanargmax(utilities, axis=1), asked)
    np.testing.assert_allclose(utilities[0, 20:], -margins[20:])


def test_candidates(wrapper):
    X, truth = two_clouds(60)
    y = np.where(np.arange(60) < 20, truth, np.nan)
    strategy, model = as_skactiveml(Margin(pool_size=None)), wrapper(GaussianNB(), classes=[0, 1])
    by_number = strategy.query(X, y, model, candidates=np.arange(30, 40))
    by_row, utilities = strategy.query(X, y, model, candidates=X[30:40], return_utilities=True)
    assert by_number[0] == 30 + by_row[0]
    assert utilities.shape == (1, 10)


def test_models_of_scikit_learn_and_models_that_are_fitted(wrapper):
    X, truth = two_clouds(60)
    y = np.where(np.arange(60) < 20, truth, np.nan)
    strategy, model = as_skactiveml(Margin(pool_size=None)), LogisticRegression()
    plain = strategy.query(X, y, model)
    assert not hasattr(model, "classes_")
    fitted = strategy.query(X, y, LogisticRegression().fit(X[:20], truth[:20]), fit_clf=False)
    wrapped = strategy.query(X, y, wrapper(LogisticRegression(), classes=[0, 1]))
    np.testing.assert_array_equal(plain, fitted)
    np.testing.assert_array_equal(plain, wrapped)
    for y in (np.full(60, np.nan), np.where(np.arange(60) == 7, 1.0, np.nan)):  # nothing to tell apart
        assert strategy.query(X, y, model)[0] == 0


def test_a_class_that_has_not_been_met(wrapper):
    X, truth = three_clouds(120)
    names, numbers = np.unique(truth, return_inverse=True)
    y = np.where((np.arange(120) < 60) & (numbers < 2), numbers, np.nan)
    asked = as_skactiveml(AutoMargin()).query(X, y, wrapper(LASVM(), classes=[0, 1, 2, 3]))
    assert np.isnan(y[asked]).all()
    assert len(names) == 3


def test_draws_follow_the_labels(wrapper):
    X = np.zeros((1000, 1))
    strategy, model = as_skactiveml(Random(random_state=0)), wrapper(GaussianNB(), classes=[0, 1])

    def run():
        y, order = np.full(1000, np.nan), []
        for _ in range(5):
            order.append(int(strategy.query(X, y, model)[0]))
            y[order[-1]] = len(order) % 2
        return order

    first = run()
    assert len(set(first)) == 5
    assert run() == first


def test_it_can_be_copied(wrapper):
    strategy = as_skactiveml(Margin(pool_size=7), missing_label="?")
    for copy in (clone(strategy), pickle.loads(pickle.dumps(strategy))):
        assert copy.query_strategy.pool_size == 7
        assert copy.missing_label == "?"
    assert strategy.set_params(query_strategy__pool_size=3).query_strategy.pool_size == 3
    assert np.isnan(as_skactiveml(Margin()).missing_label)
