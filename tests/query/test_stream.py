"""learn_stream: the questions, labels and models of a plain loop, and no label that was not asked for."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from everlearn import LASVM
from everlearn.query import All, RampRegion, RecentMargin, learn_stream
from everlearn.query import stream as stream_module
from query.query_helpers import Given, Notes, in_ramp, plain_loop, smallest_margin, what_is_learned
from svm.lasvm_helpers import (
    assert_same,
    assert_same_model,
    in_blocks,
    learned,
    snapshot,
    three_clouds,
    two_clouds,
    without_rivals,
)

DATA = {"two classes": (two_clouds, [0, 1]), "three classes": (three_clouds, ["ash", "oak", "yew"])}
MODELS = {
    "LASVM": LASVM(C=2, gamma=0.3),
    "LASVM, linear": LASVM(kernel="linear"),
    "SGDClassifier": SGDClassifier(alpha=0.01, learning_rate="constant", eta0=0.1, random_state=0),
    "SGDClassifier, averaged": SGDClassifier(alpha=0.1, average=True, random_state=0),
}
CHOICES = {
    "RampRegion": (RampRegion(), in_ramp, 1),
    "RampRegion(s=-1.2)": (RampRegion(s=-1.2), partial(in_ramp, reach=1.2), 1),
    "RecentMargin": (RecentMargin(), smallest_margin, 5),
    "RecentMargin(block_size=3)": (RecentMargin(block_size=3), smallest_margin, 3),
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_plain_loop(name, data, choice):
    make, classes = DATA[data]
    strategy, choose, h = CHOICES[choice]
    X, y = make(403)
    plain, model = clone(MODELS[name]), clone(MODELS[name])
    wanted = plain_loop(plain, choose, h, X, y, classes)
    asked = learn_stream(model, strategy, X, y, classes=classes)
    assert 0 < len(wanted) < len(y)
    np.testing.assert_array_equal(asked, wanted)
    assert asked.dtype == np.intp
    assert_same(what_is_learned(model), what_is_learned(plain))


@pytest.mark.parametrize("most", [1, 2, 7, 1000])
def test_how_far_rows_are_judged_ahead_changes_nothing(monkeypatch, most):
    X, y = two_clouds(700)
    plain = LASVM(C=2, gamma=0.3)
    wanted = plain_loop(plain, in_ramp, 1, X, y, [0, 1])
    monkeypatch.setattr(stream_module, "_MAX_LOOKAHEAD", most)
    model = LASVM(C=2, gamma=0.3)
    np.testing.assert_array_equal(learn_stream(model, RampRegion(), X, y), wanted)
    assert_same(learned(model), learned(plain))


class Counting(Given):
    """Two classes, scores as given, never moved by what it learns; counts calls."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.calls = self.judged = 0

    def decision_function(self, X):
        self.calls += 1
        self.judged += len(X)
        return super().decision_function(X)

    def partial_fit(self, X, y):
        return self


def test_rows_that_are_not_asked_about_are_cheap():
    model, X = Counting(), np.full((6400, 1), 5.0)
    assert learn_stream(model, RampRegion(), X, np.zeros(6400)).shape == (0,)
    assert model.calls < 110
    assert model.judged == 6400


@pytest.mark.parametrize("gap", [1, 2, 10, 100])
def test_little_is_judged_in_vain(gap):
    model, X = Counting(), np.full((6400, 1), 5.0)
    X[::gap] = 0
    np.testing.assert_array_equal(
        learn_stream(model, RampRegion(), X, np.zeros(6400)), np.arange(0, 6400, gap)
    )
    assert model.judged < 2.5 * 6400


# ------------------------------------------------------------------------------------- which labels are read


@pytest.mark.parametrize("data", DATA)
def test_no_label_is_read_of_a_row_outside_the_ramp(data):
    make, classes = DATA[data]
    X, y = make(500)
    model, f_when_asked = LASVM(C=2, gamma=0.3), []

    def oracle(numbers, rows):
        f = model.decision_function(rows) if hasattr(model, "classes_") else np.zeros(len(rows))
        f_when_asked.append(np.abs(f).min())
        return y[numbers]

    asked = learn_stream(model, RampRegion(), X, oracle, classes=classes)
    assert 0 < len(asked) < len(y)
    assert max(f_when_asked) <= 1
    assert model.n_iter_ == len(asked) or data == "three classes"  # every row learned was asked about
    assert model._rows_seen == len(asked)


@pytest.mark.parametrize("strategy", [RampRegion(), RecentMargin()], ids=repr)
def test_labels_that_are_not_asked_for_may_be_anything(strategy):
    X, y = two_clouds(300)
    model = LASVM(gamma=0.3)
    asked = learn_stream(model, strategy, X, y)
    poisoned = np.full(300, np.nan)
    poisoned[asked] = y[asked]
    again = LASVM(gamma=0.3)
    np.testing.assert_array_equal(learn_stream(again, strategy, X, poisoned, classes=[0, 1]), asked)
    assert_same_model(again, model)


