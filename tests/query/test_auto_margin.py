"""AutoMargin: draws one by one until enough lie within the margin, against a plain loop and LASVM's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everlearn import LASVM, LASVMG
from everlearn._base.selection import pick
from everlearn.query import AutoMargin
from everlearn.query._pool import generator, sample
from everlearn.query.auto_margin import violations
from query.query_helpers import Given, column, three_class_model, two_class_model
from svm.lasvm_helpers import two_clouds

scores = st.lists(st.sampled_from([0.0, 0.2, -0.9, 0.99, 1.0, -1.0, 1.5, -3.0]), min_size=1, max_size=40)


def plain(f, order, enough, most, reach):
    """As the thesis has it, for one question: draw, count, stop, take the nearest."""
    drawn, inside = [], 0
    for row in order[:most]:
        drawn.append(row)
        inside += bool((np.abs(f[row]) < reach).any())
        if inside == enough:
            break
    gap = [abs(f[row][0]) if len(f[row]) == 1 else np.diff(np.sort(f[row])[-2:])[0] for row in drawn]
    return drawn, drawn[int(np.argmin(gap))]


@given(scores, st.integers(1, 6), st.integers(1, 25), st.integers(0, 50))
def test_one_by_one(f, enough, most, seed):
    strategy = AutoMargin(n_within_margin=enough, max_pool_size=most, random_state=seed)
    order = sample(generator(seed, 0), len(f), len(f))
    X = column(*f)
    drawn, best = plain(X, order, enough, most, 1.0)
    assert strategy.query(Given(), X)[0] == best
    places, worth = strategy.candidates(Given(), X, 1, 0)
    assert places.tolist() == drawn
    np.testing.assert_array_equal(worth, strategy.utilities(Given(), X)[drawn])


@pytest.mark.parametrize("make", [two_class_model, three_class_model])
@pytest.mark.parametrize("enough", [1, 5, 30])
def test_with_the_violation_of_lasvm(make, enough):
    model, X = make()
    f = np.asarray(model.decision_function(X)).reshape(len(X), -1)
    delta = model._machine.native.delta
    for seed in range(10):
        strategy = AutoMargin(n_within_margin=enough, max_pool_size=50, random_state=seed)
        order = sample(generator(seed, 0), len(X), 50)
        assert strategy.query(model, X)[0] == plain(f, order, enough, 50, 1 + delta / 2)[1]


def test_the_same_choice_as_in_fit():
    model, X = two_class_model()
    f = model.decision_function(X)[:, np.newaxis]
    for seed in range(20):
        order = sample(generator(seed, 0), len(X), 100)
        place = pick("autoactive", f[order], np.zeros(100, dtype=np.int32), model._machine.native.delta)
        assert AutoMargin(random_state=seed).query(model, X)[0] == order[place]


def test_the_violation_widens_the_margin():
    X, y = two_clouds(60, 3)
    model = LASVM(C=100, gamma=2, random_state=0)
    model.partial_fit(X, y, classes=[0, 1])  # not finished: its violation is large
    delta = model._machine.native.delta
    f = model.decision_function(X)[:, np.newaxis]
    assert ((np.abs(f) >= 1) & (np.abs(f) < 1 + delta / 2)).sum() > 5
    for seed in range(10):
        order = sample(generator(seed, 0), len(X), len(X))
        drawn, best = plain(f, order, 5, 100, 1 + delta / 2)
        strategy = AutoMargin(random_state=seed)
        assert strategy.query(model, X, n=None).tolist() == sorted(drawn)
        assert strategy.query(model, X)[0] == best
    np.testing.assert_array_equal(violations(model), delta)
    np.testing.assert_array_equal(violations(make_pipeline(StandardScaler(), model)), delta)
    assert violations(LASVMG().fit(X, y)) == 0  # without a bias a step is made below 1
    assert violations(SGDClassifier().fit(X, y)) == 0


def test_rows_at_one_lie_outside():
    strategy = AutoMargin(n_within_margin=1, max_pool_size=100, random_state=0)
    assert len(strategy.query(Given(), column(*[1.0, -1.0] * 20), n=None)) == 40
    assert len(strategy.query(Given(), column(*[0.999] * 40), n=None)) == 1


def test_more_questions_at_a_time_need_more_within_the_margin():
    f = np.random.default_rng(0).uniform(-0.9, 0.9, 300)
    strategy = AutoMargin(n_within_margin=5, max_pool_size=100, random_state=0)
    assert len(strategy.query(Given(), column(*f), n=None)) == 5
    assert len(strategy.query(Given(), column(*f), n=3)) == 3
    asked = strategy.query(Given(), column(*f), n=20)
    assert asked.tolist() == sorted(sample(generator(0, 0), 300, 20))


def test_a_pipeline_with_lasvm():
    X, y = two_clouds(200, 3)
    model = make_pipeline(StandardScaler(), LASVM(random_state=0)).fit(X[:60], y[:60])
    inner, Z = model[-1], model[:-1].transform(X[60:])
    for seed in range(5):
        strategy = AutoMargin(random_state=seed)
        np.testing.assert_array_equal(strategy.query(model, X[60:]), strategy.query(inner, Z))


class HidesScores(LogisticRegression):
    @property
    def decision_function(self):
        raise AttributeError("hidden")


@pytest.mark.parametrize("model", [GaussianNB(), HidesScores()], ids=["GaussianNB", "HidesScores"])
def test_probabilities_have_no_margin(model):
    X, y = two_clouds(40)
    model.fit(X, y)
    words = f"AutoMargin needs a decision_function, which {type(model).__name__} does not have.*Use Margin"
    for look in (AutoMargin().query, AutoMargin().utilities):
        with pytest.raises(TypeError, match=words):
            look(model, X)


@pytest.mark.parametrize("name", ["n_within_margin", "max_pool_size"])
@pytest.mark.parametrize("bad", [0, -1, 2.5, None, True])
def test_bad_parameters(name, bad):
    words = f"'{name}' of AutoMargin must be an integer from 1 to 2147483647, got"
    with pytest.raises(ValueError, match=words):
        AutoMargin(**{name: bad}).query(Given(), column(0.0))
