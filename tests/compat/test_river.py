"""Learners of everlearn in River: its own checks, features that come and go, labels, pipelines."""

import doctest
import gc
import importlib
import math
import pickle
import random
import re
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from river import checks, datasets, evaluate, metrics, preprocessing
from sklearn.linear_model import SGDClassifier

import everlearn.compat.river
from budget.native_helpers import LEARNERS, make
from everlearn import IDSVM, KOIL, LASVM, NORMA, OAM, OPAUC, RBP, Forgetron, Projectron
from everlearn.calibration import OnlineCalibrator
from everlearn.compat.river import RiverClassifier

SEGMENTS = ["brickface", "cement", "foliage", "grass", "path", "sky", "window"]
MODELS = {
    cls.__name__: RiverClassifier(make(cls), classes=[False, True])
    for cls in (KOIL, OAM, OPAUC, NORMA, RBP, Forgetron, Projectron)
}
MODELS["named classes"] = RiverClassifier(make(KOIL, gamma=1e-4), classes=[*SEGMENTS, True, False])
MODELS["growing"] = RiverClassifier(LASVM(gamma=1e-4))
MODELS["growing, scale"] = RiverClassifier(IDSVM(window=50), calibration="sigmoid", memory_rows=100)
MODELS["sparse"] = RiverClassifier(make(RBP), max_features=200)
MODELS["uncalibrated"] = RiverClassifier(make(RBP), calibration="none")

# --- River's checks ----------------------------------------------------------------------------------------


@pytest.fixture
def short_streams(monkeypatch):
    """The first rows of River's data sets: the checks are about conventions, and there are many of them."""
    whole = checks._yield_datasets

    def beginnings(model, **length):
        for data in whole(model, **length):
            yield islice(data, 40 if length == {} else 160)

    monkeypatch.setattr(checks, "_yield_datasets", beginnings)
    random.seed(0)  # some checks shuffle
    gc.freeze()  # some collect garbage, and need not go through all that was there before
    yield
    gc.unfreeze()


def named_checks():
    """Each check of each model, by its place among them."""
    for name, model in MODELS.items():
        for number, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(name, number, id=f"{name}-{number}-{check.__name__}")


@pytest.mark.parametrize(("name", "number"), list(named_checks()))
def test_check_of_river(short_streams, name, number):
    check = next(islice(checks.yield_checks(MODELS[name]), number, None))
    check(MODELS[name].clone())


def test_no_check_is_left_out_and_the_labels_are_those_of_the_data():
    assert not MODELS["KOIL"]._unit_test_skips()
    assert sorted({y for _, y in datasets.ImageSegments()}) == SEGMENTS
    assert not MODELS["KOIL"]._multiclass
    assert MODELS["named classes"]._multiclass
    assert MODELS["growing"]._multiclass


# --- what it learns ----------------------------------------------------------------------------------------

NAMES = ["north", "east", "up", 7]  # a name need not be a string