@pytest.mark.parametrize(
    "strategy", [All(), RampRegion(), RecentMargin(), RecentMargin(block_size=1)], ids=repr
)
def test_the_oracle_is_asked_once_for_each_row_learned(strategy):
    X, y = two_clouds(700)
    notes = Notes(y)
    asked = learn_stream(LASVM(gamma=0.3), strategy, X, notes, classes=[0, 1])
    assert notes.numbers == asked.tolist()
    np.testing.assert_array_equal(np.vstack(notes.rows), X[asked])


@pytest.mark.parametrize("strategy", [All(), RampRegion(), RecentMargin()], ids=repr)
def test_a_function_answers_as_an_array_does(strategy):
    X, y = two_clouds(400)
    by_array, by_function = LASVM(gamma=0.3), LASVM(gamma=0.3)
    asked = learn_stream(by_array, strategy, X, y)
    np.testing.assert_array_equal(
        learn_stream(by_function, strategy, X, lambda numbers, rows: y[numbers].tolist(), classes=[0, 1]),
        asked,
    )
    assert_same(snapshot(by_function), snapshot(by_array))


@pytest.mark.parametrize("rows", [1, 4, 5, 23, 300])
@pytest.mark.parametrize("h", [1, 2, 5, 7])
def test_one_question_for_every_block(rows, h):
    X, y = two_clouds(rows)
    asked = learn_stream(LASVM(gamma=0.3), RecentMargin(block_size=h), X, y, classes=[0, 1])
    np.testing.assert_array_equal(asked // h, np.arange(rows // h))


def test_a_model_that_has_learned_nothing_asks_about_the_first_rows():
    X, y = two_clouds(100)
    assert learn_stream(LASVM(gamma=0.3), RampRegion(), X, y)[0] == 0
    assert learn_stream(LASVM(gamma=0.3), RecentMargin(block_size=7), X, y)[0] == 0


def test_a_stream_that_begins_with_one_class():
    X, y = two_clouds(300)
    order = np.argsort(y, kind="stable")
    asked = learn_stream(LASVM(gamma=0.3), RampRegion(), X[order], y[order])
    first = np.flatnonzero(y[order] == 1)[0]
    np.testing.assert_array_equal(asked[: first + 1], np.arange(first + 1))


# ------------------------------------------------------------------------------------------------- every row

EVERY_ROW = [All(), RecentMargin(block_size=1), RampRegion(s=-np.inf)]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("strategy", EVERY_ROW, ids=repr)
def test_strategies_that_ask_about_every_row_are_one(strategy, name):
    X, y = two_clouds(300)
    reference, model = clone(MODELS[name]), clone(MODELS[name])
    learn_stream(reference, All(), X, y)
    np.testing.assert_array_equal(learn_stream(model, strategy, X, y), np.arange(300))
    assert_same(what_is_learned(model), what_is_learned(reference))


@pytest.mark.parametrize("shuffle", [True, False])
def test_other_models_learn_every_row_one_by_one(shuffle):
    X, y = three_clouds(150)
    plain, model = (SGDClassifier(shuffle=shuffle, random_state=0) for _ in range(2))
    plain_loop(plain, lambda f: 0, 1, X, y, np.unique(y))
    learn_stream(model, All(), X, y)
    assert_same(what_is_learned(model), what_is_learned(plain))


class Weighted(LASVM):
    """Gives each row a cost of its own, so that no step has a second choice as good."""

    weights = None

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes, sample_weight=[Weighted.weights[x] for x in X[:, 0]])


def test_learners_get_many_rows_in_a_call_and_learn_them_one_by_one(monkeypatch):
    X, y, weights = without_rivals(30, seed=13)
    monkeypatch.setattr(Weighted, "weights", dict(zip(X[:, 0], weights, strict=True)))
    plain, model, notes = Weighted(C=0.005, gamma=0.05), Weighted(C=0.005, gamma=0.05), Notes(y)
    plain_loop(plain, lambda f: 0, 1, X, y, [-1, 1])
    learn_stream(model, All(), X, notes, classes=[-1, 1])
    assert notes.calls == 1
    np.testing.assert_array_equal(model.support_, plain.support_)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("strategy", [All(), RampRegion(), RecentMargin(block_size=2)], ids=repr)
def test_what_depends_on_features_is_taken_from_the_first_rows_of_the_stream(strategy):
    X, y = two_clouds(1700)
    model = LASVM()
    learn_stream(model, strategy, X, y)
    assert model._machine.spec["gamma"] == pytest.approx(1 / (X.shape[1] * X[:1000].var()))


def test_blocks_are_those_of_partial_fit():
    X, y = two_clouds(700)
    plain = LASVM(gamma=0.3)
    plain.prepare(X, [0, 1])
    in_blocks(plain, X, y, 256, [0, 1])
    model = LASVM(gamma=0.3)
    learn_stream(model, All(), X, y)
    assert_same(snapshot(model), snapshot(plain))


def test_a_model_without_scores_can_learn_every_row():
    X, y = two_clouds(100)
    model = GaussianNB()
    learn_stream(model, All(), X, y)
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, y).theta_)


