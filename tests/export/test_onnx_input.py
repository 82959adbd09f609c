"""What `export_onnx` refuses: learners, kernels, labels, sizes, missing packages."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, LinearSVC

from everlearn import LASVM, StreamS3VM, SubmodS3VM, export
from everlearn.export import _graph, export_onnx
from export.export_helpers import CLASSES, EXPORTED, half_labeled, problem


def test_labels_that_a_file_cannot_hold():
    with pytest.raises(ValueError, match=r"must be integers or strings, got \[0.5, 1.0\]"):
        export.onnx._labels(np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="must be integers or strings"):
        export.onnx._labels(np.array([1, 2**64 - 1], dtype=np.uint64))


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
    with pytest.raises(ValueError, match="the limit of ONNX: keep fewer"):
        export_onnx(LASVM(random_state=0).fit(X, y), path)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_the_packages_the_extra_is_named(package, path, monkeypatch):
    X, y = problem()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install \"everlearn\[onnx\]\""):
        export_onnx(LASVM(random_state=0).fit(X, y), path)
