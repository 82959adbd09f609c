"""Promises of every query strategy for pools: nothing changes, the generator included; any format of X."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everlearn import LASVM, ActiveLearner
from everlearn.datasets import make_banana
from everlearn.query import AutoMargin, Gradient, Margin, Random, Submodular, _questions, learn_stream
from everlearn.query._pool import best_first, generator, sample
from everlearn.query._scores import class_scores
from property_helpers import property_test
from query.query_helpers import Given, column, three_class_model, two_class_model
from query.test_strategies import FORMATS
from svm.lasvm_helpers import assert_same, snapshot, three_clouds, two_clouds

STRATEGIES = [
    Random(random_state=3),
    Margin(random_state=3),
    Margin(pool_size=7, random_state=3),
    Margin(pool_size=None),
    AutoMargin(random_state=3),
    AutoMargin(n_within_margin=2, max_pool_size=9, random_state=3),
    Gradient(random_state=3),
    Gradient(pool_size=None),
    Submodular(pool_size=7, random_state=3),
    Submodular(pool_size=None),
]
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
MODELS = {"two classes": two_class_model, "three classes": three_class_model}


def labels_for(strategy, model, X):
    """The labels that Gradient needs; some right, some wrong."""
    if not isinstance(strategy, Gradient):
        return {}
    return {"y": np.roll(model.predict(X), 3)}


class OnlyProbabilities(BaseEstimator):
    """A classifier of which only the probabilities are shown."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.fitted_ = clone(self.model).fit(X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X):
        return self.fitted_.predict(X)

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)


# ------------------------------------------------------------------------------------------- nothing changes


@every_strategy
@pytest.mark.parametrize("name", MODELS)
def test_looking_changes_nothing(strategy, name):
    model, X = MODELS[name]()
    y = labels_for(strategy, model, X)
    before, rows, params = snapshot(model), X.copy(), deepcopy(vars(strategy))
    state = np.random.get_state()  # noqa: NPY002 -- that of others

    def look():
        return (
            strategy.utilities(model, X, **y),
            strategy.query(model, X, **y),
            strategy.query(model, X, n=3, draw=2, **y),
        )

    for a, b in zip(look(), look(), strict=True):
        assert_same(a, b)
    assert_same(snapshot(model), before)
    assert_same(X, rows)
    assert vars(strategy) == params
    again = np.random.get_state()  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(state, again, strict=True))


