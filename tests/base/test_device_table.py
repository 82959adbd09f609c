"""Rows that a device reads as they are, with the plain twin of the device."""

import numpy as np
import pytest

from base.device_helpers import TWIN, There
from everlearn import LASVM
from everlearn._base import device
from everlearn.datasets import make_banana


@pytest.fixture
def twin(monkeypatch):
    monkeypatch.setattr(device, "cuda_module", lambda: TWIN)
    return TWIN


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("place", [np.asarray, There], ids=["host", "device"])
def test_rows_are_read_as_they_are(twin, dtype, place):
    random = np.random.default_rng(0)
    X = random.integers(0, 200, (150, 6)).astype(dtype)
    y = (X[:, 0].astype(float) * X[:, 1] > 8000).astype(int)
    weights = random.uniform(0.5, 2, 150)
    there = LASVM(C=5, device="cuda").fit(place(X), place(y), sample_weight=place(weights))
    here = LASVM(C=5).fit(X.astype(float), y, sample_weight=weights)
    assert there.gamma_ == pytest.approx(here.gamma_)
    assert there.support_vectors_.dtype == (np.float64 if dtype == np.float64 else np.float32)
    assert there.n_features_in_ == 6
    there.set_params(device="cpu")
    expected = here.decision_function(X.astype(float))
    np.testing.assert_allclose(there.decision_function(X.astype(float)), expected, atol=0.02)


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_and_labels_stay_in_the_memory_of_the_device(twin, classes):
    X, _ = make_banana(120, random_state=0)
    y = np.arange(120) % classes
    model = LASVM(C=5, device="cuda").fit(There(X), There(y))
    scores = model.decision_function(There(X))
    assert isinstance(scores, There)
    assert scores.shape == ((120,) if classes == 2 else (120, 3))
    here = LASVM(C=5, device="cpu").fit(X, y)
    np.testing.assert_allclose(scores.array, here.decision_function(X), atol=0.02)
    np.testing.assert_array_equal(model.predict(There(X)), model.predict(X))
    words = np.array(["a", "b", "c"])[y]
    named = LASVM(C=5, device="cuda").fit(There(X), words)
    np.testing.assert_array_equal(named.predict(There(X)), named.predict(X))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: X[0], "two dimensions, rows and features, got shape"),
        (lambda X: X[:0], "two dimensions, rows and features, got shape"),
        (lambda X: X.astype(np.int64), "must be float64, float32, float16 or uint8, in C order; got <i8"),
        (lambda X: X[:, ::2], "in C order; got strides"),
        (lambda X: np.where(X.mean() < X, np.nan, X), "contains NaN"),
        (lambda X: X * 1e200, "overflows on rows of squared length"),
        (lambda X: X[:50], "inconsistent numbers of samples"),
    ],
)
def test_bad_rows_in_the_memory_of_the_device(twin, spoil, message):
    X, y = make_banana(80, random_state=0)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        LASVM(kernel="poly", device="cuda").fit(There(spoil(X)), y)


def test_bad_rows_in_a_prediction_on_the_device(twin, monkeypatch):
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    X, y = make_banana(80, random_state=0)
    model = LASVM(device="cuda").fit(X, y)
    bad = np.where(X.mean() < X, np.nan, X)
    for rows in (bad, There(bad)):
        with pytest.raises(ValueError, match="contains NaN"):
            model.predict(rows)
    far = np.where(X.mean() < X, 1e35, X)
    np.testing.assert_array_equal(model.predict(far), model.set_params(device="cpu").predict(far))
    with pytest.raises(ValueError, match="too large for the device"):
        model.set_params(device="cuda").predict(There(far))
    with pytest.raises(ValueError, match="X has 3 features, but LASVM is expecting 2"):
        model.predict(There(np.hstack([X, X[:, :1]])))
