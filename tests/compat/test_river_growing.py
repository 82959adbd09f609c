"""RiverClassifier: classes that appear later, mini-batches, layouts, memory, calibration."""

import copy
import pickle
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from river import datasets, ensemble, preprocessing
from river.datasets import synth
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from everlearn import IDSVM, LASVM, RBP
from everlearn.calibration import CalibratedClassifier
from everlearn.compat._dict_rows import Layout, Memory, Names
from everlearn.compat.river import RiverClassifier
from state_helpers import same_bits


def clouds(n, k=3, seed=0, columns="ab"):
    """Rows of k classes, the last of which comes late, as dicts with labels."""
    rng = np.random.default_rng(seed)
    codes = np.where(np.arange(n) < n // 2, rng.integers(0, k - 1, n), rng.integers(0, k, n))
    angle = 2 * np.pi * codes / k
    X = 3 * np.column_stack((np.cos(angle), np.sin(angle))) + rng.normal(size=(n, 2))
    names = [["oak", "ash", "yew", "elm"][code] for code in codes]
    return [dict(zip(columns, row, strict=True)) for row in X.tolist()], names


def follow(model, rows, labels):
    """Predictions, each before the row is learned."""
    found = []
    for x, y in zip(rows, labels, strict=True):
        found.append(model.predict_one(x))
        model.learn_one(x, y)
    return found


# --- classes that grow -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner",
    [
        LASVM(C=1),
        IDSVM(C=1, window=100),
        RBP(gamma=0.2, random_state=0),
        CalibratedClassifier(),
        GaussianNB(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_class_that_comes_late_is_learned(learner):
    rows, labels = clouds(300)
    model = RiverClassifier(learner)
    found = follow(model, rows, labels)
    assert set(model.predict_proba_one(rows[0])) == {"oak", "ash", "yew"}
    late = [p == y for p, y in zip(found[200:], labels[200:], strict=True) if y == "yew"]
    assert np.mean(late) > 0.7
    assert np.mean([p == y for p, y in zip(found[200:], labels[200:], strict=True)]) > 0.8


def test_the_learner_built_anew_is_that_of_the_remembered_rows():
    rows, labels = clouds(120)
    model = RiverClassifier(LASVM(C=1, gamma=0.3), memory_rows=1000)
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    order = list(dict.fromkeys(labels))
    codes = np.array([order.index(y) for y in labels])
    X = np.array([[x["a"], x["b"]] for x in rows])
    late = labels.index("yew") + 1
    plain = LASVM(C=1, gamma=0.3).partial_fit(X[:late], codes[:late], classes=range(3))
    for row in range(late, 120):
        plain.partial_fit(X[[row]], codes[[row]])
    assert np.array_equal(model._learner.decision_function(X), plain.decision_function(X))


class Growing(ClassifierMixin, BaseEstimator):
    """Nearest mean; it accepts new classes, and counts how often it began anew."""

    grows_classes = True
    made = 0

    def partial_fit(self, X, y, classes=None):
        if not hasattr(self, "sums_"):
            type(self).made += 1
            self.sums_, self.classes_ = {}, np.empty(0, dtype=int)
        for row, label in zip(X, y, strict=True):
            self.sums_.setdefault(int(label), []).append(row)
        self.classes_ = np.array(sorted(self.sums_))
        return self

    def predict_proba(self, X):
        means = np.array([np.mean(self.sums_[label], axis=0) for label in self.classes_.tolist()])
        near = np.exp(-((X[:, None] - means[None]) ** 2).sum(axis=2))
        return (near + 1e-9) / (near + 1e-9).sum(axis=1, keepdims=True)


def test_a_learner_that_accepts_new_classes_goes_on():
    Growing.made = 0
    rows, labels = clouds(300, k=4)
    model = RiverClassifier(Growing())
    found = follow(model, rows, labels)
    assert np.mean([p == y for p, y in zip(found[200:], labels[200:], strict=True)]) > 0.7
    trials = next(n for n, y in enumerate(labels) if y != labels[0])
    assert Growing.made == trials + 1


def test_a_class_is_kept_in_memory_however_rare():
    memory = Memory(30)
    for n in range(1000):
        memory.add((np.array([0]), np.array([float(n)])), 2 if n == 500 else n % 2)
    rows, codes = memory.all()
    assert codes.count(2) == 1
    assert len(rows) <= 30
    assert [row[1][0] for row in rows] == sorted(row[1][0] for row in rows)
    nothing = Memory(0)
    nothing.add((np.array([0]), np.array([1.0])), 0)
    assert nothing.all() == ([], [])


def test_memory_is_bounded():
    rows, labels = clouds(400)
    model = RiverClassifier(RBP(budget=20, gamma=0.2, random_state=0), memory_rows=50)
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    assert len(model._memory.all()[0]) <= 50
    assert len(pickle.dumps(model)) < 200_000


# --- layouts -----------------------------------------------------------------------------------------------


def test_few_names_are_dense_and_many_rare_ones_sparse():
    rows, labels = clouds(50)
    model = RiverClassifier(LASVM())
    follow(model, rows, labels)
    assert model._layout.is_dense
    assert model._layout.width == 2
    rng = np.random.default_rng(0)
    words = [{f"w{n}": 1.0 for n in rng.integers(0, 500, 8)} for _ in range(200)]
    model = RiverClassifier(LASVM())
    follow(model, words, [min(x) < "w2" for x in words])
    assert not model._layout.is_dense
    assert model._layout.width == 1000


def test_many_names_that_are_always_there_are_dense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    rows = [dict(enumerate(row)) for row in X.tolist()]
    model = RiverClassifier(LASVM())
    follow(model, rows, (X[:, 0] > 0).tolist())
    assert model._layout.is_dense
    assert model._layout.width == 200


def test_names_that_keep_coming_make_rows_sparse():
    model = RiverClassifier(LASVM())
    for n in range(20):
        model.learn_one({"a": float(n), f"extra{n}": 1.0}, n % 2)
    assert not model._layout.is_dense
    names = Names(["a"], 2)
    assert names.extended({"c": 1, "b": 1}).order == ["a", "b"]
    assert names.extended({"a": 1}) is names
    assert Layout.choose(names, [], None).is_dense


# --- mini-batches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calibration", ["auto", "none"])
@pytest.mark.parametrize("size", [1, 7, 400])
def test_mini_batches_learn_what_single_rows_do(calibration, size):
    rows, labels = clouds(1200, k=3)
    rows = [{**x, "c": 0.1} if n > 700 else x for n, x in enumerate(rows)]
    one, many = (
        RiverClassifier(RBP(gamma="scale", random_state=0), calibration=calibration) for _ in range(2)
    )
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    for start in [*range(0, 701, size), *range(701, 1200, size)]:
        stop = min(start + size, 701 if start < 701 else 1200)
        many.learn_many(pd.DataFrame(rows[start:stop]), pd.Series(labels[start:stop]))
    assert same_bits(many._calibrator.state(), one._calibrator.state())
    X = pd.DataFrame(rows, index=range(5, 1205))
    shares = many.predict_proba_many(X)
    assert list(shares.columns) == list(one.predict_proba_one(rows[0]))
    assert shares.index.equals(X.index)
    for n in range(710, 1200, 50):
        assert shares.iloc[n].to_dict() == pytest.approx(one.predict_proba_one(rows[n]), abs=1e-9)
        assert many.predict_many(X).iloc[n] == one.predict_one(rows[n])


def test_mini_batches_of_nothing_and_before_anything():
    model = RiverClassifier(RBP(gamma=1.0, random_state=0))
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=[3, 4])
    assert model.predict_proba_many(X).shape == (2, 0)
    assert model.predict_many(X).tolist() == [None, None]
    model.learn_many(X, pd.Series([True, False]))
    assert model.predict_many(X).dtype == bool
    assert model.predict_many(X.iloc[:0]).tolist() == []
    assert model.predict_proba_many(X.iloc[:0]).shape == (0, 2)
    before = pickle.dumps(model)
    model.learn_many(X.iloc[:0], pd.Series([], dtype=bool))
    with pytest.raises(ValueError, match=r"feature 'a' is inf"):
        model.predict_many(pd.DataFrame({"a": [np.inf, 1.0]}))
    with pytest.raises(ValueError, match="same length, got 2 and 1"):
        model.learn_many(X, pd.Series([True]))
    assert pickle.dumps(model) == before


# --- calibration -------------------------------------------------------------------------------------------


def brier(model, data):
    loss, n = 0.0, 0
    for x, y in data:
        shares = model.predict_proba_one(x)
        if n >= 200:
            loss += sum((share - (label == y)) ** 2 for label, share in shares.items())
        model.learn_one(x, y)
        n += 1
    return loss / (n - 200)


def test_calibrated_probabilities_beat_fixed_ones():
    def data():
        return synth.SEA(noise=0.25, seed=1).take(1000)

    calibrated, fixed = (
        preprocessing.StandardScaler() | RiverClassifier(LASVM(C=10, gamma=1.0), calibration=calibration)
        for calibration in ("auto", "none")
    )
    assert brier(calibrated, data()) < brier(fixed, data()) - 0.02


def test_a_learner_with_probabilities_of_its_own_uses_them():
    rows, labels = clouds(200)
    model = RiverClassifier(CalibratedClassifier(LASVM(C=1, gamma=0.3)))
    follow(model, rows, labels)
    X = np.array([[rows[0]["a"], rows[0]["b"]]])
    assert list(model.predict_proba_one(rows[0]).values()) == model._learner.predict_proba(X)[0].tolist()
    assert model._calibrator.n_seen == 0


def test_predictions_leave_no_trace():
    rows, labels = clouds(300)
    quiet, asked = (RiverClassifier(LASVM(C=1)) for _ in range(2))
    for n, (x, y) in enumerate(zip(rows, labels, strict=True)):
        before = pickle.dumps(asked)
        asked.predict_one(x)
        asked.predict_proba_one(rows[n - 1])
        asked.predict_proba_one(x)
        assert pickle.dumps(asked) == before
        quiet.learn_one(x, y), asked.learn_one(x, y)
    assert asked.predict_proba_one(rows[0]) == quiet.predict_proba_one(rows[0])


def test_a_copy_goes_its_own_way():
    rows, labels = clouds(200)
    model = RiverClassifier(LASVM(C=1))
    follow(model, rows[:120], labels[:120])
    twin = copy.deepcopy(model)
    before = model.predict_proba_one(rows[0])
    follow(twin, rows[120:], labels[120:])
    assert model.predict_proba_one(rows[0]) == before
    follow(model, rows[120:], labels[120:])
    assert model.predict_proba_one(rows[0]) == twin.predict_proba_one(rows[0])


def test_in_an_ensemble_of_river():
    model = ensemble.BaggingClassifier(RiverClassifier(LASVM(C=1)), n_models=3, seed=0)
    data = list(islice(datasets.ImageSegments(), 200))
    scaler = preprocessing.StandardScaler()
    right = 0
    for n, (x, y) in enumerate(data):
        scaler.learn_one(x)
        x = scaler.transform_one(x)
        right += n >= 100 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 60
