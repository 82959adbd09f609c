"""Learners as ONNX files: what onnxruntime makes of them is what the learners decide."""

import doctest
import json
import os
import sys
from dataclasses import replace

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, LinearSVC

import everlearn
from everlearn import (
    IDSVM,
    KOIL,
    LASVM,
    NORMA,
    OAM,
    QPS3VM,
    AveragedKernelPerceptron,
    IncrSVM,
    KernelPerceptron,
    QuerySVM,
    StreamS3VM,
    SubmodS3VM,
    export,
)
from everlearn._base import decision
from everlearn._base.kernels import KERNELS, NAMES, RBF
from everlearn.export import OnnxReport, _graph, export_onnx
from export.export_helpers import assert_agrees, problem, run

# What the package exports that is no file, and why not.
NO_FILE = {
    "ActiveLearner": "a loop around a learner, which is its model",
    "CalibratedClassifier": "probabilities for a learner, which is its estimator_",
    "Exemplars": "chooses rows, and decides about none",
    "NeverEndingLearner": "a store around a learner, which is its learner_",
}
CLASSES = {
    name: value
    for name, value in ((name, getattr(everlearn, name)) for name in everlearn.__all__)
    if isinstance(value, type) and not issubclass(value, Exception)
}
EXPORTED = sorted(set(CLASSES) - set(NO_FILE))


