"""`row_dtype`: a learner that stores rows in 16 bits is the learner of rounded rows."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from base.persist_helpers import refused
from contract.contract_helpers import ESTIMATORS, learn, make, outputs, same, state
from everlearn import IDSVM, LASVM, LASVMG, RBP, VIRTUAL, FullSVM, KernelPA, load, save
from everlearn._base.kernels import KERNELS, NAMES
from everlearn._base.learner import KernelLearner
from everlearn._base.machine import Machine
from everlearn._base.validate import as_block
from everlearn.errors import FileFormatError
from everlearn.export import export_onnx
from fuzz.worker import write
from property_helpers import property_test

HALVED = [cls for cls in ESTIMATORS if "row_dtype" in cls().get_params()]
EVERY = pytest.mark.parametrize("cls", HALVED, ids=lambda cls: cls.__name__)
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def rounded(X, dtype=np.float32):
    return X.astype(np.float16).astype(dtype)


def embeddings(n_rows=150, width=24, n_classes=2, seed=0, filled=1.0):
    """Noisy clusters of rows of length 1."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n_rows)
    X = random.standard_normal((n_classes, width))[y] + 1.5 * random.standard_normal((n_rows, width))
    X[random.random(X.shape) > filled] = 0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.astype(np.float32), y


def fitted(cls, X, y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(cls, gamma=2.0, C=5.0, **parameters).fit(X, y)


def test_learners_in_single_precision_have_the_parameter_and_the_others_have_not():
    machines = [cls for cls in ESTIMATORS if issubclass(cls, KernelLearner)]
    assert set(HALVED) == {cls for cls in machines if not cls._exact}
    assert len(HALVED) > 15
    with pytest.raises(TypeError, match="row_dtype"):
        IDSVM(row_dtype="float16")


# ---------------------------------------------------------------------------------------------- rounding


def stored(X):
    """The values of one row, as a machine keeps them."""
    spec = {"kernel": "linear", "gamma": 1.0, "coef0": 0.0, "degree": 1, "layout": "dense"}
    machine = Machine(
        "passive_aggressive",
        spec | {"precision": "float16", "width": X.shape[1], "classes": 2, "center": np.zeros(0)},
    )
    learner = KernelPA()
    machine.configure(2**20, 1, learner._solver_parameters())
    ones = np.ones(1)
    machine.native.learn(
        as_block(X), ones.astype(np.int32), ones, ones.astype(np.int64), np.zeros(1, dtype=np.int64)
    )
    return machine.rows(np.zeros(1, dtype=np.intp))


EDGES = [0.0, -0.0, 65504.0, 65519.99, -65519.99, 2.0**-14, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0001, 1e-300]
# Above the middle between two neighbors, by less than single precision shows: rounded twice, it goes down.
EDGES += [1 + 2.0**-11 + 2.0**-40, 1 + 3 * 2.0**-11 - 2.0**-40]


@property_test(300)
@given(
    st.lists(st.floats(-65519, 65519), min_size=1, max_size=40),
    st.sampled_from([np.float32, np.float64]),
)
@example(EDGES, np.float64)
@example(EDGES, np.float32)
def test_a_row_is_rounded_once_as_numpy_rounds(values, dtype):
    X = np.array([[1.0, *values]], dtype=dtype)
    kept = stored(X)
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, rounded(X))


# -------------------------------------------------------------------------------------------- every learner


# Virtual rows lie between kept rows, and are rounded themselves.
@CLASSES
@pytest.mark.parametrize("cls", [cls for cls in HALVED if cls is not VIRTUAL], ids=lambda cls: cls.__name__)
def test_a_learner_is_bit_for_bit_that_of_rounded_rows(cls, n_classes):
    X, y = embeddings(n_classes=n_classes)
    model = fitted(cls, X[:100], y[:100], row_dtype="float16")
    twin = fitted(cls, rounded(X[:100]), y[:100])
    assert len(twin.support_) > 0
    assert same(outputs(model, X), outputs(twin, rounded(X)))
    assert same(outputs(model, rounded(X)), outputs(model, X))  # a row to predict is rounded, too
    np.testing.assert_array_equal(model.support_vectors_, twin.support_vectors_)
    if hasattr(cls, "partial_fit"):
        learn(model, X[100:], y[100:]), learn(twin, rounded(X[100:]), y[100:])
        assert same(outputs(model, X), outputs(twin, rounded(X)))
    if hasattr(cls, "forget"):
        model.forget(model.support_[:2]), twin.forget(twin.support_[:2])
        assert same(outputs(model, X), outputs(twin, rounded(X)))


