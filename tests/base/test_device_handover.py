"""What a device solved as a model of the CPU, with the plain twin of the device."""

import types
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from base.device_helpers import TWIN, NotFinite
from everlearn import LASVM
from everlearn._base import device
from everlearn.datasets import make_banana
from everlearn.errors import DeviceError


@pytest.fixture
def use(monkeypatch):
    """Replaces parts of the twin."""

    def replace(**parts):
        module = types.SimpleNamespace(**(vars(TWIN) | parts))
        monkeypatch.setattr(device, "cuda_module", lambda: module)

    replace()
    return replace


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear"},
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
        {"kernel": "sigmoid", "gamma": 0.01, "coef0": 0.1},
        {"kernel": "cosine"},
        {"kernel": "laplacian", "gamma": 0.05},
    ],
    ids=lambda kernel: kernel["kernel"],
)
def test_kernels_forms_and_weights(use, kernel, form):
    random = np.random.default_rng(0)
    X = np.where(random.random((120, 30)) < 0.3, random.normal(size=(120, 30)), 0)
    y = np.argmax(X[:, :3], axis=1)
    weights = random.uniform(0, 2, 120)
    weights[:20] = 0
    options = kernel | {"C": 2, "class_weight": {0: 1, 1: 2, 2: 0.5}, "tol": 1e-4}
    there = LASVM(device="cuda", **options).fit(form(X), y, weights)
    here = LASVM(**options).fit(form(X), y, weights)
    assert there.violations().max() <= 1e-4
    assert not np.isin(np.arange(20), there.support_).any()
    there.set_params(device="cpu")
    np.testing.assert_allclose(there.decision_function(form(X)), here.decision_function(X), atol=2e-3)


def test_rows_that_are_to_be_kept_are_kept(use):
    X, y = make_banana(200, random_state=0)
    models = [LASVM(C=5, reserve=0, device=name, random_state=0) for name in ("cuda", "cpu")]
    for model in models:
        model.keep_all_rows()
        model.fit(X[:150], y[:150])
        assert model.missing_ids(np.arange(150)).size == 0
        model.partial_fit(X[150:], y[150:])
        model.finish()
        assert model.missing_ids(np.arange(200)).size == 0
    there, here = models
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.02)
    gone = there.support_[::2]
    there.forget(gone)
    stays = np.setdiff1d(np.arange(200), gone)
    whole = LASVM(C=5, gamma=there.gamma_).fit(X[stays], y[stays])
    np.testing.assert_allclose(there.decision_function(X), whole.decision_function(X), atol=0.02)


def test_an_interrupted_fit_leaves_the_model_as_it_was(use):
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, device="cuda").fit(X, y)
    before = model.decision_function(X)

    def interrupted(*_, **options):
        raise KeyboardInterrupt

    use(solve=interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:50], -y[:50])
    assert np.array_equal(model.decision_function(X), before)
    fresh = LASVM(device="cuda")
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def too_large(*_, **options):
    raise NotFinite


def not_a_number(rows, **options):
    found = TWIN.solve(rows, **options)
    found["g"][0, 3] = np.nan
    return found


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (too_large, "X has values that are too large for the device.*Scale the features"),
        (not_a_number, "The rbf kernel has sums that are too large for the device.*Scale the features"),
    ],
)
def test_numbers_that_a_device_does_not_have(use, solve, message):
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, device="cuda").fit(X, y)
    before = model.decision_function(X)
    use(solve=solve)
    with pytest.raises(DeviceError, match=message) as caught:
        model.fit(X[:50], y[:50])
    assert caught.value.code == "device_overflow"
    assert np.array_equal(model.decision_function(X), before)
    same = LASVM(C=5, random_state=0).fit(X, y)
    with pytest.warns(RuntimeWarning, match="Training on the CPU: " + message) as warned:
        other = LASVM(C=5, device="auto", random_state=0).fit(X, y)
    assert [warning.filename for warning in warned] == [__file__]
    assert np.array_equal(other.decision_function(X), same.decision_function(X))


def test_a_solution_above_the_tolerance_is_named(use):
    X, y = make_banana(100, random_state=0)

    def given_up(rows, edge, **options):
        return {"alpha": np.zeros_like(edge), "g": np.sign(edge), "rounds": 1}

    use(solve=given_up)
    with pytest.warns(ConvergenceWarning, match="stopped at a violation of 2, above tol=0.001"):
        LASVM(C=5, device="cuda").fit(X, y)
    use()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LASVM(C=5, device="cuda").fit(X, y)


def test_a_later_call_asks_for_its_own_device(use):
    X, y = make_banana(100, random_state=0)
    model = LASVM(C=5, device="cuda").fit(X, y)
    use(solve=too_large)
    model.set_params(device="cpu", random_state=0).fit(X, y)
    assert np.array_equal(
        model.decision_function(X), LASVM(C=5, random_state=0).fit(X, y).decision_function(X)
    )


def test_a_build_with_cuda_names_a_missing_driver():
    """Where the module was built and no device can be used."""
    module = pytest.importorskip("everlearn._cuda")
    try:
        module.devices()
    except module.DeviceError as error:
        assert "driver" in str(error) or "no CUDA-capable device" in str(error)  # noqa: PT017
