"""Learners as ONNX files: what onnxruntime makes of them is what the learners decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

import everlearn
from everlearn import (
    IDSVM,
    KOIL,
    LASVM,
    NORMA,
    AveragedKernelPerceptron,
    IncrSVM,
    KernelPerceptron,
    QuerySVM,
    SubmodS3VM,
)
from everlearn._base import decision
from everlearn._base.kernels import KERNELS, NAMES
from everlearn.export import export_onnx
from export.export_helpers import CLASSES, EXPORTED, NO_FILE, assert_agrees, fitted, problem, run
from property_helpers import property_test

# ----------------------------------------------------------------------------------------- every learner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", EXPORTED)
def test_every_learner_decides_the_same_as_a_file(name, classes, dtype, path):
    X, y = problem(classes)
    model = fitted(name, X[:200], y[:200])
    report = export_onnx(model, path, dtype=dtype)
    # The learners themselves have single kernel values. `AdaptiveSVM` may choose C=100, which makes rounding
    # errors larger, while the logarithm of a vote is smaller than the values that it is a vote of.
    rtol = 1e-4 if name == "AdaptiveSVM" else 1e-5
    assert_agrees(model, path, X[200:], dtype=dtype, rtol=rtol)
    assert report.size == path.stat().st_size


@pytest.mark.parametrize("name", sorted(NO_FILE))
def test_what_is_no_file_says_so(name, path):
    cls = CLASSES[name]
    other, remedy = {
        "ActiveLearner": lambda: (cls(LASVM(), everlearn.query.Random()), "its estimator"),
        "CalibratedClassifier": lambda: (fitted(name, *problem()), "its estimator_"),
        "Exemplars": lambda: (cls(), ""),
        "NeverEndingLearner": lambda: (cls.open(":memory:"), "its learner_"),
    }[name]()
    with pytest.raises(TypeError, match=f"{name} has no decision function.*{remedy}"):
        export_onnx(other, path)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("cls", [LASVM, IDSVM, NORMA, KOIL])
def test_every_kernel(cls, kernel, offset, path):
    if offset and not KERNELS[kernel].shift_invariant and (cls is KOIL or kernel != "linear"):
        offset = 3.0  # they see where the origin is, and drown in it
    X, y = problem(3, offset=offset)
    model = fitted(cls.__name__, X[:200], y[:200], kernel=kernel, gamma=0.05, coef0=0.3, degree=3)
    report = export_onnx(model, path)
    assert_agrees(model, path, X[200:], rtol=1e-4 if kernel == "poly" else 2e-5)
    assert report.n_support == len(model.support_)


@pytest.mark.parametrize("degree", [0, 1, 2, 5])
def test_every_degree(degree, path):
    X, y = problem()
    model = KernelPerceptron(kernel="poly", gamma=0.1, coef0=0.5, degree=degree, random_state=0).fit(
        X[:200], y[:200]
    )
    export_onnx(model, path)
    assert_agrees(model, path, X[200:])


def test_distances_far_from_the_origin_are_right_in_single_precision(path):
    X, y = problem(offset=1e4)
    model = LASVM(C=10, gamma=0.3, random_state=0).fit(X[:200], y[:200])
    report = export_onnx(model, path)
    assert report.compute_dtype == "float32"
    assert report.max_relative_difference < 1e-5
    assert_agrees(model, path, X[200:])


def test_drift_does_not_take_the_rows_away_from_the_origin_of_the_file(path):
    X, y = problem()
    model = NORMA(budget=50, gamma=0.3, random_state=0).partial_fit(X[:100], y[:100], classes=[0, 1])
    model.partial_fit(X[100:200] + 3e3, y[100:200])  # the learner's own center is that of the first block
    assert_agrees(model, export_onnx(model, path).path, X[200:] + 3e3)
    assert export_onnx(model, path).compute_dtype == "float32"


# ------------------------------------------------------------------------------------ rows, labels, shapes


@pytest.mark.parametrize(
    "names", [["no", "yes"], ["a", "é", "猫"], [False, True], [-1.0, 1.0], [-7, 2**40], [3, 1, 2]]
)
def test_labels_of_every_kind(names, path):
    X, y = problem(len(names))
    model = LASVM(random_state=0).fit(X[:200], np.array(names)[y[:200]])
    export_onnx(model, path)
    label, _ = run(path, X[200:])
    assert label.dtype == (object if isinstance(names[0], str) else np.int64)
    assert set(label.tolist()) <= set(names)
    assert_agrees(model, path, X[200:])


def test_labels_that_are_objects(path):
    X, y = problem()
    text = LASVM(random_state=0).fit(X[:200], np.array(["no", "yes"], dtype=object)[y[:200]])
    export_onnx(text, path)
    assert_agrees(text, path, X[200:])


def test_one_kept_row(path):
    X, y = problem(offset=1e4)
    model = KernelPerceptron(gamma=0.1, random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1])
    assert export_onnx(model, path).n_support == 1
    assert_agrees(model, path, X[200:])


@pytest.mark.parametrize("cls", [KernelPerceptron, AveragedKernelPerceptron, LASVM])
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
def test_no_kept_row(cls, classes, path):
    X, y = problem()
    model = cls().partial_fit(X[:9], y[:9], classes=classes, sample_weight=np.zeros(9))
    assert export_onnx(model, path).n_support == 0
    label, scores = run(path, X)
    assert not scores.any()
    assert not label.any()


@pytest.mark.parametrize("count", [0, 1, 1001])
@pytest.mark.parametrize("classes", [2, 3])
def test_any_number_of_rows(count, classes, path):
    X, y = problem(classes)
    model = LASVM(random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    label, scores = run(path, np.resize(X, (count, 6)))
    assert label.shape == (count,)
    assert scores.shape == ((count,) if classes == 2 else (count, 3))


@pytest.mark.parametrize("features", [1, 3000])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_any_number_of_features(features, kernel, path):
    random = np.random.default_rng(0)
    X = random.standard_normal((300, features))
    y = (X[:, 0] > 0).astype(int)
    model = LASVM(kernel=kernel, random_state=0).fit(X[:200], y[:200])
    assert export_onnx(model, path).n_checked <= 1000
    assert_agrees(model, path, X[200:])


@pytest.mark.parametrize("name", ["LASVM", "IDSVM", "OAM", "SubmodS3VM", "StreamS3VM", "IncrSVM", "VIRTUAL"])
def test_learned_from_sparse_rows(name, path):
    random = np.random.default_rng(1)
    X = sparse.random(300, 400, density=0.05, format="csr", random_state=1)
    y = (X @ random.standard_normal(400) > 0).astype(int)
    model = fitted(name, X[:200], y[:200])
    export_onnx(model, path, X_check=X[:50])
    assert_agrees(model, path, X[200:].toarray())


@property_test(25)
@given(data=st.data())
def test_random_problems(data, tmp_path_factory):
    kernel = data.draw(st.sampled_from(NAMES))
    classes = data.draw(st.integers(2, 4))
    features = data.draw(st.integers(1, 30))
    far = KERNELS[kernel].shift_invariant or kernel == "linear"
    offset = data.draw(st.floats(-1e4, 1e4)) if far else data.draw(st.floats(-1, 1))
    precision = data.draw(st.sampled_from(["float32", "float64"]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    X = (random.standard_normal((90, features)) + offset).astype(precision)
    y = np.append(np.arange(classes), random.integers(classes, size=90 - classes))
    params = {"C": data.draw(st.floats(0.1, 10)), "gamma": data.draw(st.floats(0.01, 1)), "coef0": 0.1}
    model = LASVM(kernel=kernel, degree=2, tol=0.1, **params, random_state=0).partial_fit(
        X[:60], y[:60], classes=range(classes)
    )
    path = tmp_path_factory.mktemp("random") / "model.onnx"
    export_onnx(model, path)
    label, scores = run(path, X[60:])
    expected = model.decision_function(X[60:].astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-4 * np.abs(expected).max())
    number = scores > 0 if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(label, number)


# ----------------------------------------------------------------------------------------- standardization


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_standardized_rows_far_from_the_origin(kernel, dtype, path):
    X, y = problem()
    mean, spread = 12345.678 + np.arange(6), np.linspace(0.5, 2, 6)
    model = LASVM(kernel=kernel, gamma=0.2, coef0=1, random_state=0).fit(X[:200], y[:200])
    report = export_onnx(model, path, mean=mean, scale=spread, dtype=dtype)
    # Rounded to single precision, the mean alone would be wrong by 5e-4.
    assert report.compute_dtype == dtype
    assert_agrees(
        model, path, X[200:] * spread + mean, dtype=dtype, standardize=lambda X: (X - mean) / spread
    )


def test_standardization_by_one_number(path):
    X, y = problem()
    model = SubmodS3VM(random_state=0).fit(X, np.where(np.arange(260) % 5 == 0, y.astype(object), None))
    export_onnx(model, path, mean=2, scale=4.0)
    assert_agrees(model, path, X * 4 + 2, standardize=lambda X: (X - 2) / 4)


# ------------------------------------------------------------------------------------------------- votes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kernel", NAMES)
def test_a_vote_is_counted_as_the_learner_counts(kernel, classes, dtype, path):
    X, y = problem(classes, rows=600)
    model = AveragedKernelPerceptron(kernel=kernel, gamma=0.3, random_state=0).fit(X[:300], y[:300])
    assert export_onnx(model, path, dtype=dtype).compute_dtype == "float64"
    label, scores = run(path, X[300:], dtype)
    rows = X[300:].astype(dtype).astype(np.float64)
    np.testing.assert_allclose(scores, model.decision_function(rows), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(label, model.predict(rows))  # ties included


def test_a_vote_about_rows_that_are_near_to_nothing(path):
    X, y = problem()
    model = AveragedKernelPerceptron(gamma=1.0, random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    # A value as small as exp(-200) is 0 for the learner, and so has no sign; it is not 0 in double precision.
    far = X[:1] + np.array([[15.0 + np.abs(X).max(), 0, 0, 0, 0, 0]])
    assert model.decision_function(far) == 0
    assert run(path, far)[1] == 0


def test_the_mean_of_all_rules(path):
    X, y = problem(3)
    model = AveragedKernelPerceptron(average="mean", epochs=3, random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    assert_agrees(model, path, X[200:])


def test_the_doubt_about_a_vote_is_that_of_rules_at_zero():
    ballot = decision.Ballot(np.array([0, 1, 0]), np.array([1.0, -1.0, 1.0]), np.array([5.0, 2.0, 3.0]), 10.0)
    # f is 1, 0 and 1 for the first row; 1, 0.5 and 1.5 for the second
    np.testing.assert_allclose(ballot.doubtful(np.array([[1.0, 1.0], [1.0, 0.5]])), [0.4, 0.0])


# ------------------------------------------------------------------------------- learners with learners


@pytest.mark.parametrize("cls", [IncrSVM, QuerySVM])
@pytest.mark.parametrize("estimator", [SVC(C=10), LASVM(C=10, random_state=0), SVC(kernel="linear")], ids=str)
def test_chunk_learners_with_other_machines(cls, estimator, path):
    X, y = problem()
    model = cls(estimator, max_iter=20, random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    assert_agrees(model, path, X[200:])