# ------------------------------------------------------------------------------------- a model that goes on


@pytest.mark.parametrize("strategy", [All(), RampRegion(), RecentMargin()], ids=repr)
@pytest.mark.parametrize(("name", "n_rows"), [("LASVM", 1280), ("SGDClassifier", 320)])
def test_a_model_goes_on_from_what_it_knows(strategy, name, n_rows):
    X, y = two_clouds(n_rows + 120)
    stop = n_rows + 1  # for LASVM whole blocks, of five rows and of 256
    whole, parts = (clone(MODELS[name]).partial_fit(X[:1], y[:1], classes=[0, 1]) for _ in range(2))
    asked = learn_stream(whole, strategy, X[1:], y[1:])
    first = learn_stream(parts, strategy, X[1:stop], y[1:stop])
    second = learn_stream(parts, strategy, X[stop:], y[stop:])
    np.testing.assert_array_equal(np.append(first, n_rows + second), asked)
    assert_same(what_is_learned(parts), what_is_learned(whole))


def test_classes_are_given_in_the_first_call_only():
    given = []

    class Noting(LASVM):
        def partial_fit(self, X, y, **options):
            given.append(options)
            return super().partial_fit(X, y, **options)

    X, y = two_clouds(50)
    learn_stream(Noting(gamma=0.3), RecentMargin(), X, y, classes=[0, 1])
    assert given == [{"classes": [0, 1]}] + [{}] * 9


def test_later_labels_need_not_hold_every_class():
    X, y = three_clouds(300)
    model = LASVM(gamma=0.3).partial_fit(X[:100], y[:100], classes=["ash", "oak", "yew"])
    few = np.flatnonzero(y != "yew")
    learn_stream(model, All(), X[few], y[few])
    np.testing.assert_array_equal(model.classes_, ["ash", "oak", "yew"])


def test_classes_are_those_of_the_labels():
    X, y = three_clouds(100)
    model = LASVM(gamma=0.3)
    learn_stream(model, RampRegion(), X, y)
    np.testing.assert_array_equal(model.classes_, ["ash", "oak", "yew"])
    model = LASVM(gamma=0.3)
    learn_stream(model, RampRegion(), X, y, classes=["ash", "elm", "oak", "yew"])
    assert len(model.classes_) == 4


def test_the_strategy_and_what_is_given_stay_as_they_were():
    X, y = two_clouds(200)
    rows, labels, strategy = X.copy(), y.copy(), RecentMargin(block_size=4)
    for array in (X, y):
        array.setflags(write=False)
    learn_stream(LASVM(gamma=0.3), strategy, X, y)
    assert_same(X, rows)
    assert_same(y, labels)
    assert vars(strategy) == {"block_size": 4}


# ------------------------------------------------------------------------------------- rows in what they come

NAMES = ["a", "b", "c", "d"]
FORMATS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csr_array": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, rows named backwards": lambda X: pd.DataFrame(X, columns=NAMES, index=np.arange(len(X))[::-1]),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
}
LABELS = {
    "list": list,
    "pandas": pd.Series,
    "pandas, rows named backwards": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "polars": pl.Series,
    "strings in pandas": lambda y: pd.Series(y, dtype="string"),
}


@pytest.mark.parametrize("strategy", [All(), RampRegion(), RecentMargin()], ids=repr)
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_stream(strategy, name):
    X, y = two_clouds(300)
    plain, model = LASVM(gamma=0.3), LASVM(gamma=0.3)
    wanted = learn_stream(plain, strategy, X, y)
    np.testing.assert_array_equal(learn_stream(model, strategy, FORMATS[name](X), y), wanted)
    assert_same_model(model, plain)
    assert hasattr(model, "feature_names_in_") == (name.startswith("pandas") or name == "polars")


@pytest.mark.parametrize("name", ["csr_matrix", "pandas", "polars"])
def test_other_models_take_these_formats_too(name):
    X, y = two_clouds(300)
    X = FORMATS[name](X)
    plain, model = clone(MODELS["SGDClassifier"]), clone(MODELS["SGDClassifier"])
    wanted = plain_loop(plain, in_ramp, 1, X, y, [0, 1])
    np.testing.assert_array_equal(learn_stream(model, RampRegion(), X, y), wanted)
    assert_same(what_is_learned(model), what_is_learned(plain))


@pytest.mark.parametrize("name", LABELS)
def test_labels_may_come_in_anything(name):
    X, y = three_clouds(200)
    plain, model = LASVM(gamma=0.3), LASVM(gamma=0.3)
    wanted = learn_stream(plain, RampRegion(), X, y)
    np.testing.assert_array_equal(learn_stream(model, RampRegion(), X, LABELS[name](y)), wanted)
    assert_same_model(model, plain)


def test_a_kernel_that_is_a_function():
    X, y = two_clouds(150)
    model, native = LASVM(kernel=lambda A, B: A @ B.T), LASVM(kernel="linear")
    asked = learn_stream(model, RecentMargin(), X, y)
    assert len(asked) == len(learn_stream(native, RecentMargin(), X, y)) == 30
    assert model._rows_seen == 30
