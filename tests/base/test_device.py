"""Fits on a device, without one: choice of the device, errors, and the hand-over to a machine on the CPU.

The solver is the plain twin of the one on the device. What the device computes is tested by `make test-cuda`.
"""

import importlib.util
import os
import shutil
import subprocess
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from base.device_helpers import TWIN, OutOfDeviceMemory, Scorer, There
from everlearn import LASVM, load, save
from everlearn._base import device
from everlearn.datasets import make_banana
from everlearn.errors import DeviceError
from property_helpers import property_test
from reference import working_set

CUDA = Path(__file__).parents[2] / "core" / "cuda"


@pytest.fixture
def twin(monkeypatch):
    monkeypatch.setattr(device, "cuda_module", lambda: TWIN)
    return TWIN


@pytest.mark.parametrize("size", [16, 64, 1024])
@property_test(4)
@given(seed=st.integers(0, 100), n=st.integers(20, 80), C=st.sampled_from([0.1, 1.0, 50.0]))
def test_rounds_lead_to_the_dual_of_svc(size, seed, n, C):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(n, 3)), random.permutation(np.arange(n) % 2) * 2 - 1
    found = working_set.solve(X, (C * y)[np.newaxis].astype(float), "rbf", 0.5, 0.0, 3, 1e-5, size=size)
    K = working_set.kernel_matrix(X, "rbf", 0.5, 0.0, 3)
    svc = SVC(C=C, gamma=0.5, tol=1e-8).fit(X, y)
    expected = np.zeros(n)
    expected[svc.support_] = svc.dual_coef_[0]
    duals = [a @ y - a @ K @ a / 2 for a in (found["alpha"][0], expected)]
    assert duals[0] == pytest.approx(duals[1], rel=1e-5)
    assert abs(found["alpha"].sum()) < 1e-9


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": "cosine"},
        {"kernel": "laplacian"},
    ],
    ids=["rbf", "linear", "poly", "cosine", "laplacian"],
)
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_handed_over_model_is_that_of_the_cpu(twin, options, offset):
    X, y = make_banana(200, random_state=0)
    X = X + offset if not options else X
    there = LASVM(C=5, device="cuda", **options).fit(X, y)
    here = LASVM(C=5, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.02)
    assert there.violations().max() <= 1e-3
    assert there.n_iter_ == 200
    assert np.array_equal(np.sort(there.support_), np.flatnonzero(np.isin(np.arange(200), there.support_)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_classes_weights_and_layouts(twin, form, dtype):
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 120)) * (random.random((150, 120)) < 0.2)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    weights = random.uniform(0.5, 2, 150)
    weights[:20] = 0
    rows = form(X.astype(dtype))
    there = LASVM(C=2, device="cuda", class_weight="balanced").fit(rows, y, weights)
    here = LASVM(C=2, class_weight="balanced").fit(rows, y, weights)
    np.testing.assert_allclose(there.decision_function(rows), here.decision_function(rows), atol=0.02)
    assert not np.isin(np.arange(20), there.support_).any()


def test_model_continues_on_the_cpu(twin, tmp_path):
    X, y = make_banana(300, random_state=1)
    clf = LASVM(C=5, gamma=0.5, device="cuda", random_state=0).fit(X[:200], y[:200])
    save(clf, tmp_path / "model.everlearn")
    loaded = load(tmp_path / "model.everlearn")
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    for model in (clf, loaded):
        model.partial_fit(X[200:], y[200:])
    assert np.array_equal(loaded.decision_function(X), clf.decision_function(X))
    whole = LASVM(C=5, gamma=0.5, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.finish().decision_function(X), whole.decision_function(X), atol=0.02)


def test_reserve_has_the_rows_nearest_to_the_margin(twin):
    X, y = make_banana(250, random_state=1)
    clf = LASVM(C=5, gamma=0.5, device="cuda", reserve=40).fit(X, y)
    gone = clf.support_[::2]
    clf.forget(gone)
    stays = np.setdiff1d(np.arange(250), gone)
    whole = LASVM(C=5, gamma=0.5).fit(X[stays], y[stays])
    assert np.mean(clf.predict(X) == whole.predict(X)) > 0.99


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"finishing": "kept"}, "needs finishing='all', got 'kept'"),
        ({"selection": "active"}, "needs selection='random', got 'active'"),
        ({"max_iter": 10}, "needs max_iter=-1, got 10"),
        ({"row_dtype": "float16"}, "needs row_dtype=None, got 'float16'"),
        ({"kernel": np.dot}, "kernel=a callable runs on the CPU only"),
    ],
)
def test_what_a_device_cannot_do(twin, options, message):
    X, y = make_banana(60, random_state=0)
    with pytest.raises(DeviceError, match=message):
        LASVM(device="cuda", **options).fit(X, y)


