"""Fits on a real CUDA device, against SVC and the fit on the CPU. Run by `make test-cuda`."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_classification
from sklearn.svm import SVC

from everlearn import LASVM, SubmodS3VM, load, save
from everlearn._base import device
from everlearn._submodular.choice import Choice, Similarities
from everlearn.errors import DeviceError

TOL = 1e-3


def problem(n=3000, d=20, classes=2, seed=0):
    X, y = make_classification(
        n, d, n_informative=8, n_classes=classes, flip_y=0.1, class_sep=0.7, random_state=seed
    )
    return X.astype(np.float32), y


def dual_of(clf, gamma):
    """The dual objective in double precision, of a binary RBF model."""
    alpha = np.asarray(clf.dual_coef_).ravel()
    vectors = np.asarray(clf.support_vectors_, dtype=np.float64)
    squares = (vectors**2).sum(axis=1)
    K = np.exp(-gamma * np.maximum(squares[:, None] + squares - 2 * vectors @ vectors.T, 0))
    return np.abs(alpha).sum() - alpha @ K @ alpha / 2


@pytest.mark.parametrize("d", [5, 20, 64, 65, 200])
@pytest.mark.parametrize("n", [200, 1500, 5000])
def test_dual_and_decisions_are_those_of_svc(n, d):
    X, y = problem(n, max(d, 20))
    X = np.ascontiguousarray(X[:, :d])
    ours = LASVM(C=2, gamma=0.05, tol=TOL, device="cuda").fit(X, y)
    svc = SVC(C=2, gamma=0.05, tol=1e-6).fit(X, y)
    assert dual_of(ours, 0.05) == pytest.approx(dual_of(svc, 0.05), rel=1e-6)
    difference = np.abs(ours.decision_function(X) - svc.decision_function(X))
    assert difference.max() < 10 * TOL
    assert ours.violations().max() <= TOL


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "linear", "C": 0.1, "tol": 1e-4},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
        {"kernel": "cosine"},
        {"kernel": "laplacian", "gamma": 0.05},
        {"kernel": "rbf", "gamma": 0.1},
    ],
    ids=lambda kernel: kernel["kernel"],
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [20, 150])
def test_kernels_agree_with_the_cpu(kernel, d, form):
    X, y = problem(d=d)
    X = np.where(np.abs(X) < 0.5, 0, X).astype(np.float32)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    weights[:50] = 0
    there = LASVM(device="cuda", **kernel).fit(form(X), y, weights)
    here = LASVM(**kernel).fit(form(X), y, weights)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=20 * TOL)
    assert there.violations().max() <= TOL
    assert not np.isin(np.arange(50), there.support_).any()


def test_sigmoid_kernel_reaches_the_tolerance():
    """It is not positive definite: there may be several solutions."""
    X, y = problem()
    clf = LASVM(kernel="sigmoid", gamma=0.005, coef0=0.1, device="cuda").fit(X, y)
    assert clf.violations().max() <= TOL
    assert clf.score(X, y) > 0.6


def test_classes_weights_and_sparse_rows():
    X, y = problem(classes=5, d=120)
    X = np.where(np.abs(X) < 1.2, 0, X).astype(np.float32)
    weights = np.random.default_rng(0).uniform(0, 2, len(y))
    weights[:50] = 0
    options = {"C": 3, "gamma": 0.02, "class_weight": "balanced"}
    here = LASVM(**options).fit(X, y, weights)
    for rows in (X, sparse.csr_matrix(X), X.astype(np.float64)):
        there = LASVM(device="cuda", **options).fit(rows, y, weights)
        np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=20 * TOL)
        assert not np.isin(np.arange(50), there.support_).any()


def test_bytes_and_pictures_are_exact_in_one_product():
    X, y = load_digits(return_X_y=True)
    bytes_, pictures = np.round(X * 255 / 16), (np.round(X * 255 / 16) / 255).astype(np.float32)
    one = LASVM(C=5, gamma=0.05 / 255**2, device="cuda").fit(bytes_, y)
    other = LASVM(C=5, gamma=0.05, device="cuda").fit(pictures, y)
    svc = LASVM(C=5, gamma=0.05).fit(pictures, y)
    np.testing.assert_allclose(one.decision_function(bytes_), svc.decision_function(pictures), atol=20 * TOL)
    np.testing.assert_allclose(
        other.decision_function(pictures), svc.decision_function(pictures), atol=20 * TOL
    )


@pytest.mark.parametrize("offset", [0, 1e4])
def test_rows_far_from_the_origin(offset):
    X, y = problem()
    X = X.astype(np.float64) + offset
    there, here = LASVM(gamma=0.05, device="cuda").fit(X, y), LASVM(gamma=0.05).fit(X, y)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=20 * TOL)


def test_same_bits_every_time():
    X, y = problem(6000, 150, classes=3)
    fits = [LASVM(C=10, gamma=0.01, device="cuda").fit(X, y).decision_function(X) for _ in range(3)]
    assert np.array_equal(fits[0], fits[1])
    assert np.array_equal(fits[0], fits[2])


def test_size_of_the_cache_changes_nothing():
    X, y = problem(6000, 150)
    enough = LASVM(C=10, gamma=0.01, device="cuda", cache_size=4000).fit(X, y)
    little = LASVM(C=10, gamma=0.01, device="cuda", cache_size=60).fit(X, y)  # of 144 MB
    none = LASVM(C=10, gamma=0.01, device="cuda", cache_size=1).fit(X, y)
    assert np.array_equal(enough.decision_function(X), little.decision_function(X))
    np.testing.assert_allclose(none.decision_function(X), enough.decision_function(X), atol=20 * TOL)


def test_large_costs_reach_the_true_tolerance():
    X, y = problem(4000, 10)
    clf = LASVM(C=1000, gamma=0.1, device="cuda").fit(X, y)
    svc = SVC(C=1000, gamma=0.1, tol=1e-6, cache_size=1000).fit(X, y)
    assert dual_of(clf, 0.1) == pytest.approx(dual_of(svc, 0.1), rel=1e-6)


def test_the_model_goes_on_on_the_cpu(tmp_path):
    X, y = problem(2000)
    clf = LASVM(C=2, gamma=0.05, device="cuda").fit(X[:1500], y[:1500])
    save(clf, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").decision_function(X), clf.decision_function(X))
    clf.partial_fit(X[1500:], y[1500:]).finish()
    whole = LASVM(C=2, gamma=0.05).fit(X, y)
    assert np.mean(clf.predict(X) == whole.predict(X)) > 0.995
    gone = clf.support_[:20]
    clf.forget(gone)
    assert not np.isin(gone, clf.support_).any()


def test_out_of_memory_is_an_error_that_loses_nothing():
    X, y = problem(500)
    clf = LASVM(device="cuda").fit(X, y)
    before = clf.decision_function(X)
    edge = np.ones((60_000, len(X)))  # a working set for each of as many problems takes 250 GB
    with pytest.raises(DeviceError, match=r"ran out of memory: .* Set a smaller cache_size"):
        device.solve(device.cuda_module(), clf._machine, X, edge, TOL, 0)
    assert np.array_equal(clf.decision_function(X), before)
    LASVM(device="cuda").fit(X, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("columns", [1, 3])
def test_scores_on_the_device(dtype, columns):
    random = np.random.default_rng(0)
    Z = random.integers(0, 200, (700, 90)).astype(dtype)
    X = random.integers(0, 200, (1000, 90)).astype(dtype)
    weights = random.normal(size=(columns, 700)).astype(np.float32)
    gamma = 1e-6
    shift = np.full(90, 7.0)
    options = {"kernel": "rbf", "gamma": gamma, "coef0": 0.0, "degree": 3, "shift": shift}
    scorer = device.cuda_module().Scorer(Z, weights, **options)
    a, b = X.astype(np.float64), Z.astype(np.float64)
    distances = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    bias = [0.5 * k for k in range(columns)]
    expected = np.exp(-gamma * distances) @ weights.T.astype(np.float64) + bias
    np.testing.assert_allclose(scorer.scores(X, bias), expected, atol=1e-3)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid", "cosine", "laplacian"])
@pytest.mark.parametrize(("classes", "d"), [(2, 20), (5, 120), (30, 40)])
def test_predictions_on_the_device_are_those_of_the_cpu(monkeypatch, kernel, classes, d):
    X, y = problem(4000, d)
    y = np.random.default_rng(0).integers(0, classes, len(y)) if classes > 5 else problem(4000, d, classes)[1]
    options = {"gamma": 0.01, "coef0": 0.5, "degree": 2}
    clf = LASVM(C=0.5, kernel=kernel, device="cuda", **options).fit(X[:2000], y[:2000])
    here = clf.set_params(device="cpu").decision_function(X)
    monkeypatch.setattr(device, "_WORTH_COPYING", 1)
    there = clf.set_params(device="cuda").decision_function(X)
    largest = (X**2).sum(axis=1).max() if kernel == "linear" else 1
    terms = np.abs(clf.dual_coef_).sum(axis=1).max() * largest  # float32 rounds each of them
    np.testing.assert_allclose(there, here, atol=max(1e-4, 1e-6 * terms))
    np.testing.assert_array_equal(clf.decision_function(X), there)
    np.testing.assert_allclose(clf.decision_function(sparse.csr_matrix(X)), there, atol=1e-9)


def test_many_batches_are_scored_in_their_places():
    X, y = problem(300, 500)
    clf = LASVM(C=2, gamma=0.002, device="cuda").fit(X, y)
    many = np.random.default_rng(0).normal(size=(150_000, 500)).astype(np.float32)  # five batches
    here = clf.set_params(device="cpu").decision_function(many[::97])
    clf.set_params(device="cuda")
    np.testing.assert_allclose(clf.decision_function(many)[::97], here, atol=1e-4)


@pytest.mark.parametrize("columns", [2, 15, 40])
def test_many_threads_score_many_columns(columns):
    """Some launches take more shared memory than others, at the same time."""
    random = np.random.default_rng(0)
    Z = random.normal(size=(200, 40)).astype(np.float32)
    X = random.normal(size=(300_000, 40)).astype(np.float32)
    weights = random.normal(size=(columns, 200)).astype(np.float32)
    options = {"kernel": "rbf", "gamma": 0.02, "coef0": 0.0, "degree": 3, "shift": np.zeros(0)}
    scorer = device.cuda_module().Scorer(Z, weights, **options)
    bias = [0.0] * columns
    few = np.arange(0, len(X), 997)
    a, b = X[few].astype(np.float64), Z.astype(np.float64)
    distances = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    expected = np.exp(-0.02 * distances) @ weights.T.astype(np.float64)
    for _ in range(3):
        np.testing.assert_allclose(scorer.scores(X, bias)[few], expected, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 3])
def test_narrow_bytes_are_scored_in_batches_that_fit(columns):
    """They are 32 numbers of 16 bits each on the device."""
    random = np.random.default_rng(0)
    Z, X = (random.integers(0, 256, (rows, columns), dtype=np.uint8) for rows in (50, 40_000_000))
    weights = random.normal(size=(1, 50)).astype(np.float32)
    options = {"kernel": "rbf", "gamma": 1e-4, "coef0": 0.0, "degree": 3, "shift": np.zeros(0)}
    scorer = device.cuda_module().Scorer(Z, weights, **options)
    few = np.arange(0, len(X), 999_983)
    distances = ((X[few, None].astype(np.float64) - Z[None]) ** 2).sum(axis=2)
    expected = np.exp(-1e-4 * distances) @ weights[0].astype(np.float64)
    np.testing.assert_allclose(scorer.scores(X, [0.0])[few, 0], expected, atol=1e-4)


def test_values_that_a_device_does_not_have():
    X, y = problem(500)
    X = X.astype(np.float64)
    X[7, 3] = 1e39  # more than float32 has
    with pytest.raises(DeviceError, match="X has values that are too large for the device"):
        LASVM(gamma=0.05, device="cuda").fit(X, y)
    with pytest.warns(RuntimeWarning, match="Training on the CPU: X has values"):
        LASVM(gamma=0.05, device="auto").fit(X, y)


def test_broken_sparse_rows_are_refused():
    X, _ = problem(500)
    edge, options = np.ones((1, 500)), {"kernel": "rbf", "gamma": 1.0, "coef0": 0.0, "degree": 3, "tol": TOL}
    options |= {"cache_bytes": 0, "shift": np.zeros(0), "edge": edge}
    whole = sparse.csr_matrix(X)
    values, columns, starts = whole.data, whole.indices.astype(np.int32), whole.indptr.astype(np.int64)
    for part in (columns, starts):
        before, part[250] = part[250], 10**6
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            device.cuda_module().solve_sparse(values, columns, starts, X.shape[1], **options)
        part[250] = before


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "uint8"])
@pytest.mark.parametrize("classes", [2, 3])
def test_arrays_in_the_memory_of_the_device(library, dtype, classes):
    lib = pytest.importorskip(library)
    X, y = problem(2000, 40, classes)
    X = np.round(X * 8 + 100).clip(0, 255).astype(dtype)
    there = {"device": "cuda"} if library == "torch" else {}
    rows, labels = lib.asarray(X, **there), lib.asarray(y, **there)
    clf = LASVM(C=5, device="cuda").fit(rows, labels)
    same = LASVM(C=5, device="cuda").fit(X, y)
    assert clf.gamma_ == pytest.approx(same.gamma_, rel=1e-12)
    scores, predicted = clf.decision_function(rows), clf.predict(rows)
    assert type(scores) is type(rows)
    assert type(predicted) is type(rows)
    on_host = (lambda a: a.cpu().numpy()) if library == "torch" else (lambda a: a.get())
    expected = clf.set_params(device="cpu").decision_function(X.astype(np.float64))
    np.testing.assert_allclose(on_host(scores), expected, atol=1e-3)
    assert np.mean(on_host(predicted) == clf.predict(X.astype(np.float64))) > 0.999
    np.testing.assert_allclose(same.set_params(device="cpu").decision_function(X), expected, atol=20 * TOL)
    clf.partial_fit(X[:50].astype(np.float64), y[:50], ids=np.arange(5000, 5050))


def test_an_array_of_jax_by_dlpack(monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    X, y = problem(1000, 20)
    rows = jax.numpy.asarray(X)
    clf = LASVM(device="cuda").fit(rows, y)
    scores = clf.decision_function(rows)
    assert isinstance(scores, jax.Array)
    np.testing.assert_allclose(np.asarray(scores), clf.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 7, 64, 200])
def test_sweeps_choose_the_rows_that_the_cpu_chooses(dtype, d):
    random = np.random.default_rng(d)
    X = random.normal(size=(5000, d)).astype(dtype) + (np.arange(5000) % 2)[:, None]
    sweeps = device.cuda_module().Sweeps(X)
    weights = random.normal(size=(5000, 3))
    wide = X.astype(np.float64)
    np.testing.assert_allclose(sweeps.times(weights), wide @ (wide.T @ weights), rtol=1e-10, atol=1e-8)
    w, start = random.normal(size=5000), np.zeros(5000, dtype=np.uint8)
    start[random.permutation(5000)[:1700]] = 1
    chosen = np.flatnonzero(sweeps.linearize(w, 0.01, start, 1700))
    expected = Choice(Similarities(X), w, 0.01, 1.0).linearize(np.flatnonzero(start), 1700)
    np.testing.assert_array_equal(chosen, expected)


def test_equal_slopes_are_taken_in_the_order_of_the_rows():
    sweeps = device.cuda_module().Sweeps(np.zeros((1000, 3)))
    start = np.zeros(1000, dtype=np.uint8)
    start[:100] = 1
    w = np.repeat([0.0, 1.0, 0.0, 1.0], 250)
    assert np.flatnonzero(sweeps.linearize(w, 1.0, start, 300)).tolist() == [
        *range(250, 500),
        *range(750, 800),
    ]


def test_semi_supervised_labels_are_those_of_the_cpu():
    X, y = problem(4000, 30, classes=2)
    given = np.where(np.arange(4000) < 40, y, np.nan)
    options = {"kernel": "linear", "rho": 0.5, "solver": "fast", "positive_fraction": 0.5, "random_state": 0}
    there = SubmodS3VM(device="cuda", **options).fit(X, given)
    here = SubmodS3VM(**options).fit(X, given)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)
