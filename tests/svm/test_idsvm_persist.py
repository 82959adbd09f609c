"""The exact SVM saved, looked at, shared out among threads, and fed with tables."""

import pickle
import zipfile
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import everlearn
from everlearn import IDSVM
from svm.idsvm_helpers import rbf
from svm.idsvm_native_helpers import Refused, known
from svm.lasvm_helpers import assert_same, learned, three_clouds, two_clouds

# --- saving -------------------------------------------------------------------------------------------------


def saved_and_loaded(model, path):
    everlearn.save(model, path)
    return everlearn.load(path)


STREAMS = {
    "rbf": {"gamma": 0.5},
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2},
    "precomputed": {"kernel": "precomputed"},
    "window": {"gamma": 0.5, "window": 70},
    "weights": {"gamma": 0.5, "class_weight": {"ash": 1.0, "oak": 2.0, "yew": 3.0}},
    "small cache": {"gamma": 0.5, "cache_size": 0.001},
}


@pytest.mark.parametrize("door", ["save", "pickle", "deepcopy"])
@pytest.mark.parametrize("name", STREAMS)
def test_it_goes_on_bit_for_bit(tmp_path, name, door):
    """With rows forgotten, but not yet swept out, when it is saved."""
    X, y = three_clouds(200)
    rows = rbf(X, 0.5) if name == "precomputed" else X
    model = IDSVM(C=3.0, **STREAMS[name]).partial_fit(rows[:100], y[:100], classes=["ash", "oak", "yew"])
    model.forget(np.arange(50, 90, 3)).partial_fit(rows[100:120], y[100:120])
    never = deepcopy(model) if door == "save" else None
    counts = (model.n_iter_, model.n_refreshes_, model.n_fallbacks_)
    other = {
        "save": lambda: saved_and_loaded(model, tmp_path / "model"),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "deepcopy": lambda: deepcopy(model),
    }[door]()
    assert counts == (other.n_iter_, other.n_refreshes_, other.n_fallbacks_)
    assert_same(known(other), known(model))
    assert_same(other.decision_function(rows), model.decision_function(rows))
    assert_same(other.leave_one_out().scores, model.leave_one_out().scores)
    for one in (model, other, *([never] if never else [])):
        one.forget(one.ids_[:20:2]).partial_fit(rows[120:], y[120:])
        one.relabel(one.ids_[:10], y[:10])
        one.forget(one.ids_[-30::3])
    assert_same(known(other), known(model))
    assert_same(other.decision_function(rows), model.decision_function(rows))
    for attribute in (
        "support_",
        "dual_coef_",
        "intercept_",
        "objective_",
        "ids_",
        "n_margin_",
        "n_support_",
    ):
        assert_same(getattr(other, attribute), getattr(model, attribute))


def test_looking_decides_nothing():
    """Who has been saved, scored and looked at in between has the same bits as who has not."""
    X, y = two_clouds(360, 3)

    def lived(looks):
        model = IDSVM(C=10.0, gamma=1.0).partial_fit(X[:240], y[:240], classes=[0, 1])
        for i in range(120):
            model.forget(i)
            if looks and i % 12 == 0:
                pickle.dumps(model)
                model.predict(X)
                assert model.leave_one_out().error < 0.5
                [getattr(model, name) for name in dir(model) if name.endswith("_") and name[0] != "_"]
            model.partial_fit(X[[240 + i]], y[[240 + i]])
        return model

    seen, unseen = lived(True), lived(False)
    assert_same(seen.decision_function(X), unseen.decision_function(X))
    assert_same(learned(seen), learned(unseen))


@pytest.mark.parametrize("members", ["no margin", "one class"])
def test_a_loaded_machine_without_a_margin_forgets_and_is_saved(members):
    X, y = two_clouds(200, 2)
    labels = np.ones(200, int) if members == "one class" else y
    model = IDSVM(C=1e-3, gamma=0.5).partial_fit(X, labels, classes=[0, 1])
    model = pickle.loads(pickle.dumps(model))
    model.forget(np.arange(100))
    model = pickle.loads(pickle.dumps(model.forget(100)))
    fresh = IDSVM(C=1e-3, gamma=0.5).partial_fit(X[101:], labels[101:], classes=[0, 1])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X), rtol=0, atol=1e-9)


def contents(path):
    with zipfile.ZipFile(path) as file:
        return b"".join(file.read(name) for name in file.namelist())