@every_strategy
def test_a_generator_is_left_as_it_is(strategy):
    model, X = two_class_model()
    y, random = labels_for(strategy, model, X), np.random.RandomState(5)
    random.random_sample(3)
    strategy = clone(strategy).set_params(random_state=random)
    before = random.get_state()
    first, again = (strategy.query(model, X, n=4, **y) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert all(np.array_equal(a, b) for a, b in zip(before, random.get_state(), strict=True))


def test_the_state_of_a_generator_counts():
    random, found = np.random.RandomState(5), set()
    for _ in range(20):
        found.add(int(Random(random).query(Given(), np.zeros((1000, 1)))[0]))
        random.random_sample()
    assert len(found) > 10


@every_strategy
def test_draws_differ_by_their_number(strategy):
    model, X = two_class_model()
    y = labels_for(strategy, model, X)
    found = {tuple(strategy.query(model, X, **y, draw=number)) for number in range(12)}
    assert (len(found) == 1) == (strategy.get_params().get("pool_size", 0) is None)


def test_without_a_seed_every_call_draws_anew():
    X = np.zeros((10_000, 1))
    assert len({int(Random().query(Given(), X)[0]) for _ in range(20)}) > 10


@pytest.mark.parametrize("strategy", [Random(), Margin(pool_size=5), AutoMargin()], ids=repr)
def test_the_same_seed_draws_the_same_for_ever(strategy):
    """Saved runs are replayed with another release of NumPy: these numbers must never change."""
    X = np.zeros((100, 1))
    drawn = [
        int(strategy.set_params(random_state=7).query(Given(), X, draw=number)[0]) for number in range(3)
    ]
    assert drawn == [
        int(np.random.RandomState(np.random.MT19937(np.random.SeedSequence([7, k]))).random_sample() * 100)
        for k in range(3)
    ]


# ------------------------------------------------------------------------------------------------ the answers


@every_strategy
@pytest.mark.parametrize("name", MODELS)
def test_shape_and_order_of_the_answers(strategy, name):
    model, X = MODELS[name]()
    y = labels_for(strategy, model, X)
    utilities = strategy.utilities(model, X, **y)
    assert utilities.shape == (len(X),)
    assert utilities.dtype == np.float64
    for n in (0, 1, np.int64(2), 5):
        asked = strategy.query(model, X, n, **y)
        assert asked.dtype == np.intp
        assert len(asked) == n
        assert (np.diff(asked) > 0).all()
        assert set(asked) <= set(range(len(X)))


@every_strategy
def test_what_is_asked_is_the_best_of_what_is_drawn(strategy):
    model, X = two_class_model()
    y = labels_for(strategy, model, X)
    drawn, utilities = strategy.query(model, X, n=None, **y), strategy.utilities(model, X, **y)
    if isinstance(strategy, Random):
        assert len(drawn) == len(X)
        return
    asked = strategy.query(model, X, **y)
    assert asked[0] in drawn
    assert utilities[asked[0]] == utilities[drawn].max()


@every_strategy
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_pool_smaller_than_the_draw_is_searched_in_full(strategy, rows):
    model, X = two_class_model()
    X = X[:rows]
    y = labels_for(strategy, model, X)
    np.testing.assert_array_equal(strategy.query(model, X, n=7, **y), np.arange(rows))
    if not isinstance(strategy, Random):
        assert strategy.query(model, X, **y)[0] == strategy.utilities(model, X, **y).argmax()


@every_strategy
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_answer(strategy, name):
    plain, X = two_class_model()
    model, _ = two_class_model(FORMATS[name])
    given, y = FORMATS[name](X), labels_for(strategy, plain, X)
    np.testing.assert_array_equal(strategy.query(model, given, 3, **y), strategy.query(plain, X, 3, **y))
    np.testing.assert_array_equal(strategy.utilities(model, given, **y), strategy.utilities(plain, X, **y))


CLASSIFIERS = {
    "LASVM": LASVM(random_state=0),
    "SVC": SVC(),
    "SGDClassifier": SGDClassifier(random_state=0),
    "GaussianNB": GaussianNB(),
    "probabilities": OnlyProbabilities(LogisticRegression()),
}


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_any_classifier_will_do(name, data):
    X, y = data(150)
    model = clone(CLASSIFIERS[name]).fit(X, y)
    if hasattr(model, "decision_function"):
        f = model.decision_function(X)
        nearest = np.abs(f) if f.ndim == 1 else np.diff(np.sort(f, axis=1)[:, -2:])[:, 0]
    else:
        nearest = np.diff(np.sort(model.predict_proba(X), axis=1)[:, -2:])[:, 0]
    asked = Margin(pool_size=None).query(model, X, n=5)
    np.testing.assert_allclose(np.sort(nearest[asked]), np.sort(nearest)[:5], atol=1e-12)
    wrong = Gradient(pool_size=None).query(model, X, n=3, y=y)
    assert (model.predict(X)[wrong] != y[wrong]).all()


def test_probabilities_become_scores():
    X, y = two_clouds(80)
    model = GaussianNB().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(class_scores(model, X), (p[:, 1] - p[:, 0])[:, np.newaxis])
    np.testing.assert_array_equal(class_scores(model, X)[:, 0] > 0, model.predict(X) == 1)
    X, y = three_clouds(80)
    model = GaussianNB().fit(X, y)
    np.testing.assert_array_equal(class_scores(model, X), model.predict_proba(X))


def test_scores_come_before_probabilities():
    X, y = two_clouds(80)
    model = LogisticRegression().fit(X, y)
    np.testing.assert_array_equal(class_scores(model, X)[:, 0], model.decision_function(X))


# --------------------------------------------------------------------------------------------------- the draw


@given(rows=st.integers(1, 60), share=st.floats(0, 1), seed=st.integers(0, 2**32 - 1))
def test_a_draw_is_without_replacement_and_a_longer_one_goes_on(rows, share, seed):
    count = int(share * rows)
    drawn = sample(generator(seed, 0), rows, rows)
    assert sorted(drawn) == list(range(rows))
    shorter = sample(generator(seed, 0), rows, count)
    random = generator(seed, 0)
    order = list(range(rows))  # the shuffle as the books have it
    for place, u in enumerate(random.random_sample(count)):
        other = place + int(u * (rows - place))
        order[place], order[other] = order[other], order[place]
    np.testing.assert_array_equal(shorter, order[:count])


def test_every_draw_is_equally_likely():
    rows, count, rounds = 5, 2, 5_000
    found = np.zeros((rows, rows))
    for number in range(rounds):
        first, second = sample(generator(1, number), rows, count)
        found[first, second] += 1
    pairs = found[~np.eye(rows, dtype=bool)]
    assert np.diag(found).sum() == 0
    assert stats.chisquare(pairs).pvalue > 1e-3  # the seeds are fixed: it does not fail by chance


# -------------------------------------------------------------------------------------------- what is refused


@every_strategy
@pytest.mark.parametrize("n", [-1, 1.0, "two", True, np.nan, [1]])
def test_a_bad_limit_is_refused(strategy, n):
    with pytest.raises(ValueError, match=r"n must be None or an integer from 0 to 2147483647, got"):
        strategy.query(Given(), column(0.0, 1.0), n=n)


@every_strategy
@pytest.mark.parametrize("draw", [-1, 1.0, "two", True, None])
def test_a_bad_number_of_a_draw_is_refused(strategy, draw):
    with pytest.raises(ValueError, match=r"draw must be an integer from 0 to 2147483647, got"):
        strategy.query(Given(), column(0.0, 1.0), draw=draw)


@every_strategy
@pytest.mark.parametrize("random_state", [-1, 2**32, 1.5, "x", True, np.random.default_rng(0)])
def test_a_bad_random_state_is_refused(strategy, random_state):
    words = r"'random_state' of \w+ must be None, an integer from 0 to 4294967295 or a RandomState, got"
    for look in ("query", "utilities"):
        with pytest.raises(ValueError, match=words):
            getattr(clone(strategy).set_params(random_state=random_state), look)(Given(), column(0.0, 1.0))


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (Margin(pool_size=4), "n=5 is larger than pool_size=4 of Margin: set pool_size to at least 5"),
        (Gradient(pool_size=4), "n=5 is larger than pool_size=4 of Gradient"),
        (
            AutoMargin(max_pool_size=4),
            "n=5 is larger than max_pool_size=4 of AutoMargin: set max_pool_size to at least 5",
        ),
    ],
    ids=["Margin", "Gradient", "AutoMargin"],
)
def test_more_than_are_drawn(strategy, words):
    with pytest.raises(ValueError, match=words):
        strategy.query(Given(), np.zeros((50, 1)), n=5)


