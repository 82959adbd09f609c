"""Promises that every query strategy makes, for all that the package exports; more on pools in test_pool."""

import inspect
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from everlearn import LASVM, ActiveLearner, query
from everlearn.query._pool import PoolQueryStrategy
from everlearn.query._scores import margins
from everlearn.query._strategy import QueryStrategy
from query.query_helpers import Given, column, three_class_model, two_class_model
from svm.lasvm_helpers import assert_same, snapshot, three_clouds, two_clouds

BASES = (query.QueryStrategy, query.PoolQueryStrategy, query.StreamQueryStrategy)
PUBLIC = {name: getattr(query, name) for name in query.__all__}
CLASSES = {
    name: cls
    for name, cls in PUBLIC.items()
    if isinstance(cls, type) and issubclass(cls, QueryStrategy) and cls not in BASES
}
FOR_POOLS = [cls() for cls in CLASSES.values() if issubclass(cls, PoolQueryStrategy)]
FOR_STREAMS = [
    *(cls() for cls in CLASSES.values() if not issubclass(cls, PoolQueryStrategy)),
    query.RampRegion(s=-2),
    query.RampRegion(s=-np.inf),
    query.RecentMargin(block_size=1),
    query.RecentMargin(block_size=7),
]
MODELS = {
    "two classes": two_class_model,
    "three classes": three_class_model,
}
every_stream_strategy = pytest.mark.parametrize("strategy", FOR_STREAMS, ids=repr)


def test_strategies_are_enumerated():
    assert {"All", "RampRegion", "RecentMargin"} <= set(CLASSES)
    assert {"AutoMargin", "Gradient", "Margin", "Random"} <= {
        type(strategy).__name__ for strategy in FOR_POOLS
    }


@pytest.mark.parametrize("name", CLASSES)
def test_a_strategy_is_documented_with_an_example(name):
    assert ">>> " in inspect.getdoc(CLASSES[name])


@every_stream_strategy
@pytest.mark.parametrize("name", MODELS)
def test_looking_changes_nothing(strategy, name):
    model, X = MODELS[name]()
    before, rows, params = snapshot(model), X.copy(), deepcopy(vars(strategy))
    first = strategy.utilities(model, X), strategy.query(model, X), strategy.query(model, X, n=3)
    again = strategy.utilities(model, X), strategy.query(model, X), strategy.query(model, X, n=3)
    for a, b in zip(first, again, strict=True):
        assert_same(a, b)
    assert_same(snapshot(model), before)
    assert_same(X, rows)
    assert vars(strategy) == params


@every_stream_strategy
@pytest.mark.parametrize("name", MODELS)
def test_shape_and_order_of_the_answers(strategy, name):
    model, X = MODELS[name]()
    utilities, asked = strategy.utilities(model, X), strategy.query(model, X)
    assert utilities.shape == (len(X),)
    assert utilities.dtype == np.float64
    assert asked.dtype == np.intp
    assert (np.diff(asked) > 0).all()
    assert set(asked) <= set(range(len(X)))


@every_stream_strategy
def test_a_limit_keeps_the_most_worthy(strategy):
    model, X = two_class_model()
    utilities, asked = strategy.utilities(model, X), strategy.query(model, X)
    for n in (0, 1, 3, len(asked), len(asked) + 1, np.int64(2)):
        fewer = strategy.query(model, X, n=n)
        assert len(fewer) == min(n, len(asked))
        assert set(fewer) <= set(asked)
        assert (np.diff(fewer) > 0).all()
        left = np.setdiff1d(asked, fewer)
        if len(left) and len(fewer):
            assert utilities[fewer].min() >= utilities[left].max()


@every_stream_strategy
@pytest.mark.parametrize("n", [-1, 1.0, "two", True, np.nan, [1]])
def test_a_bad_limit_is_refused(strategy, n):
    with pytest.raises(ValueError, match=r"n must be None or an integer from 0 to 2147483647, got"):
        strategy.query(Given(), column(0.0, 1.0), n=n)


@every_stream_strategy
def test_groups_of_rows_are_scored_separately(strategy):
    model, X = two_class_model()
    size = strategy.rows_per_question
    alone = [start + strategy.query(model, X[start : start + size]) for start in range(0, len(X), size)]
    np.testing.assert_array_equal(strategy.query(model, X), np.concatenate(alone))


@every_stream_strategy
def test_asking_every_row_is_what_it_says(strategy):
    asked = strategy.query(Given(), column(0.0, 1e6, -1e6, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0))
    assert strategy.asks_every_row == (len(asked) == 10)


# -------------------------------------------------------------------------- what a strategy says of itself

every_strategy = pytest.mark.parametrize("strategy", [*FOR_STREAMS, *FOR_POOLS], ids=repr)


@every_strategy
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_all_that_a_strategy_says_it_needs(strategy, name):
    model, X = MODELS[name]()
    scores = model.decision_function(X).reshape(len(X), -1)
    if strategy.uses_scores_only:
        np.testing.assert_array_equal(strategy.utilities_from_scores(scores), strategy.utilities(model, X))
    if strategy.uses_margin:
        np.testing.assert_array_equal(strategy.utilities(model, X), -margins(scores))
        assert all("near the boundary between" in reason for reason in strategy.reasons(model, X))
    elif not strategy.uses_scores_only:
        with pytest.raises(NotImplementedError, match=strategy.name):
            strategy.utilities_from_scores(scores)
    assert len(strategy.reasons(model, X[:7])) == 7


