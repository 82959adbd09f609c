"""Semi-supervised learners as ONNX files."""

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC

from everlearn import LASVM, QPS3VM, AveragedKernelPerceptron, StreamS3VM, SubmodS3VM
from everlearn.export import export_onnx
from export.export_helpers import assert_agrees, half_labeled, problem, run


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