@every_strategy
def test_no_rows_and_a_single_row(strategy):
    with pytest.raises(ValueError, match="X has no rows: pass at least one"):
        strategy.query(Given(), np.zeros((0, 1)))
    with pytest.raises(ValueError, match=r"pass a single row as X.reshape\(1, -1\)"):
        strategy.query(Given(), np.zeros(3))


LOOKING = [Margin(), AutoMargin(), Gradient(), Submodular()]


@pytest.mark.parametrize("strategy", LOOKING, ids=repr)
def test_models_that_will_not_do(strategy):
    y = {"y": [0, 0]} if isinstance(strategy, Gradient) else {}
    for look in (strategy.query, strategy.utilities):
        with pytest.raises(NotFittedError, match="This LASVM is not fitted"):
            look(LASVM(), np.zeros((2, 2)), **y)
        with pytest.raises(TypeError, match="model is the class LASVM: pass a fitted instance"):
            look(LASVM, np.zeros((2, 2)), **y)
        with pytest.raises(TypeError, match=r"object has n.*decision_function"):
            look(object(), np.zeros((2, 2)), **y)


@pytest.mark.parametrize("strategy", [Margin(), Gradient(), Submodular()], ids=repr)
def test_a_model_with_neither_scores_nor_probabilities(strategy):
    y = {"y": [0, 0]} if isinstance(strategy, Gradient) else {}
    words = (
        "object has neither decision_function nor predict_proba, and this query strategy needs one of them"
    )
    with pytest.raises(TypeError, match=words):
        strategy.query(object(), np.zeros((2, 2)), **y)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_a_stream_takes_no_strategy_for_pools(strategy):
    X, y = two_clouds(30)
    with pytest.raises(TypeError, match=r"for streams, such as RampRegion\(\), not one for pools"):
        learn_stream(LASVM(), strategy, X, y)
    assert strategy.needs_pool
    assert not hasattr(strategy, "rows_per_question")


@property_test(30)
@given(st.integers(0, 10**6))
def test_utilities_depend_on_nothing_random(seed):
    X = column(*np.random.default_rng(0).normal(size=40))
    for strategy in (Random(seed), Margin(pool_size=3, random_state=seed), AutoMargin(random_state=seed)):
        np.testing.assert_array_equal(
            strategy.utilities(Given(), X),
            clone(strategy).set_params(random_state=None).utilities(Given(), X),
        )


@pytest.mark.parametrize("most", [None, 0, 1, 3, 40])
@pytest.mark.parametrize("values", [2, 1000], ids=["ties", "few ties"])
def test_best_first_is_the_head_of_a_stable_sort(most, values):
    utilities = np.random.default_rng(0).integers(0, values, 300) / 7
    for spoiled in ([], [5], [5, 250]):
        utilities[spoiled] = np.nan
        expected = np.argsort(-utilities, kind="stable")[:most]
        assert np.array_equal(best_first(utilities, most), expected)


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_pool_scored_in_blocks_gives_the_same_questions(monkeypatch, batch_size, form):
    X, y = make_banana(400, random_state=0)
    X[200:300] = X[:100]  # ties

    def questions():
        loop = ActiveLearner(LASVM(C=5, gamma=1.0), Margin(pool_size=None), random_state=0)
        loop.run(form(X), y, max_labels=40, batch_size=batch_size)
        return [record["row"] for record in loop.history]

    whole = questions()
    monkeypatch.setattr(_questions, "_ROWS_AT_ONCE", 37)
    assert questions() == whole