def test_a_saved_file_has_nothing_of_a_forgotten_row(tmp_path):
    X, y = two_clouds(80, 3)
    X[10], X[11] = [1.2345, -0.98765, 0.13579], [0.2468, 0.97531, -0.8642]
    for rows in (X, X.astype(np.float32)):
        model = IDSVM().partial_fit(rows, y, classes=[0, 1]).forget(10)
        everlearn.save(model, tmp_path / "model")
        for image in (contents(tmp_path / "model"), pickle.dumps(model)):
            for value in rows[11]:
                assert np.float64(value).tobytes() in image
            for value in rows[10]:
                assert np.float64(value).tobytes() not in image
                assert np.float32(value).tobytes() not in image


# --- looking, threads, memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", "callable"])
def test_looking_changes_nothing(kernel):
    X, y = two_clouds(90, 2)
    rows = rbf(X, 0.5) if kernel == "precomputed" else X
    options = {"kernel": (lambda a, b: rbf(a, 0.5, b)) if kernel == "callable" else kernel, "gamma": 0.01}
    model = IDSVM(**options).partial_fit(rows, y, classes=[0, 1]).forget([3, 4])
    before, counts = known(model), (model.n_iter_, model.n_refreshes_, model.n_fallbacks_)
    f = model.decision_function(rows)
    model.predict(rows)
    model.leave_one_out()
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            getattr(model, name)
    repr(model), model.score(rows, y), clone(model), model.get_params()
    assert_same(known(model), before)
    assert_same(model.decision_function(rows), f)
    assert counts == (model.n_iter_, model.n_refreshes_, model.n_fallbacks_)


def test_threads_and_memory_decide_about_time_only():
    X, y = three_clouds(400)

    def lived(**options):
        model = IDSVM(C=5.0, gamma=0.3, **options).partial_fit(X[:300], y[:300], classes=np.unique(y))
        model.forget(np.arange(0, 200, 2)).partial_fit(X[300:], y[300:]).relabel([1, 3], y[[4, 6]])
        return model

    wanted = lived()
    many = np.tile(X, (4, 1))
    for options in ({"n_jobs": 2}, {"cache_size": 0.001}, {"n_jobs": 3, "cache_size": 0.5}):
        model = lived(**options)
        assert_same(learned(model), learned(wanted))
        assert_same(model.decision_function(many), wanted.decision_function(many))
        assert_same(model.leave_one_out().scores, wanted.leave_one_out().scores)
    fitted = [
        IDSVM(C=5.0, gamma=0.3, **options).fit(X, y) for options in ({}, {"n_jobs": 2, "cache_size": 0.01})
    ]
    assert_same(learned(fitted[0]), learned(fitted[1]))


def test_a_small_cache_uses_little_memory():
    X, y = two_clouds(400, 2)
    small = IDSVM(gamma=0.1, cache_size=0.001).partial_fit(X, y, classes=[0, 1])
    large = IDSVM(gamma=0.1).partial_fit(X, y, classes=[0, 1])
    assert small._machine.native.exact_bytes < (small.n_margin_[0] + 70) * 8 * 520
    assert small._machine.native.exact_bytes < large._machine.native.exact_bytes / 2
    assert small.n_kernel_evaluations_ > large.n_kernel_evaluations_


# --- tables and tools ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_with_names(frame):
    X, y = two_clouds(60, 2)
    names = ["north", "east"]
    table = frame(dict(zip(names, X.T, strict=True)))
    plain = IDSVM().fit(X, y).forget([0, 5])
    model = IDSVM().fit(table, y, ids=pd.Series(np.arange(60))).forget(pd.Series([0, 5]))
    assert model.feature_names_in_.tolist() == names
    assert_same(model.decision_function(table), plain.decision_function(X))
    model.relabel(pd.Index([1, 2]), pd.Series(1 - y[1:3]))
    other = frame({"east": X[:1, 0], "north": X[:1, 1]})
    with Refused(model, "feature names"):
        model.partial_fit(other, y[:1])
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.feature_names_in_.tolist() == names


def test_clone_and_parameters():
    options = {"C": 3.0, "kernel": "poly", "window": 7, "class_weight": {0: 2.0}, "cache_size": 5}
    model = clone(IDSVM(**options))
    assert {name: model.get_params()[name] for name in options} == options
    X, y = two_clouds(30, 2)
    assert model.fit(X, y) is model
    assert model.forget(29) is model
    assert model.relabel(28, 1 - y[28]) is model
    assert model.partial_fit(X[:1], y[:1]) is model
    assert not hasattr(clone(model), "ids_")


def test_labels_of_any_kind():
    X, y = two_clouds(40, 2)
    names = np.array(["no", "yes"], dtype=object)[y]
    model = IDSVM().fit(X, names).relabel(3, "no").relabel([4, 5], ["yes", "no"])
    out = model.leave_one_out()
    assert out.labels[3:6].tolist() == ["no", "yes", "no"]
    assert set(out.predictions) == {"no", "yes"}
    with Refused(model, "maybe"):
        model.relabel(3, "maybe")