@pytest.mark.parametrize("kernel", NAMES)
def test_every_kernel_is_that_of_rounded_rows(kernel):
    X, y = embeddings()
    options = {"kernel": kernel, "coef0": 0.5, "gamma": 1.5, "random_state": 0, "tol": 1e-2}
    model = LASVM(row_dtype="float16", **options).fit(X[:100], y[:100])
    twin = LASVM(**options).fit(rounded(X[:100]), y[:100])
    np.testing.assert_array_equal(model.decision_function(X), twin.decision_function(rounded(X)))
    values = KERNELS[kernel](1.5, 0.5, 3).values(rounded(X, np.float64), model.support_vectors_)
    plain = values @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), plain, atol=1e-5 * np.abs(model.dual_coef_).sum())


@EVERY
@CLASSES
def test_a_saved_learner_goes_on_bit_for_bit(cls, n_classes, tmp_path):
    X, y = embeddings(n_classes=n_classes)
    model = fitted(cls, X[:100], y[:100], row_dtype="float16")
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert state(loaded) == state(model)
    assert same(outputs(loaded, X), outputs(model, X))
    if hasattr(cls, "partial_fit"):
        learn(model, X[100:], y[100:]), learn(loaded, X[100:], y[100:])
        assert same(outputs(loaded, X), outputs(model, X))


@pytest.mark.parametrize("filled", [1.0, 0.1])
def test_sparse_rows_and_threads_give_the_same_bits(filled):
    # Of this width, rows with many zeros are kept sparse.
    X, y = embeddings(width=120, n_classes=3, filled=filled)
    options = {"C": 5.0, "gamma": 2.0, "row_dtype": "float16", "random_state": 0}
    model = LASVM(**options).fit(X, y)
    assert model._machine.spec["layout"] == ("dense" if filled == 1 else "sparse")
    for other in (
        LASVM(**options).fit(sparse.csr_matrix(X), y),
        LASVM(n_jobs=2, **options).fit(X, y),
        LASVM(C=5.0, gamma=2.0, random_state=0).fit(rounded(X), y),
    ):
        np.testing.assert_array_equal(other.decision_function(rounded(X)), model.decision_function(X))
    kept = LASVM._from_state(model._get_state())
    np.testing.assert_array_equal(kept.decision_function(X), model.decision_function(X))


def test_double_precision_input_can_be_stored_in_single_precision():
    X, y = embeddings()
    X = X.astype(np.float64) + 1e-9
    model = fitted(LASVM, X, y, row_dtype="float32")
    twin = fitted(LASVM, X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    np.testing.assert_array_equal(model.decision_function(X), twin.decision_function(X.astype(np.float32)))


# ------------------------------------------------------------------------------------------------ exact fit


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("cls", [LASVM, LASVMG, FullSVM])
def test_fit_solves_the_problem_of_rounded_rows(cls, offset):
    X, y = embeddings(400, width=16)
    X = X.astype(np.float64) + offset
    options = {"C": 10.0, "gamma": 2.0, "tol": 1e-5}
    model = cls(row_dtype="float16", random_state=0, **options).fit(X, y)
    center = model._machine.spec["center"]
    assert (len(center) > 0) == (offset > 0)
    shift = center if offset else 0.0
    Z = rounded(X - shift, np.float64)
    np.testing.assert_array_equal(model.support_vectors_, (Z + shift)[model.support_])
    K = KERNELS["rbf"](2.0).values(Z, Z)
    coefficients = np.zeros(len(y))
    coefficients[model.support_] = model.dual_coef_[0]
    signs = np.where(y == 1, 1.0, -1.0)
    dual = coefficients @ signs - coefficients @ K @ coefficients / 2
    if model._has_bias:
        svc = SVC(**(options | {"tol": 1e-7})).fit(Z, y)
        best = np.zeros(len(y))
        best[svc.support_] = svc.dual_coef_[0]
        assert dual == pytest.approx(best @ signs - best @ K @ best / 2, rel=1e-6)
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(Z), atol=1e-3)
    else:  # y f(x) < 1 at the upper bound alone, > 1 at 0 alone
        margins = signs * (K @ coefficients)
        sizes = coefficients * signs
        assert ((margins > 1 - 1e-4) | (sizes > 10 - 1e-9)).all()
        assert ((margins < 1 + 1e-4) | (sizes < 1e-9)).all()


