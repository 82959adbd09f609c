"""SubmodS3VM with sums of similarities on a device; `make test-cuda` tests what the device computes."""

import types

import numpy as np
import pytest
from scipy import sparse

from everlearn import SubmodS3VM
from everlearn._base import device
from everlearn._submodular.choice import Choice, Similarities
from everlearn.errors import DeviceError


class Sweeps:
    """What the module computes, in NumPy."""

    calls = 0

    def __init__(self, rows):
        assert rows.flags.c_contiguous
        self.rows = rows

    def times(self, weights):
        Sweeps.calls += 1
        return self.rows @ (self.rows.T @ weights)

    def linearize(self, w, q, start, k):
        Sweeps.calls += 1
        found = Choice(Similarities(self.rows), w, q, 1.0).linearize(np.flatnonzero(start), k)
        return np.isin(np.arange(len(w)), found).astype(np.uint8)


class Lost:
    def __init__(self, rows):
        raise RuntimeError("lost")


def module(sweeps):
    return types.SimpleNamespace(Sweeps=sweeps, DeviceError=RuntimeError, OutOfDeviceMemory=MemoryError)


def wide_and_sparse(X):
    return sparse.csr_matrix(np.pad(X, ((0, 0), (0, 300))))


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = random.normal(size=(300, 8)) + 2 * np.eye(8)[y]
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["fast", "two-sided", "greedy"])
def test_labels_are_those_of_the_cpu(monkeypatch, rows, classes, solver):
    monkeypatch.setattr(device, "cuda_module", lambda: module(Sweeps))
    X, y = rows
    given = np.where(np.arange(300) < 30, y % classes, np.nan)
    options = {"kernel": "linear", "rho": 0.5, "solver": solver, "random_state": 0}
    before = Sweeps.calls
    there = SubmodS3VM(device="cuda", **options).fit(X, given)
    assert Sweeps.calls > before
    here = SubmodS3VM(**options).fit(X, given)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)
    assert there.objective_ == pytest.approx(here.objective_)


@pytest.mark.parametrize(
    ("form", "kernel", "message"),
    [
        (np.asarray, "rbf", "it needs the linear kernel, got 'rbf'"),
        (lambda X: X @ X.T, "precomputed", "it needs the linear kernel, got 'precomputed'"),
        (wide_and_sparse, "linear", "it needs dense rows, and X is sparse"),
    ],
)
def test_what_a_device_cannot_do(monkeypatch, rows, form, kernel, message):
    monkeypatch.setattr(device, "cuda_module", lambda: module(Sweeps))
    X, y = rows
    given = np.where(np.arange(300) < 30, y % 2, np.nan)
    with pytest.raises(DeviceError, match=message):
        SubmodS3VM(device="cuda", kernel=kernel).fit(form(X), given)
    with pytest.warns(RuntimeWarning, match=message) as warned:
        SubmodS3VM(device="auto", kernel=kernel, rho=1).fit(form(X), given)
    assert warned[0].filename == __file__


def test_a_device_that_fails(monkeypatch, rows):
    monkeypatch.setattr(device, "cuda_module", lambda: module(Lost))
    X, y = rows
    given = np.where(np.arange(300) < 30, y % 2, np.nan)
    with pytest.raises(DeviceError, match="The CUDA device failed: lost"):
        SubmodS3VM(device="cuda", kernel="linear").fit(X, given)


@pytest.mark.parametrize("working_calls", [0, 1])
@pytest.mark.parametrize("solver", ["fast", "two-sided", "greedy"])
def test_the_cpu_goes_on_where_a_device_fails(monkeypatch, rows, solver, working_calls):
    class LostLater(Sweeps):
        left = working_calls

        def _count(self):
            LostLater.left -= 1
            if LostLater.left < 0:
                raise RuntimeError("lost")

        def times(self, weights):
            self._count()
            return super().times(weights)

        def linearize(self, w, q, start, k):
            self._count()
            return super().linearize(w, q, start, k)

    monkeypatch.setattr(device, "cuda_module", lambda: module(LostLater))
    X, y = rows
    given = np.where(np.arange(300) < 30, y % 3, np.nan)
    options = {"kernel": "linear", "rho": 0.5, "solver": solver, "random_state": 0}
    with pytest.warns(RuntimeWarning, match="Training on the CPU: The CUDA device failed: lost") as warned:
        there = SubmodS3VM(device="auto", **options).fit(X, given)
    assert {warning.filename for warning in warned} == {__file__}
    here = SubmodS3VM(**options).fit(X, given)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)
