"""Saved and loaded in mid-stream, LASVM goes on as if nothing had happened, bit for bit."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import everlearn
from everlearn import LASVM
from everlearn.errors import FileFormatError
from svm.lasvm_helpers import (
    assert_same,
    kernel_matrix,
    learned,
    refused,
    snapshot,
    three_clouds,
    two_clouds,
)


def binary():
    return two_clouds(300, 6)


def classes():
    return three_clouds(300, 6)


def far():
    X, y = two_clouds(300, 6)
    return X + 1e4, y


def single(X, y):
    return X.astype(np.float32), y


def wide_sparse():
    X, y = two_clouds(300, 150)
    return sparse.csr_array(np.where(np.random.default_rng(1).random(X.shape) < 0.1, X, 0)), y


def dense_sparse():
    X, y = two_clouds(300, 6)
    return sparse.csr_matrix(X.astype(np.float32)), y


def frame():
    X, y = two_clouds(300, 3)
    return pd.DataFrame(X, columns=["north", "east", "up"]), np.array(["no", "yes"], dtype=object)[y]


def matrix():
    X, y = two_clouds(300, 6)
    return kernel_matrix("rbf", X, gamma=0.2), y


def one_class_first():
    X, y = two_clouds(300, 6)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


STREAMS = {
    "float64": (binary, {"C": 5}),
    "float32": (lambda: single(*binary()), {"C": 5}),
    "float64 near 1e4": (far, {"gamma": 0.2}),
    "float32 near 1e4": (lambda: single(*far()), {"gamma": 0.2}),
    "CSR": (wide_sparse, {"gamma": 0.05}),
    "CSR of full rows": (dense_sparse, {"gamma": 0.2}),
    "three classes": (classes, {"C": 5, "gamma": 0.2}),
    "linear": (binary, {"kernel": "linear"}),
    "poly": (binary, {"kernel": "poly", "gamma": 0.3, "coef0": 1.0, "degree": 2}),
    "sigmoid": (binary, {"kernel": "sigmoid", "gamma": 0.01}),
    "precomputed": (matrix, {"kernel": "precomputed"}),
    "names": (frame, {"gamma": "auto"}),
    "one class so far": (one_class_first, {"gamma": 0.2}),
    "delta_max": (binary, {"C": 5, "delta_max": 0.5}),
    "weights": (binary, {"class_weight": {0: 1.0, 1: 2.5}}),
    "named weights": (classes, {"class_weight": {"ash": 1.0, "oak": 2.5, "yew": 0.5}}),
    "small cache": (binary, {"cache_size": 0.05}),
}


def feed(model, X, y, start, stop, size=30):
    """Blocks of the rows from start to stop."""
    for at in range(start, stop, size):
        part = slice(at, min(at + size, stop))
        model.partial_fit(X.iloc[part] if hasattr(X, "iloc") else X[part], y[part], classes=np.unique(y))
    return model


@pytest.mark.parametrize("name", STREAMS)
def test_a_loaded_learner_continues_bit_for_bit(tmp_path, name):
    data, options = STREAMS[name]
    X, y = data()
    model = feed(LASVM(**options), X, y, 0, 90)
    everlearn.save(model, tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model")
    assert type(loaded) is LASVM
    assert_same(snapshot(loaded), snapshot(model))
    assert_same(loaded.predict(X), model.predict(X))
    assert_same(loaded.decision_function(X), model.decision_function(X))
    assert_same(loaded.support_vectors_, model.support_vectors_)
    for start, stop in ((90, 250), (250, 300)):
        for other in (model, loaded):
            feed(other, X, y, start, stop)
        assert_same(learned(loaded), learned(model))
        for other in (model, loaded):
            other.finish()
        assert_same(learned(loaded), learned(model))
    assert_same(loaded.support_, model.support_)
    assert_same(loaded.intercept_, model.intercept_)
    assert_same(loaded.decision_function(X), model.decision_function(X))
    assert loaded.n_iter_ == model.n_iter_ == 300


@pytest.mark.parametrize("name", ["float64", "precomputed", "three classes"])
def test_a_learner_can_be_saved_again_and_again(tmp_path, name):
    data, options = STREAMS[name]
    X, y = data()
    never, always = LASVM(**options), LASVM(**options)
    for start in range(0, 300, 50):
        block = slice(start, start + 50)
        never.partial_fit(X[block], y[block], classes=np.unique(y))
        always.partial_fit(X[block], y[block], classes=np.unique(y))
        everlearn.save(always, tmp_path / "model")
        always = everlearn.load(tmp_path / "model")
    assert_same(learned(always), learned(never))


@pytest.mark.parametrize("selection", ["random", "gradient", "active", "autoactive"])
def test_after_fit_with_any_selection(tmp_path, selection):
    X, y = classes()
    model = LASVM(selection=selection, max_iter=100, finishing=None, random_state=0).fit(X[:200], y[:200])
    everlearn.save(model, tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model")
    assert_same(learned(loaded), learned(model))  # the core's random generator among it
    assert loaded.get_params() == model.get_params()
    for other in (model, loaded):
        other.finish().partial_fit(X[200:], y[200:]).finish()
    assert_same(learned(loaded), learned(model))
    for other in (model, loaded):
        other.fit(X, y)
    assert_same(learned(loaded), learned(model))


def test_a_learner_that_has_not_learned(tmp_path):
    model = LASVM(C=3, kernel="poly", gamma="auto", delta_max=2.0, random_state=7)
    everlearn.save(model, tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model")
    assert loaded.get_params() == model.get_params()
    assert not hasattr(loaded, "support_")
    assert_same(snapshot(loaded.fit(*binary())), snapshot(model.fit(*binary())))


def test_threads_and_parameters_may_change_after_loading(tmp_path):
    X, y = classes()
    model = LASVM(C=5).partial_fit(X[:150], y[:150], classes=np.unique(y))
    everlearn.save(model, tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model").set_params(n_jobs=2, cache_size=0.1)
    for other in (model, loaded):
        other.partial_fit(X[150:], y[150:])
    assert_same(learned(loaded), learned(model))


def test_numpy_parameters_come_back_as_what_they_were(tmp_path):
    model = LASVM(C=np.float64(2), gamma=np.float32(0.25), epochs=np.int64(2), random_state=np.int64(1))
    everlearn.save(model.fit(*binary()), tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model")
    assert_same(snapshot(loaded), snapshot(model))


def test_a_callable_kernel_is_refused_with_a_remedy(tmp_path):
    model = LASVM(kernel=lambda a, b: a @ b.T).partial_fit(*binary(), classes=[0, 1])
    with refused(model, "callable.*kernel='rbf'.*precomputed", TypeError):
        everlearn.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []


def test_saving_changes_nothing_and_replaces_the_file(tmp_path):
    X, y = binary()
    model = LASVM().partial_fit(X[:100], y[:100], classes=[0, 1])
    before = snapshot(model)
    everlearn.save(model, tmp_path / "model")
    assert_same(snapshot(model), before)
    early = (tmp_path / "model").read_bytes()
    everlearn.save(everlearn.load(tmp_path / "model"), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == early
    everlearn.save(model.partial_fit(X[100:], y[100:]), tmp_path / "model")
    assert_same(snapshot(everlearn.load(tmp_path / "model")), snapshot(model))
    assert sorted(os.listdir(tmp_path)) == ["again", "model"]


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model"
    everlearn.save(LASVM().fit(*binary()), path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 997), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="cannot be loaded"):
            everlearn.load(path)
    for offset in range(0, len(whole), 997):
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 0x10]) + whole[offset + 1 :])
        with pytest.raises(FileFormatError, match="damaged"):
            everlearn.load(path)


SPOILT = {
    "alpha": lambda state: state | {"alpha": state["alpha"][:, 1:]},
    "ids": lambda state: state | {"ids": np.append(state["ids"], 1)},
    "missing": lambda state: {key: state[key] for key in state if key != "costs"},
    "values": lambda state: state | {"values": state["values"][1:]},
    "seen": lambda state: state | {"seen": state["seen"][:1]},
    "labels": lambda state: state | {"labels": state["labels"] + 7},
    "one id for two rows": lambda state: state | {"ids": np.zeros_like(state["ids"])},
    "columns": lambda state: state | {"columns": state["columns"] + 10**6},
    "starts": lambda state: (
        state | {"starts": np.insert(np.delete(state["starts"], 3), 3, state["starts"][6])}
    ),
    "generator": lambda state: state | {"generator": state["generator"][:2]},
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_sealed_file_whose_parts_do_not_fit_is_refused(tmp_path, monkeypatch, name):
    model = LASVM(random_state=0).fit(*wide_sparse())
    state = model._get_state()
    state["machine"]["native"] = SPOILT[name](state["machine"]["native"])
    monkeypatch.setattr(model, "_get_state", lambda: state)
    everlearn.save(model, tmp_path / "model")
    with pytest.raises(FileFormatError, match="does not fit the class LASVM"):
        everlearn.load(tmp_path / "model")
