"""Gradient: the worst classified of those drawn, with the labels of no others."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB

from everlearn._base.selection import pick
from everlearn.query import Gradient
from everlearn.query._pool import generator, sample
from query.query_helpers import Given, column, three_class_model, two_class_model
from svm.lasvm_helpers import three_clouds, two_clouds

FULL = Gradient(pool_size=None)


class Named(Given):
    """Given scores, for classes of one's choice."""

    def __init__(self, *classes):
        self.classes_ = np.array(classes)


def test_known_answers():
    X, model = column(3.0, -0.5, 0.2, -4.0), Named(-1, 1)
    np.testing.assert_array_equal(FULL.utilities(model, X, [1, 1, -1, -1]), [-3.0, 0.5, 0.2, -4.0])
    np.testing.assert_array_equal(FULL.query(model, X, y=[1, 1, -1, -1]), [1])
    np.testing.assert_array_equal(FULL.query(model, X, n=2, y=[1, 1, -1, -1]), [1, 2])
    np.testing.assert_array_equal(FULL.query(Named("a", "b"), X, y=["b", "a", "a", "b"]), [3])


def test_several_classes():
    X = np.array([[0.0, 5.0, 1.0], [2.0, 2.5, -1.0], [9.0, 0.0, 8.0]])
    model = Named("ash", "oak", "yew")
    np.testing.assert_array_equal(FULL.utilities(model, X, ["oak", "ash", "yew"]), [-4.0, 0.5, 1.0])
    np.testing.assert_array_equal(FULL.query(model, X, y=["oak", "ash", "yew"]), [2])


@pytest.mark.parametrize("make", [two_class_model, three_class_model])
def test_the_same_choice_as_in_fit(make):
    model, X = make()
    y = np.roll(model.predict(X), 5)
    f = model.decision_function(X).reshape(len(X), -1)
    numbers = np.searchsorted(model.classes_, y).astype(np.int32)
    for seed in range(10):
        order = sample(generator(seed, 0), len(X), 50)
        place = pick("gradient", f[order], numbers[order], np.zeros(f.shape[1]))
        assert Gradient(random_state=seed).query(model, X, y=y)[0] == order[place]


@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=25), st.integers(1, 9))
def test_the_smallest_margin_and_the_first_drawn_of_equal_ones(rows, pool_size):
    f = [score for score, _ in rows]
    y = [1 if positive else -1 for _, positive in rows]
    asked = Gradient(pool_size, random_state=4).query(Named(-1, 1), column(*f), y=y)[0]
    drawn = range(len(f)) if pool_size >= len(f) else sample(generator(4, 0), len(f), pool_size)
    best = None
    for row in drawn:
        if best is None or y[row] * f[row] < y[best] * f[best]:
            best = row
    assert asked == best


@given(st.integers(0, 200))
def test_labels_of_rows_that_are_not_drawn_are_not_read(seed):
    X, model = column(*np.linspace(-2, 2, 40)), Named(0, 1)
    y = np.full(40, np.nan)
    drawn = sample(generator(seed, 0), 40, 10)
    y[drawn] = seed % 2
    assert Gradient(pool_size=10, random_state=seed).query(model, X, y=y)[0] in drawn
    with pytest.raises(ValueError, match="y has the label nan, which is not one of the model's classes"):
        Gradient(pool_size=11, random_state=seed).query(model, X, y=y)


@pytest.mark.parametrize("form", [list, pd.Series, lambda y: pd.Series(y, index=range(100, 100 + len(y)))])
def test_labels_in_what_they_come(form):
    model, X = two_class_model()
    y = np.roll(model.predict(X), 3)
    strategy = Gradient(random_state=0)
    np.testing.assert_array_equal(strategy.query(model, X, 4, y=form(y)), strategy.query(model, X, 4, y=y))


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_probabilities(data):
    X, y = data(200)
    model = GaussianNB().fit(X[:100], y[:100])
    p, rows = model.predict_proba(X[100:]), np.arange(100)
    numbers = np.searchsorted(model.classes_, y[100:])
    own = p[rows, numbers]
    p[rows, numbers] = -1
    np.testing.assert_allclose(FULL.utilities(model, X[100:], y[100:]), p.max(axis=1) - own, atol=1e-15)


# -------------------------------------------------------------------------------------------- what is refused


def test_without_labels():
    words = r"Gradient needs the labels of the rows that it selects from: pass them as y=..., or use Margin"
    for look in (FULL.query, FULL.utilities, Gradient().query):
        with pytest.raises(ValueError, match=words):
            look(Named(0, 1), column(0.0, 1.0))


@pytest.mark.parametrize("y", [[1], [0, 1, 0], [[0, 1]], 1])
def test_labels_of_another_number(y):
    for look in (FULL.query, FULL.utilities):
        with pytest.raises(
            ValueError, match=r"y must contain one label for each of the 2 rows of X, got shape"
        ):
            look(Named(0, 1), column(0.0, 1.0), y=y)


@pytest.mark.parametrize("label", [2, np.nan, "a"])
def test_labels_that_the_model_does_not_know(label):
    words = r"y has the label .*, which is not one of the model's classes \[0, 1\]"
    with pytest.raises(ValueError, match=words):
        FULL.query(Named(0, 1), column(0.0, 1.0), y=[0, label])


def test_a_model_that_does_not_name_its_classes():
    with pytest.raises(TypeError, match="Given has no classes_: it is unknown which score belongs"):
        FULL.query(Given(), column(0.0, 1.0), y=[0, 1])


@pytest.mark.parametrize("bad", [0, -1, 2.5, True])
def test_a_bad_pool_size(bad):
    words = r"'pool_size' of Gradient must be None or an integer from 1 to 2147483647, got"
    with pytest.raises(ValueError, match=words):
        Gradient(pool_size=bad).query(Named(0, 1), column(0.0), y=[0])
