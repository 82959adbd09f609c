"""Saved, pickled or copied in mid-stream, one-pass learners go on as if nothing had happened, bit for bit."""

import os
import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import everlearn
from budget.native_helpers import KERNEL_LEARNERS, LEARNERS, LINEAR, ON_A_BUDGET, make
from everlearn import (
    KOIL,
    NORMA,
    OAM,
    OPAUC,
    RBP,
    AveragedKernelPerceptron,
    Forgetron,
    Projectron,
    ProjectronPP,
)
from everlearn.errors import FileFormatError
from svm.lasvm_helpers import assert_same, kernel_matrix, three_clouds, two_clouds

all_learners = pytest.mark.parametrize("cls", LEARNERS)


def through_a_file(model, folder):
    everlearn.save(model, folder / "model")
    return everlearn.load(folder / "model")


COPIES = {
    "file": through_a_file,
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: deepcopy(model),
}
all_copies = pytest.mark.parametrize("copy", COPIES)


def state_of(model):
    """All that is learned."""
    return model._get_state()["machine"]


def feed(model, X, y, start, stop, size=35):
    for at in range(start, stop, size):
        part = slice(at, min(at + size, stop))
        model.partial_fit(X.iloc[part] if hasattr(X, "iloc") else X[part], y[part], classes=np.unique(y))
    return model


def continues(model, copy, X, y, start, stop):
    """The copy is the model, and stays so while both learn on."""
    assert type(copy) is type(model)
    assert_same(state_of(copy), state_of(model))
    assert_same(copy.decision_function(X), model.decision_function(X))
    before = state_of(copy)
    feed(model, X, y, start, stop)
    assert_same(state_of(copy), before)  # it is nobody's shadow
    feed(copy, X, y, start, stop)
    assert_same(state_of(copy), state_of(model))
    assert_same(copy.decision_function(X), model.decision_function(X))
    assert_same(copy.predict(X), model.predict(X))
    assert copy.n_iter_ == model.n_iter_ == stop


def small(data, n=350, features=4):
    X, y = data(n, features)
    return X / np.linalg.norm(X, axis=1).max(), y  # which the Forgetron can take with any kernel


# --- in mid-stream -----------------------------------------------------------------------------------------


@all_copies
@all_learners
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_with_full_buffers(tmp_path, cls, copy, data):
    X, y = small(data)
    model = feed(make(cls, gamma=5.0), X, y, 0, 200)
    if cls in ON_A_BUDGET and cls is not OAM:
        assert model.n_kept_ >= 6
    continues(model, COPIES[copy](model, tmp_path), X, y, 200, 350)


@pytest.mark.parametrize("replacement", ["rs++", "rs"])
@pytest.mark.parametrize("cls", [RBP, KOIL, OAM, OPAUC])
def test_draws_go_on_where_they_were(tmp_path, cls, replacement):
    """A copy that drew from the beginning again, or anew, would keep other rows."""
    X, y = small(two_clouds)
    options = {"replacement": replacement, "rank": 3, "random_state": None}
    model = feed(make(cls, **options), X, y, 0, 200)
    for copy in COPIES.values():
        continues(deepcopy(model), copy(model, tmp_path), X, y, 200, 350)
    loaded, anew = through_a_file(model, tmp_path), through_a_file(model, tmp_path)
    state = anew._get_state()["machine"]
    native = state.get("native", state)
    native["generators"] = native["generators"] + np.uint64(1)
    if cls in (RBP, KOIL):
        anew._machine = type(anew._machine).from_state(state)
    else:
        anew._native.set_state(state)
    feed(loaded, X, y, 200, 350), feed(anew, X, y, 200, 350)
    assert np.any(loaded.decision_function(X) != anew.decision_function(X))


def wide():
    X, y = small(two_clouds, 200, 150)
    return sparse.csr_array(np.where(np.random.default_rng(1).random(X.shape) < 0.1, 5 * X, 0)), y


def frame():
    X, y = small(two_clouds, 200, 3)
    return pd.DataFrame(X, columns=["north", "east", "up"]), np.array(["no", "yes"], dtype=object)[y]


def one_class_first():
    X, y = small(two_clouds, 200)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def single():
    X, y = small(three_clouds, 200)
    return X.astype(np.float32), y


FORMS = {"CSR": wide, "names": frame, "one class so far": one_class_first, "float32": single}


@all_learners
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_any_form(tmp_path, cls, form):
    X, y = FORMS[form]()
    model = feed(make(cls), X, y, 0, 80)
    for copy in COPIES.values():
        continues(deepcopy(model), copy(model, tmp_path), X, y, 80, 200)


@pytest.mark.parametrize("cls", KERNEL_LEARNERS)
def test_other_kernels(tmp_path, cls):
    X, y = small(two_clouds, 200)
    for kernel in ("linear", "poly", "precomputed"):
        rows = kernel_matrix("rbf", X, gamma=5.0) if kernel == "precomputed" else X
        model = feed(make(cls, kernel=kernel), rows, y, 0, 100)
        continues(model, through_a_file(model, tmp_path), rows, y, 100, 200)
    model = feed(make(cls, kernel=np.inner), X, y, 0, 100)  # a callable that pickle knows by its name
    for copy in ("pickle", "deepcopy"):
        continues(deepcopy(model), COPIES[copy](model, tmp_path), X, y, 100, 200)