def test_unknown_device_is_refused():
    X, y = make_banana(60, random_state=0)
    with pytest.raises(ValueError, match="device"):
        LASVM(device="gpu").fit(X, y)


@pytest.mark.parametrize(
    ("devices", "code", "message"),
    [
        (lambda: [], "no_device", "This machine has no CUDA device"),
        (lambda: [("Old", 7, 5, 1, 1)], "old_device", "Old has compute capability 7.5: 8.0 is needed"),
        (lambda: [("Small", 8, 9, 1, 101_376)], "small_device", "Small has 99 KB .*: 114 KB are needed"),
        (None, "no_device", "No CUDA device can be used: no driver"),
    ],
)
def test_unusable_device_is_named(monkeypatch, devices, code, message):
    def no_driver():
        raise RuntimeError("no driver")

    module = types.SimpleNamespace(devices=devices or no_driver, block_memory=114 * 1024)
    monkeypatch.setattr(device.importlib, "import_module", lambda name: module)
    with pytest.raises(DeviceError, match=message) as caught:
        device.cuda_module()
    assert caught.value.code == code


def test_missing_module_and_fallback():
    X, y = make_banana(100, random_state=0)
    if importlib.util.find_spec("everlearn._cuda") is not None:
        pytest.skip("this installation was built with CUDA")
    with pytest.raises(DeviceError, match="Or set device='cpu'") as caught:
        LASVM(device="cuda").fit(X, y)
    assert caught.value.code == "no_cuda_module"
    with pytest.warns(RuntimeWarning, match="Training on the CPU: ") as warned:
        clf = LASVM(device="auto", random_state=0).fit(X, y)
    assert warned[0].filename == __file__
    same = LASVM(random_state=0).fit(X, y)
    assert np.array_equal(clf.decision_function(X), same.decision_function(X))


@pytest.mark.parametrize(
    ("error", "code"), [(OutOfDeviceMemory("full"), "device_memory"), (RuntimeError("lost"), "device_failed")]
)
def test_failing_device_leaves_the_model_as_it_was(monkeypatch, error, code):
    X, y = make_banana(100, random_state=0)
    clf = LASVM(device="cpu", random_state=0).fit(X, y)
    before = clf.decision_function(X)

    def fail(*args, **options):
        raise error

    broken = types.SimpleNamespace(**(vars(TWIN) | {"solve": fail}))
    monkeypatch.setattr(device, "cuda_module", lambda: broken)
    with pytest.raises(DeviceError) as caught:
        clf.set_params(device="cuda").fit(X[:50], y[:50])
    assert caught.value.code == code
    assert np.array_equal(clf.decision_function(X), before)