def stream(n, seed=0):
    """Rows as dicts from which features are missing, the same rows as a matrix, and labels."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, 4)) < 0.6, rng.standard_normal((n, 4)), 0)
    X[0] = [0.5, -0.2, 1.0, 0.3]
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(n) > 0
    return [{name: value for name, value in zip(NAMES, row, strict=True) if value} for row in X], X, y


@pytest.mark.parametrize("cls", LEARNERS)
@pytest.mark.parametrize("dense", [True, False])
def test_features_that_come_and_go_are_columns_in_which_nothing_is_zero(cls, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr("everlearn.compat._dict_rows._DENSE_NAMES", 0)
        monkeypatch.setattr("everlearn.compat._dict_rows._DENSE_FRACTION", 2)
    dicts, X, y = stream(60)
    X = X if dense else np.hstack([X, np.zeros((60, 6))])
    model, plain = RiverClassifier(make(cls), max_features=10), make(cls)
    calibrator = OnlineCalibrator(classes=[0, 1])
    order = [NAMES.index(name) for name in sorted(NAMES, key=str)]  # the first row has every name
    X[:, :4] = X[:, order]
    codes = (y != y[0]).astype(int)  # in the order in which labels came
    first = int(np.argmax(codes)) + 1
    for row, (x, label) in enumerate(zip(dicts, y.tolist(), strict=True)):
        if row >= first:
            f = plain.decision_function(X[[row]])
            shares = model.predict_proba_one(x)
            wanted = calibrator.predict_proba(f)[0]
            assert [shares[y.tolist()[0]], shares[not y.tolist()[0]]] == pytest.approx(wanted, abs=1e-5)
            assert model.predict_one(x) is max(shares, key=shares.get)
            calibrator.update(f, codes[[row]])
        model.learn_one(x, label)
        plain.partial_fit(X[[row]], codes[[row]], classes=[0, 1])
    assert model._layout.is_dense is dense
    assert model.predict_proba_one({**dicts[0], "new": 5.0}) == model.predict_proba_one(dicts[0])


def test_features_beyond_the_most_are_passed_over_and_so_are_zeros():
    few, some = (RiverClassifier(make(RBP), max_features=2) for _ in range(2))
    for x, label in (({"a": 1.0}, True), ({"b": 1.0}, False), ({"a": 0.5, "b": True}, True)):
        few.learn_one({**x, "c": 9.0} if "b" in x else x, label)
        some.learn_one({**x, "a": x.get("a", 0), "b": x.get("b", 0)}, label)
    for x in ({"a": 1.0}, {"b": 2.0}, {}, {"c": 1.0}):
        assert few.predict_proba_one(x) == some.predict_proba_one(x)


def test_before_anything_is_learned_all_classes_are_the_same():
    assert RiverClassifier(KOIL()).predict_proba_one({"a": 1.0}) == {}
    assert RiverClassifier(KOIL()).predict_one({"a": 1.0}) is None
    model = RiverClassifier(KOIL(), classes=["ash", "oak", "yew", "ash"])
    assert model.predict_proba_one({}) == dict.fromkeys(["ash", "oak", "yew"], 1 / 3)
    assert model.predict_one({"a": 1.0}) in ("ash", "oak", "yew")
    model = RiverClassifier(make(KOIL))
    model.learn_one({"a": 1.0}, "ash")
    assert model.predict_proba_one({"a": 1.0}) == {"ash": 1.0}


def test_a_label_that_was_not_named_is_refused_and_so_is_a_single_class():
    model = RiverClassifier(make(KOIL), classes=["no", "yes"])
    for label in ("maybe", True):
        with pytest.raises(ValueError, match=r"is not one of the classes \['no', 'yes'\]: pass all labels"):
            model.learn_one({"a": 1.0}, label)
    for label in (None, math.nan):
        with pytest.raises(ValueError, match="is not a label: pass labeled rows only"):
            model.learn_one({"a": 1.0}, label)
    assert pickle.dumps(model) == pickle.dumps(RiverClassifier(make(KOIL), classes=["no", "yes"]))
    for classes in (["no"], ["no", "no"], []):
        with pytest.raises(ValueError, match="at least two classes"):
            RiverClassifier(make(KOIL), classes=classes)
    for options, words in (
        ({"memory_rows": -1}, "memory_rows must be"),
        ({"calibration": "platt"}, "'method'"),
    ):
        with pytest.raises(ValueError, match=words):
            RiverClassifier(make(KOIL), **options)


@pytest.mark.parametrize(
    ("x", "words"),
    [({"a": 1.0, "new": math.nan}, "NaN"), ({"b": 1e300}, "overflow"), ({"a": 1.0, "z": "red"}, "z")],
)
def test_a_row_that_is_refused_changes_nothing(x, words):
    model, untouched = (RiverClassifier(make(RBP)) for _ in range(2))
    for learner in (model, untouched):
        learner.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match=words):
        model.learn_one(x, True)
    assert pickle.dumps(model) == pickle.dumps(untouched)


def test_a_first_row_that_is_refused_leaves_a_model_that_begins_with_the_next():
    model, untouched = (RiverClassifier(make(RBP)) for _ in range(2))
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one({"a": math.nan}, True)
    for learner in (model, untouched):
        learner.learn_one({"a": 1.0}, True)
    assert model.predict_proba_one({"a": 1.0}) == untouched.predict_proba_one({"a": 1.0})


def test_the_learner_is_copied_and_a_clone_begins_anew():
    inner = make(KOIL)
    model = RiverClassifier(inner)
    for x, label in zip(*(part[:50] for part in stream(60)[::2]), strict=True):
        model.learn_one(x, bool(label))
    assert not hasattr(inner, "n_iter_")
    assert model.clone().predict_proba_one({"north": 1.0}) == {}
    assert model.predict_proba_one({"north": 2.0})[True] > 0.5


def test_a_pickled_model_goes_on():
    dicts, _, y = stream(100)
    model = RiverClassifier(make(KOIL))
    for x, label in zip(dicts[:60], y[:60].tolist(), strict=True):
        model.learn_one(x, label)
    copy = pickle.loads(pickle.dumps(model))
    for x, label in zip(dicts[60:], y[60:].tolist(), strict=True):
        assert copy.predict_proba_one(x) == model.predict_proba_one(x)
        model.learn_one(x, label), copy.learn_one(x, label)


@pytest.mark.parametrize("classes", [SEGMENTS, None])
def test_several_classes(classes):
    model = RiverClassifier(make(KOIL, budget=20, gamma=0.5), classes=classes)
    model = preprocessing.StandardScaler() | model
    right = 0
    for n, (x, y) in enumerate(datasets.ImageSegments().take(200)):
        shares = model.predict_proba_one(x)
        if classes:
            assert list(shares) == SEGMENTS
        if shares:
            assert sum(shares.values()) == pytest.approx(1)
            assert model.predict_one(x) == max(shares, key=shares.get)
        right += n >= 100 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert right > 0.6 * 100
    assert sorted(model.predict_proba_one(x)) == SEGMENTS


def test_scores_beyond_what_exp_can_take():
    model = RiverClassifier(make(RBP, kernel="linear"), classes=[False, True])
    model.learn_one({"a": 1e6}, True)
    assert model.predict_proba_one({"a": 1e6})[True] > 1 - 1e-12
    assert model.predict_proba_one({"a": -1e6})[True] < 1e-12


def test_a_learner_of_scikit_learn():
    model = RiverClassifier(SGDClassifier(random_state=0))
    dicts, _, y = stream(150)
    right = 0
    for x, label in zip(dicts, y.tolist(), strict=True):
        right += model.predict_one(x) is label
        model.learn_one(x, label)
    assert right > 100


def test_in_a_pipeline_of_river():
    def run():
        model = preprocessing.MinMaxScaler() | RiverClassifier(KOIL(gamma=1, random_state=0))
        return evaluate.progressive_val_score(datasets.Phishing().take(250), model, metrics.ROCAUC()).get()

    first = run()
    assert first > 0.85
    assert run() == first


# --- the module --------------------------------------------------------------------------------------------


def test_the_example_of_the_module_runs():
    result = doctest.testmod(everlearn.compat.river)
    assert result.attempted >= 5
    assert result.failed == 0


def test_without_river_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "everlearn.compat.river")
    with pytest.raises(ImportError, match=r'needs River: pip install "everlearn\[river\]"'):
        importlib.import_module("everlearn.compat.river")


def test_the_extras_are_declared():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert re.search(r'^river = \["river', text, re.MULTILINE)
    assert re.search(r"everlearn\[[^]]*\briver\b", text)
