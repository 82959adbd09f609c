"""Every kernel in every estimator that takes one, found by discovery: rows of any layout, states, export."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import everlearn
from everlearn import IDSVM, LASVM, AdaptiveSVM, Exemplars
from everlearn._base.kernels import KERNELS, NAMES, kernel_named
from everlearn._submodular.geometry import Geometry
from everlearn.adaptive import Expert
from everlearn.export import export_onnx
from everlearn.query import Submodular
from export.export_helpers import run

TAKES_KERNELS = sorted(
    name
    for name in everlearn.__all__
    if inspect.isclass(cls := getattr(everlearn, name)) and "kernel" in inspect.signature(cls).parameters
)
CLASSIFIERS = [name for name in TAKES_KERNELS if name != "Exemplars"]
DEFINITE = [name for name in NAMES if kernel_named(name).definite]
FAR = [name for name in DEFINITE if KERNELS[name].shift_invariant or KERNELS[name].is_linear]
SETTINGS = {"gamma": 0.9, "coef0": 0.0, "degree": 3}  # K(x, x) is at most 1, which Forgetron asks for


def clouds(n=160, features=5, seed=0):
    """Two clouds in different directions from the origin, none of the rows longer than 1."""
    random = np.random.default_rng(seed)
    y = random.integers(2, size=n)
    X = random.standard_normal((n, features))
    X[:, 0] += np.where(y == 1, 2.0, -2.0)
    return X / (1.01 * np.linalg.norm(X, axis=1).max()), y


def made(name, kernel, **more):
    cls = getattr(everlearn, name)
    accepted = inspect.signature(cls).parameters
    options = {key: value for key, value in (SETTINGS | more).items() if key in accepted}
    return cls(**({"random_state": 0} if "random_state" in accepted else {}), kernel=kernel, **options)


def fitted(name, kernel, X, y, **more):
    model = made(name, kernel, **more)
    known = y.astype(float)
    if "S3VM" in name:
        known[20:] = np.nan
    return model.fit(X, known)


def test_estimators_are_found():
    assert {"LASVM", "IDSVM", "KOIL", "Forgetron", "VIRTUAL", "SubmodS3VM", "Exemplars"} <= set(TAKES_KERNELS)


@pytest.mark.parametrize("kernel", DEFINITE)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_learner_learns_and_is_exported(name, kernel, tmp_path):
    X, y = clouds()
    model = fitted(name, kernel, X[:120], y[:120], C=100.0)
    assert np.mean(model.predict(X[120:]) == y[120:]) > 0.6
    export_onnx(model, tmp_path / "model.onnx", dtype="float64")
    _, scores = run(tmp_path / "model.onnx", X[120:], "float64")
    # Kernel values are cached in single precision, and coefficients go up to 100.
    np.testing.assert_allclose(scores, model.decision_function(X[120:]), rtol=0, atol=2e-4)


@pytest.mark.parametrize("kernel", NAMES)
def test_selection_and_query(kernel):
    X, y = clouds()
    chosen = Exemplars(10, kernel=kernel, **SETTINGS).fit(X).indices_
    assert len(set(chosen.tolist())) == 10
    model = LASVM(random_state=0).fit(X[:60], y[:60])
    rows = Submodular(kernel=kernel, pool_size=None, random_state=0, **SETTINGS).query(model, X[60:], n=5)
    assert len(set(rows.tolist())) == 5


@pytest.mark.parametrize(
    ("kernel", "offset"), [*((name, 0.0) for name in DEFINITE), *((name, 1e4) for name in FAR)]
)
@pytest.mark.parametrize("cls", [LASVM, IDSVM])
def test_the_exact_svm_of_the_same_gram_matrix(cls, kernel, offset):
    """Far from the origin, too, where the kernel does not depend on it."""
    X, y = clouds()
    K = kernel_named(kernel, **SETTINGS).values(X, X)
    exact = SVC(C=2.0, kernel="precomputed", tol=1e-6).fit(K[:120, :120], y[:120])
    more = {"tol": 1e-6, "epochs": 10, "finishing": "kept", "random_state": 0} if cls is LASVM else {}
    model = cls(C=2.0, kernel=kernel, **SETTINGS, **more).fit(X[:120] + offset, y[:120])
    expected = exact.decision_function(K[120:, :120])
    np.testing.assert_allclose(model.decision_function(X[120:] + offset), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kernel", DEFINITE)
def test_the_row_that_others_are_centered_around_can_be_forgotten(kernel):
    X, y = clouds(60)
    X = X + (1e4 if KERNELS[kernel].shift_invariant else 0.0)
    model = IDSVM(kernel=kernel, **SETTINGS).partial_fit(X[:1], y[:1], classes=[0, 1])
    model.partial_fit(X[1:], y[1:]).forget([0])
    other = IDSVM(kernel=kernel, **SETTINGS).fit(X[1:], y[1:])
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", [name for name in NAMES if set(KERNELS[name].uses) <= {"gamma"}])
def test_experts(kernel, tmp_path):
    X, y = clouds(200)
    experts = [Expert(kernel), Expert(kernel, window=40, relevance=True), Expert("no-change")]
    model = AdaptiveSVM(experts, random_state=0).partial_fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.8
    export_onnx(model, tmp_path / "model.onnx", dtype="float64")
    _, scores = run(tmp_path / "model.onnx", X[120:], "float64")
    np.testing.assert_allclose(scores, model.decision_function(X[120:]), rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_experts_have_no_parameters_but_gamma(kernel):
    with pytest.raises(ValueError, match="kernel of an Expert must be one of"):
        AdaptiveSVM([Expert(kernel)]).partial_fit(*clouds())


def test_rows_of_zeros_under_the_cosine():
    X, y = clouds()
    X[::7] = 0
    K = kernel_named("cosine").values(X, X)
    for form in (np.asarray, sparse.csr_matrix):
        model = LASVM(kernel="cosine", tol=1e-6, epochs=10, finishing="kept").fit(form(X), y)
        exact = SVC(kernel="precomputed", tol=1e-6).fit(K, y)
        np.testing.assert_allclose(model.decision_function(form(X)), exact.decision_function(K), atol=1e-4)
        assert (model.decision_function(form(X[::7])) == model.intercept_[0]).all()


def test_directions_are_compared_from_the_origin_as_it_is():
    X, _ = clouds()
    for scaling, mean, unit in (("auto", False, False), ("standard", True, False), ("unit", False, True)):
        found = Geometry.of(X + 5, Exemplars(kernel="cosine", scaling=scaling))
        assert ((found.mean is not None), found.unit) == (mean, unit)


def test_the_median_is_that_of_the_distance_of_the_kernel():
    X, _ = clouds()
    distances = np.abs(X[:, np.newaxis] - X).sum(axis=2)[np.triu_indices(len(X), 1)]
    found = Geometry.of(X, Exemplars(kernel="laplacian", scaling="none")).kernel
    assert found.gamma == pytest.approx(1 / (2 * np.median(distances)))