@pytest.mark.parametrize("step", ["solve", "summarize"])
@pytest.mark.parametrize("error", [OutOfDeviceMemory("full"), RuntimeError("lost")])
@pytest.mark.parametrize("place", [np.asarray, There], ids=["host", "device"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_a_device_that_fails_in_the_middle_of_a_fit(monkeypatch, step, error, place, dtype):
    X, y = make_banana(100, random_state=0)
    X = (X * 20 + 100).clip(0, 255).astype(dtype)

    def fail(*args, **options):
        raise error

    broken = types.SimpleNamespace(**(vars(TWIN) | {step: fail}))
    monkeypatch.setattr(device, "cuda_module", lambda: broken)
    same = LASVM(C=5, random_state=0).fit(X.astype(float), y)
    with pytest.warns(RuntimeWarning, match=f"Training on the CPU: The CUDA device .*{error}") as warned:
        clf = LASVM(C=5, device="auto", random_state=0).fit(place(X), place(y))
    assert [warning.filename for warning in warned] == [__file__]
    expected = same.decision_function(X.astype(float))
    np.testing.assert_allclose(clf.decision_function(X.astype(float)), expected, atol=1e-3)
    before = clf.decision_function(X[:5].astype(float))
    with pytest.raises(DeviceError, match=str(error)):
        clf.set_params(device="cuda").fit(place(X[:50]), place(y[:50]))
    assert np.array_equal(clf.decision_function(X[:5].astype(float)), before)


@pytest.mark.parametrize("nth", range(1, 5))
def test_a_device_that_fails_to_give_rows_back(monkeypatch, nth):
    """Also where the last rows are asked for: those of the reserve."""
    X, y = make_banana(100, random_state=0)
    calls = []

    def take(*args):
        calls.append(args)
        if len(calls) == nth:
            raise OutOfDeviceMemory("full")
        return TWIN.take(*args)

    monkeypatch.setattr(device, "cuda_module", lambda: types.SimpleNamespace(**(vars(TWIN) | {"take": take})))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        clf = LASVM(C=5, device="auto", random_state=0).fit(There(X), There(y))
        failed = len(calls) >= nth
    assert [str(warning.message)[:19] for warning in warned] == ["Training on the CPU"] * failed
    same = LASVM(C=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X), same.decision_function(X), atol=1e-3)
    assert nth > 3 or failed


def test_cuda_code_compiles(tmp_path):
    """Where nvcc is installed; `EVERLEARN_NVCC` names one that is not on the PATH."""
    nvcc = os.environ.get("EVERLEARN_NVCC") or shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    for source in sorted(CUDA.glob("*.cu")):
        command = [nvcc, "-arch=sm_80", "-std=c++20", "-Werror", "all-warnings", "-ptx", "-G"]
        command += [str(source), "-o", str(tmp_path / "code")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_large_batches_are_scored_on_the_device(twin, monkeypatch, form, offset, classes):
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    X, y = make_banana(150, random_state=0)
    X, y = X + offset, np.arange(150) % classes if classes > 2 else y
    model = LASVM(C=5, gamma=0.5, device="cuda").fit(form(X), y)
    here = model.set_params(device="cpu").decision_function(form(X))
    there = model.set_params(device="auto").decision_function(form(X))
    np.testing.assert_allclose(there, here, atol=1e-5)
    np.testing.assert_array_equal(model.predict(form(X)), model.set_params(device="cpu").predict(form(X)))


def test_a_model_is_copied_to_the_device_when_it_has_changed(twin, monkeypatch):
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    X, y = make_banana(200, random_state=0)
    model = LASVM(C=5, gamma=0.5, device="cuda").fit(X[:150], y[:150])
    model.predict(X), model.predict(X)
    before = Scorer.built
    model.predict(X)
    assert Scorer.built == before
    model.partial_fit(X[150:], y[150:])
    there = model.decision_function(X)
    assert Scorer.built == before + 1
    np.testing.assert_allclose(there, model.set_params(device="cpu").decision_function(X), atol=1e-5)


def test_a_model_from_a_device_predicts_without_one(monkeypatch, twin):
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, gamma=0.5, device="cuda").fit(X, y)
    expected = model.decision_function(X)
    monkeypatch.undo()
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-5)


@pytest.mark.parametrize(("name", "error"), [("cuda", True), ("auto", False)])
def test_a_device_that_fails_in_a_prediction(monkeypatch, twin, name, error):
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, gamma=0.5, device=name).fit(X, y)

    def fail(*_):
        raise OutOfDeviceMemory("no memory for 8 bytes")

    monkeypatch.setattr(Scorer, "scores", fail)
    if error:
        with pytest.raises(DeviceError, match="ran out of memory: no memory for 8 bytes"):
            model.predict(X)
    else:
        expected = model.set_params(device="cpu").predict(X)
        model.set_params(device=name)
        with pytest.warns(RuntimeWarning, match="Predicting on the CPU: .* no memory for 8 bytes") as warned:
            assert np.array_equal(model.predict(X), expected)
        assert warned[0].filename == __file__


def test_small_batches_do_not_ask_for_a_device(monkeypatch, twin):
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, gamma=0.5, device="cuda").fit(X, y)
    expected = model.decision_function(X)

    def ask():
        raise AssertionError("the driver was asked")

    monkeypatch.setattr(device, "cuda_module", ask)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.decision_function(X[:1]), expected[:1])
    np.testing.assert_allclose(model.decision_function(sparse.csr_matrix(X)), expected, atol=1e-6)