@every_strategy
def test_a_strategy_takes_what_it_says_it_needs(strategy):
    parameters = inspect.signature(strategy.query).parameters
    assert strategy.needs_pool == ("draw" in parameters) == isinstance(strategy, PoolQueryStrategy)
    assert strategy.needs_labels == ("y" in parameters)


@pytest.mark.parametrize("strategy", FOR_POOLS, ids=repr)
def test_the_largest_batch_is_what_it_says(strategy):
    model, X = two_class_model()
    X = np.repeat(X, 11, axis=0)
    y = {"y": np.zeros(len(X), dtype=int)} if strategy.needs_labels else {}
    most = strategy.max_batch_size
    assert len(strategy.query(model, X, most or len(X), **y)) == (most or len(X))
    if most is not None:
        with pytest.raises(ValueError, match=f"n={most + 1} is larger than .*={most} of {strategy.name}"):
            strategy.query(model, X, most + 1, **y)


def test_a_subclass_that_selects_in_its_own_way_is_called():
    class Last(query.Margin):
        def query(self, model, X, n=1, *, draw=0):
            return np.arange(len(X))[-n:]

    class Named(query.Margin):
        pass

    assert query.Margin.uses_scores_only
    assert Named.uses_scores_only
    assert not Last.uses_scores_only
    X, y = two_clouds(60)
    run = ActiveLearner(LASVM(), Last()).run(X, y, 5, initial_labels=2)
    assert {record["chosen_by"] for record in run.history[4:]} == {"Last"}


# ------------------------------------------------------------------------------------- rows in what they come

FORMATS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "pandas": pd.DataFrame,
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
}


@every_stream_strategy
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_answer(strategy, name):
    plain, X = two_class_model()
    model, _ = two_class_model(FORMATS[name])
    given = FORMATS[name](X)
    np.testing.assert_array_equal(strategy.query(model, given), strategy.query(plain, X))
    np.testing.assert_array_equal(strategy.utilities(model, given), strategy.utilities(plain, X))


def test_names_of_columns_reach_the_model():
    X, y = two_clouds(100, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LASVM(gamma=0.3).fit(frame, y)
    asked = query.RampRegion().query(model, frame)
    np.testing.assert_array_equal(asked, np.flatnonzero(np.abs(model.decision_function(frame)) <= 1))
    with pytest.raises(ValueError, match="feature names"):
        query.RampRegion().query(model, frame[["c", "b", "a"]])


# --------------------------------------------------------------------------------------- models of every kind

CLASSIFIERS = {
    "LASVM": LASVM(random_state=0),
    "SGDClassifier": SGDClassifier(random_state=0),
    "SVC": SVC(),
    "LinearSVC": LinearSVC(),
    "pipeline": make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
}


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_any_classifier_with_scores_will_do(name, data):
    X, y = data(150)
    model = clone(CLASSIFIERS[name]).fit(X, y)
    f = model.decision_function(X).reshape(len(X), -1)
    asked = query.RampRegion().query(model, X)
    np.testing.assert_array_equal(asked, np.flatnonzero((np.abs(f) <= 1).any(axis=1)))
    asked = query.RecentMargin(block_size=10).query(model, X)
    np.testing.assert_array_equal(asked // 10, np.arange(15))


# ------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("strategy", [*FOR_STREAMS, *FOR_POOLS], ids=repr)
def test_a_strategy_can_be_copied_and_printed(strategy):
    for copy in (clone(strategy), pickle.loads(pickle.dumps(strategy)), deepcopy(strategy)):
        assert type(copy) is type(strategy)
        assert copy.get_params() == strategy.get_params()
        assert copy is not strategy
    assert eval(repr(strategy), {**CLASSES, "inf": np.inf}).get_params() == strategy.get_params()


def test_how_a_strategy_is_printed():
    assert repr(query.All()) == "All()"
    assert repr(query.RampRegion(s=-2)) == "RampRegion(s=-2)"
    assert repr(query.RecentMargin()) == "RecentMargin(block_size=5)"


@pytest.mark.parametrize("name", CLASSES)
def test_the_constructor_only_stores(name):
    marks = {key: object() for key in CLASSES[name]().get_params()}
    strategy = CLASSES[name](**marks)
    assert vars(strategy) == marks
    assert set(marks) == set(strategy._constraints)


def test_parameters_can_be_set():
    strategy = query.RecentMargin()
    assert strategy.set_params(block_size=3) is strategy
    assert strategy.get_params() == {"block_size": 3}
    assert strategy.set_params() is strategy
    with pytest.raises(
        ValueError, match=r"RecentMargin has no parameter 'k'; its parameters are \['block_size'\]"
    ):
        strategy.set_params(block_size=4, k=1)
    assert strategy.block_size == 3
    with pytest.raises(ValueError, match="All has no parameter 's'"):
        query.All().set_params(s=-1)


def test_parameters_can_be_searched_through_an_object_that_holds_a_strategy():
    class Loop(BaseEstimator):
        def __init__(self, strategy=None):
            self.strategy = strategy

    loop = clone(Loop(strategy=query.RecentMargin())).set_params(strategy__block_size=9)
    assert loop.get_params()["strategy__block_size"] == 9
    assert repr(loop) == "Loop(strategy=RecentMargin(block_size=9))"