def fitted(name, X, y, **params):
    """A learner by its name, fitted; those that take unlabeled rows get some."""
    model = CLASSES[name](**params)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if "S3VM" in name:
        y = np.where(np.arange(len(y)) % 3 == 0, y.astype(object), None)
    return model.fit(X, y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"


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


def test_labels_that_a_file_cannot_hold():
    with pytest.raises(ValueError, match=r"whole numbers or strings, not \[0.5, 1.0\]"):
        export.onnx._labels(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="whole numbers or strings"):
        export.onnx._labels(np.array([1, 2**64 - 1], dtype=np.uint64))


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


@settings(max_examples=25, derandomize=True, deadline=None)
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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mean": [1.0, 2.0]}, r"mean must have 6 values.*\(2,\)"),
        ({"mean": np.zeros((6, 1))}, r"mean must have 6 values"),
        ({"mean": np.nan}, "mean must be finite"),
        ({"scale": np.zeros(6)}, "scale must be finite and above 0; take 1"),
        ({"scale": -1.0}, "above 0"),
        ({"scale": np.inf}, "finite"),
        ({"dtype": "float16"}, 'dtype must be "float32" or "float64", got \'float16\''),
        ({"rtol": 0}, "rtol must be a number between 0 and 1, both excluded, got 0"),
        ({"rtol": "much"}, "rtol must be a number"),
        ({"feature_names": ["a"]}, "feature_names must be 6 strings"),
        ({"feature_names": "abcdef"}, "feature_names must be 6 strings"),
        ({"feature_names": [1, 2, 3, 4, 5, 6]}, "feature_names must be 6 strings"),
        ({"X_check": np.zeros((3, 5))}, r"X_check must be rows with 6 features.*\(3, 5\)"),
        ({"X_check": np.zeros((0, 6))}, "at least one"),
        ({"X_check": np.full((1, 6), np.nan)}, "all finite"),
        ({"X_check": np.zeros(6)}, "X_check must be rows"),
    ],
)
def test_what_is_refused(given, message, path):
    X, y = problem()
    model = LASVM(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        export_onnx(model, path, **given)
    assert not path.exists()


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


def half_labeled(classes=2, features=6, seed=0):
    X, y = problem(classes, features=features, seed=seed)
    return X, y, np.where(np.arange(len(y)) % 3 == 0, y.astype(object), None)


@pytest.mark.parametrize("cls", [SubmodS3VM, QPS3VM])
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "linear"},
        {"kernel": "poly", "coef0": 1.0, "degree": 2},
        {"kernel": "sigmoid", "gamma": 0.3},
        {"scaling": "unit"},
        {"scaling": "none"},
        {"scaling": "none", "kernel": "linear"},
        {"n_components": 20},
        {"n_components": 20, "kernel": "linear"},
        {"n_components": 20, "kernel": "poly"},
        {"n_components": 20, "kernel": "sigmoid", "coef0": 0.5},
        {"n_components": 20, "estimator": LASVM(random_state=0)},
        {"estimator": SVC(C=3.0)},
        {"estimator": SVC(kernel="poly", coef0=0.5)},
        {"estimator": LinearSVC(C=0.1, fit_intercept=False)},
        {"estimator": AveragedKernelPerceptron(average="mean", random_state=0)},
    ],
    ids=str,
)
def test_rules_of_semi_supervised_learners(cls, params, path):
    X, _, given = half_labeled()
    model = cls(random_state=0, **params).fit(X[:200] + 0.5, given[:200])
    export_onnx(model, path)
    assert_agrees(model, path, X[200:] + 0.5, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_rows_brought_to_length_one_whatever_their_length(scale, path):
    X, _, given = half_labeled()
    model = SubmodS3VM(scaling="unit", random_state=0).fit(X[:200] * scale, given[:200])
    assert export_onnx(model, path, X_check=X[:200] * scale).compute_dtype == "float32"
    assert_agrees(model, path, X[200:] * scale)
    zeros = np.zeros((1, 6))
    np.testing.assert_allclose(run(path, zeros)[1], model.decision_function(zeros), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "estimator", ["auto", AveragedKernelPerceptron(random_state=0)], ids=["auto", "vote"]
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_that_no_row_has_got(classes, estimator, path):
    X, _, given = half_labeled(classes)
    shares = {**dict.fromkeys(range(classes), 1 / classes), 9: 0.0}
    model = SubmodS3VM(positive_fraction=shares, estimator=estimator, random_state=0).fit(
        X[:200], given[:200]
    )
    assert np.isneginf(model.decision_function(X[:1])[0, -1])
    export_onnx(model, path)
    label, scores = run(path, X[200:])
    assert np.isneginf(scores[:, -1]).all()
    np.testing.assert_array_equal(label, model.predict(X[200:]))


@pytest.mark.parametrize("named", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize("seen", [0, 1])
def test_a_stream_that_has_seen_one_class(named, seen, path):
    X, _ = problem()
    model = StreamS3VM(random_state=0).partial_fit(X[:50], [seen] * 10 + [None] * 40, classes=named)
    export_onnx(model, path)
    label, scores = run(path, X[200:])
    np.testing.assert_array_equal(scores, model.decision_function(X[200:]))
    np.testing.assert_array_equal(label, model.predict(X[200:]))
    assert (label == seen).all()


def test_a_stream_that_waits_for_a_class(path):
    X, _, given = half_labeled(2)
    model = StreamS3VM(random_state=0).partial_fit(X[:100], given[:100], classes=[0, 1, 2])
    model.partial_fit(X[100:200], given[100:200])
    export_onnx(model, path)
    assert_agrees(model, path, X[200:])


@pytest.mark.parametrize("cls", [IncrSVM, QuerySVM])
@pytest.mark.parametrize("estimator", [SVC(C=10), LASVM(C=10, random_state=0), SVC(kernel="linear")], ids=str)
def test_chunk_learners_with_other_machines(cls, estimator, path):
    X, y = problem()
    model = cls(estimator, max_iter=20, random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    assert_agrees(model, path, X[200:])


# ---------------------------------------------------------------------------------------- what cannot be


@pytest.mark.parametrize("name", EXPORTED)
def test_not_fitted(name, path):
    with pytest.raises(NotFittedError):
        export_onnx(CLASSES[name](), path)
    with pytest.raises(TypeError, match="is a class: pass a fitted classifier"):
        export_onnx(CLASSES[name], path)
    assert not path.exists()


def test_kernels_of_ones_own_are_refused(path):
    X, y = problem()
    with pytest.raises(ValueError, match="This LASVM has kernel=a function, which cannot be exported"):
        export_onnx(LASVM(kernel=lambda A, B: A @ B.T, random_state=0).fit(X, y), path)
    with pytest.raises(ValueError, match="This LASVM has kernel='precomputed'"):
        export_onnx(LASVM(kernel="precomputed", random_state=0).fit(X @ X.T, y), path)
    given = np.where(np.arange(260) % 3 == 0, y.astype(object), None)
    with pytest.raises(ValueError, match="This SubmodS3VM has kernel='precomputed'"):
        export_onnx(SubmodS3VM(kernel="precomputed", random_state=0).fit(X @ X.T, given), path)
    with pytest.raises(ValueError, match="This SVC has kernel='precomputed'"):
        export_onnx(SVC(kernel="precomputed").fit(X @ X.T, y), path)


def test_learners_that_decide_nothing_are_refused(path):
    X, _, given = half_labeled()
    with pytest.raises(ValueError, match="no classifier for new rows"):
        export_onnx(SubmodS3VM(estimator=None, random_state=0).fit(X, given), path)
    with pytest.raises(ValueError, match="has seen only one class"):
        export_onnx(StreamS3VM(random_state=0).partial_fit(X, [1] * 10 + [None] * 250), path)
    with pytest.warns(UserWarning, match="All labels are"):
        alone = SubmodS3VM(random_state=0).fit(X, [1] * 10 + [None] * 250)
    with pytest.raises(ValueError, match="has seen only one class"):
        export_onnx(alone, path)
    with pytest.raises(ValueError, match="is one-vs-one"):
        export_onnx(SVC().fit(X, np.arange(260) % 3), path)
    with pytest.raises(TypeError, match="dict has no decision function"):
        export_onnx({}, path)


def test_weights_that_have_diverged_are_refused(path):
    X, y = problem()
    model = LinearSVC().fit(X, y)
    model.coef_[0, 0] = np.inf
    with pytest.raises(ValueError, match="weights of LinearSVC are not finite"):
        export_onnx(model, path)


def test_a_file_that_would_be_too_large_is_refused(path, monkeypatch):
    X, y = problem()
    monkeypatch.setattr(_graph, "LARGEST_FILE", 1000)
    with pytest.raises(ValueError, match="the limit of ONNX is 2"):
        export_onnx(LASVM(random_state=0).fit(X, y), path)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_the_packages_the_extra_is_named(package, path, monkeypatch):
    X, y = problem()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install \"everlearn\[onnx\]\""):
        export_onnx(LASVM(random_state=0).fit(X, y), path)


# ------------------------------------------------------------------------------- the check, and the file


def broken(monkeypatch, cls, change):
    """Let a step write something else than it says."""
    write = cls.write
    monkeypatch.setattr(cls, "write", lambda self, graph, x: write(change(self), graph, x))


def test_a_wrong_file_is_found_and_not_written(path, monkeypatch):
    X, y = problem()
    model = LASVM(random_state=0).fit(X, y)
    slightly = lambda values: replace(values, kernel=RBF(1.01 * values.kernel.gamma))  # noqa: E731
    broken(monkeypatch, decision.KernelValues, slightly)
    with pytest.raises(ValueError, match=r"differ from those of the learner by .* Nothing was written"):
        export_onnx(model, path)
    assert list(path.parent.iterdir()) == []
    path.write_bytes(b"an older file")
    with pytest.raises(ValueError, match="Nothing was written"):
        export_onnx(model, path, dtype="float64")
    assert path.read_bytes() == b"an older file"
    assert list(path.parent.iterdir()) == [path]
    export_onnx(model, path, rtol=0.5)
    assert path.read_bytes() != b"an older file"


def test_wrong_labels_are_found(path, monkeypatch):
    X, y = problem()
    model = LASVM(random_state=0).fit(X, y)
    write = _graph.model
    monkeypatch.setattr(
        _graph, "model", lambda predictor, labels, *rest: write(predictor, labels[::-1].copy(), *rest)
    )
    with pytest.raises(ValueError, match="gives other labels than the learner to"):
        export_onnx(model, path)
    assert not path.exists()


def test_single_precision_that_is_not_enough_is_not_used(path):
    random = np.random.default_rng(0)
    centers = random.uniform(-1000, 1000, (20, 3))  # far apart, each with a fine structure of its own
    X = np.repeat(centers, 20, axis=0) + 0.05 * random.standard_normal((400, 3))
    y = (X[:, 0] > np.repeat(centers, 20, axis=0)[:, 0]).astype(int)
    X = X.astype(np.float32).astype(np.float64)
    model = LASVM(C=10, gamma=200.0, random_state=0).fit(X[::2], y[::2])
    report = export_onnx(model, path)
    assert report.compute_dtype == "float64"
    assert report.max_relative_difference < 1e-5
    assert_agrees(model, path, X[1::2])


def test_the_exact_machine_is_exact_in_double_precision(path):
    X, y = problem(3)
    model = IDSVM(C=10).fit(X[:200], y[:200])
    export_onnx(model, path, dtype="float64")
    assert_agrees(model, path, X[200:], dtype="float64", rtol=1e-12)


def test_the_report_and_the_file_say_what_they_are(path):
    X, y = problem(3)
    model = LASVM(random_state=0).fit(pd.DataFrame(X, columns=list("abcdef")), np.array(["x", "y", "z"])[y])
    report = export_onnx(model, os.fspath(path), X_check=X[:40])
    largest = report.max_relative_difference
    assert report == OnnxReport(
        os.fspath(path), path.stat().st_size, len(model.support_), 40, largest, "float32", 17
    )
    assert 0 <= largest < 1e-5
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    assert (file.producer_name, file.producer_version) == ("everlearn", everlearn.__version__)
    assert (file.ir_version, file.opset_import[0].version) == (8, 17)
    facts = {entry.key: entry.value for entry in file.metadata_props}
    assert facts["everlearn.class"] == "LASVM"
    assert json.loads(facts["everlearn.classes"]) == ["x", "y", "z"]
    assert json.loads(facts["everlearn.feature_names"]) == list("abcdef")
    assert facts["everlearn.rows"] == str(len(model.support_))
    shape = file.graph.input[0].type.tensor_type.shape.dim
    assert (file.graph.input[0].name, shape[0].dim_param, shape[1].dim_value) == ("X", "rows", 6)
    export_onnx(model, path, feature_names=list("uvwxyz"))
    names = {entry.key: entry.value for entry in onnx.load(path).metadata_props}["everlearn.feature_names"]
    assert json.loads(names) == list("uvwxyz")


def test_linear_machines_make_small_files(path):
    X, y = problem(rows=2000)
    report = export_onnx(LASVM(kernel="linear", random_state=0).fit(X, y), path)
    assert report.n_support > 500
    assert report.size < 2000


@pytest.mark.parametrize("name", ["LASVM", "AveragedKernelPerceptron", "SubmodS3VM", "OAM", "AdaptiveSVM"])
def test_export_changes_nothing_and_repeats_itself(name, tmp_path):
    X, y = problem()
    model = fitted(name, X, y)
    everlearn.save(model, tmp_path / "before")
    export_onnx(model, tmp_path / "one.onnx")
    export_onnx(model, tmp_path / "two.onnx")
    everlearn.save(model, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_rows_that_overflow_have_scores_that_are_no_numbers(path):
    X, y = problem()
    export_onnx(OAM(random_state=0).fit(X, y), path)
    assert np.isnan(run(path, np.full((1, 6), np.nan))[1]).all()


def test_the_example_runs():
    assert doctest.testmod(export).failed == 0