def test_rounding_is_visible():
    """Otherwise the tests above could pass with rows that are not rounded."""
    X, y = embeddings()
    plain, half = fitted(LASVM, X, y), fitted(LASVM, X, y, row_dtype="float16")
    assert 0 < np.abs(plain.decision_function(X) - half.decision_function(X)).max() < 0.05


# -------------------------------------------------------------------------------------------------- limits

TOO_LARGE = "row_dtype='float16' holds values up to 65504, and X has 6.55e\\+04: scale .*row_dtype=None"
TOO_SMALL = "too coarse for a row whose largest value is 1e-05, below 6.1e-05: scale the features"
TOO_FINE = "too coarse for gamma=1e\\+10, under which values of 5e-06 matter: scale the features"


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_values_out_of_range_are_refused_and_change_nothing(rows, form):
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    model = LASVM(gamma=1.0, row_dtype="float16").partial_fit(X, [0, 1], classes=[0, 1])
    before = state(model)
    for value in (65520.0, -65520.0):
        far = form([[1.0, value]] * rows)
        with pytest.raises(ValueError, match=TOO_LARGE):
            model.partial_fit(far, [0] * rows)
        with pytest.raises(ValueError, match=TOO_LARGE):
            model.predict(far)
    assert state(model) == before
    edge = form([[1.0, 65519.0]] * rows)
    assert model.partial_fit(edge, [0] * rows).predict(edge).tolist() == [0] * rows


def test_values_are_measured_from_the_center():
    X, y = embeddings(width=4)
    model = LASVM(gamma=2.0, row_dtype="float16", random_state=0).fit(X.astype(np.float64) + 1e5, y)
    assert len(model.support_) < len(y)
    with pytest.raises(ValueError, match="holds values up to 65504, and X has 1e"):
        model.predict(np.zeros((1, 4)))
    with pytest.raises(ValueError, match="holds values up to 65504, and X has 1e"):
        model.predict(sparse.csr_matrix((1, 4)))


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kernel", ["cosine", "linear"])
def test_rows_that_would_lose_their_digits_are_refused(kernel, rows):
    X = np.array([[1.0, 0.0], [0.0, -1.0]])
    model = RBP(kernel=kernel, row_dtype="float16").partial_fit(X, [0, 1], classes=[0, 1])
    before = state(model)
    small = np.array([[1e-5, -1e-6]] * rows)
    for method in (model.predict, lambda X: model.partial_fit(X, [0] * len(X))):
        with pytest.raises(ValueError, match=TOO_SMALL):
            method(small)
        with pytest.raises(ValueError, match=TOO_SMALL):
            method(np.vstack([small, X]))
    assert state(model) == before
    assert len(model.predict(np.zeros((rows, 2)))) == rows  # zero is exact
    assert len(model.predict(np.array([[7e-5, 1e-9]] * rows))) == rows