@all_learners
def test_again_and_again_and_before_anything_is_learned(tmp_path, cls):
    X, y = small(three_clouds, 200)
    never, always = make(cls), through_a_file(make(cls), tmp_path)
    assert always.get_params() == never.get_params()
    for start in range(0, 200, 50):
        feed(never, X, y, start, start + 50)
        always = through_a_file(feed(always, X, y, start, start + 50), tmp_path)
    assert_same(state_of(always), state_of(never))
    file = (tmp_path / "model").read_bytes()
    through_a_file(always, tmp_path)
    assert (tmp_path / "model").read_bytes() == file


@all_learners
def test_after_fit(tmp_path, cls):
    X, y = small(three_clouds, 200)
    model = make(cls, epochs=2).fit(X[:150], y[:150])
    copy = through_a_file(model, tmp_path)
    for other in (model, copy):
        other.partial_fit(X[150:], y[150:])
    assert_same(state_of(copy), state_of(model))
    assert_same(state_of(copy.fit(X, y)), state_of(model.fit(X, y)))


# --- parameters that changed since -------------------------------------------------------------------------


@all_copies
@all_learners
def test_parameters_that_were_changed_in_mid_stream(tmp_path, cls, copy):
    """They hold from the next row on, for a copy as well."""
    X, y = small(two_clouds)
    model = feed(make(cls), X, y, 0, 200)
    changes = {
        "budget": 9,
        "C": 0.3,
        "learning_rate": 0.05,
        "max_projection_error": 0.05,
        "alpha": 0.03,
        "n_neighbors": 2,
        "gamma": 3.0,
        "rank": 2,
    }
    model.set_params(**{name: value for name, value in changes.items() if name in model.get_params()})
    continues(model, COPIES[copy](model, tmp_path), X, y, 200, 350)


# --- files that do not fit ---------------------------------------------------------------------------------

SPOILT = [
    (RBP, "buffers", lambda ids: ids[1:]),
    (RBP, "buffers", lambda ids: np.where(ids == ids[0], 10**6, ids)),
    (RBP, "buffers", lambda ids: np.where(ids == ids[0], ids[1], ids)),  # a row twice
    (RBP, "buffers_starts", lambda starts: starts[:-1]),
    (RBP, "buffers_starts", lambda starts: starts + 1),
    (RBP, "generators", lambda words: words[:2]),
    (RBP, "mistakes", lambda counts: counts[:0]),
    (Forgetron, "spent", lambda spent: np.append(spent, 0)),
    (AveragedKernelPerceptron, "entry_ids", lambda ids: ids + 10**6),
    (AveragedKernelPerceptron, "entry_times", lambda times: times[1:]),
    (AveragedKernelPerceptron, "entry_coefficients", lambda values: values[1:]),
    (NORMA, "margin", lambda margin: margin[:0]),
    (Projectron, "factor", lambda factor: factor[1:]),
    (ProjectronPP, "projections", lambda counts: counts[:0]),
    (ProjectronPP, "margin_steps", lambda counts: counts[:0]),
    (KOIL, "seen", lambda counts: counts[:1]),
    (KOIL, "seen", lambda counts: np.full_like(counts, -1)),  # fewer than are kept
    (OAM, "kept_0_1", lambda rows: rows[1:]),
    (OAM, "w", lambda w: w[1:]),
    (OAM, "seen", lambda counts: np.full_like(counts, -1)),
    (OPAUC, "mean_0_0", lambda mean: mean[1:]),
    (OPAUC, "spread_0_1", lambda spread: spread[1:]),
    (OPAUC, "seen", lambda counts: counts[:1]),
    (OPAUC, "generators", lambda words: words[1:]),
]


@pytest.mark.parametrize(
    ("cls", "name", "spoil"),
    SPOILT,
    ids=[f"{n}-{cls.__name__}-{name}" for n, (cls, name, _) in enumerate(SPOILT)],
)
def test_a_sealed_file_whose_parts_do_not_fit_is_refused(tmp_path, monkeypatch, cls, name, spoil):
    model = feed(make(cls), *small(two_clouds, 100), 0, 100)
    state = deepcopy(model._get_state())
    native = state["machine"] if cls in LINEAR else state["machine"]["native"]
    native[name] = spoil(native[name])
    monkeypatch.setattr(model, "_get_state", lambda: state)
    everlearn.save(model, tmp_path / "model")
    with pytest.raises(FileFormatError, match=f"does not fit the class {cls.__name__}"):
        everlearn.load(tmp_path / "model")


@pytest.mark.parametrize("cls", KERNEL_LEARNERS)
def test_a_callable_kernel_cannot_be_saved(tmp_path, cls):
    model = feed(make(cls, kernel=np.inner), *small(two_clouds, 60), 0, 60)
    with pytest.raises(TypeError, match=r"callable.*kernel='rbf'"):
        everlearn.save(model, tmp_path / "model")
    assert os.listdir(tmp_path) == []