def test_a_gamma_that_16_bits_cannot_resolve_is_refused():
    X, y = embeddings(width=4)
    with pytest.raises(ValueError, match=TOO_FINE):
        LASVM(gamma=1e10, row_dtype="float16").fit(X, y)
    with pytest.raises(ValueError, match="too coarse for gamma="):
        LASVM(kernel="laplacian", gamma=1e5, row_dtype="float16").fit(X, y)
    with pytest.raises(ValueError, match="too coarse for gamma="):
        LASVM(row_dtype="float16").fit(X * 1e-5, y)  # gamma="scale" follows the features
    LASVM(row_dtype="float16").fit(X * 1e-3, y)


def test_kernels_of_the_caller_take_rows_as_they_are():
    X, y = embeddings()
    for kernel in ("precomputed", KERNELS["rbf"](2.0).values):
        with pytest.raises(ValueError, match="row_dtype='float16' needs a built-in kernel"):
            LASVM(kernel=kernel, row_dtype="float16").fit(X[:, :4] if callable(kernel) else X @ X.T, y)


@EVERY
@pytest.mark.parametrize("value", ["float64", "half", np.float16, 16])
def test_other_types_are_refused(cls, value):
    X, y = embeddings()
    with pytest.raises(ValueError, match=r"parameter 'row_dtype' of .* must be .*float16"):
        fitted(cls, X, y, row_dtype=value)


# ------------------------------------------------------------------------------------------------- forgetting


def test_the_center_is_never_a_row():
    """A center that is a row has to change when the row is forgotten; rows would then be rounded again."""
    X, y = embeddings(width=4)
    X = X.astype(np.float64) + 100
    model = LASVM(gamma=2.0, row_dtype="float16")
    model.partial_fit(X[:1], y[:1], classes=[0, 1]).partial_fit(X[1:], y[1:])
    assert len(model._machine.spec["center"]) == 0
    kept = model.stored_ids()
    model.forget(kept[:1])
    assert not np.isin(kept[0], model.stored_ids())


# --------------------------------------------------------------------------------------------------- files


def test_a_file_is_smaller(tmp_path):
    X, y = embeddings(300, width=300)
    for name, dtype in (("single", None), ("half", "float16")):
        save(fitted(FullSVM, X, y, row_dtype=dtype), tmp_path / name)
    assert (tmp_path / "half").stat().st_size < 0.6 * (tmp_path / "single").stat().st_size


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda old: old.astype(np.float64), "values must be an array of float16"),
        (lambda old: old.astype(np.float32) + 1e9, "values must be an array of float16"),
        (lambda old: old[:-1], "values must contain"),
        (lambda old: np.where(np.arange(len(old)) == 3, np.float16(np.inf), old), "a row is not finite"),
        (lambda old: np.where(np.arange(len(old)) == 3, np.float16(np.nan), old), "a row is not finite"),
    ],
)
def test_forged_values_are_refused(change, words, tmp_path):
    X, y = embeddings()
    forged = fitted(LASVM, X, y, row_dtype="float16")._get_state()
    forged["machine"]["native"]["values"] = change(forged["machine"]["native"]["values"])
    write(forged, "LASVM", tmp_path / "forged")
    refused(tmp_path / "forged", words)


def test_a_learner_in_double_precision_refuses_a_file_with_halves(tmp_path):
    X, y = embeddings()
    forged = IDSVM().fit(X, y)._get_state()
    native = forged["machine"]["native"]
    forged["machine"]["spec"]["precision"] = "float16"
    native["values"] = native["values"].astype(np.float16)
    write(forged, "IDSVM", tmp_path / "forged")
    with pytest.raises(FileFormatError):
        load(tmp_path / "forged")


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine"])
def test_an_onnx_file_rounds_rows_as_the_learner_does(kernel, offset, tmp_path):
    X, y = embeddings(n_classes=3)
    X = X.astype(np.float64) + offset
    options = {"kernel": kernel, "gamma": 2.0, "tol": 1e-2, "random_state": 0}
    model = LASVM(row_dtype="float16", **options).fit(X, y)
    report = export_onnx(model, tmp_path / "model.onnx", X_check=X, dtype="float64")
    assert report.max_relative_difference < 1e-5
