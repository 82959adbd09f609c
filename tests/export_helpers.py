"""ONNX files beside the learners that they were written from."""

import os

import numpy as np
import onnxruntime
from sklearn.datasets import make_classification


def problem(classes=2, rows=260, features=6, offset=0.0, seed=0):
    X, y = make_classification(
        rows, features, n_informative=min(5, features), n_redundant=0, n_classes=classes, random_state=seed
    )
    return X + offset, y


def run(path, X, dtype="float32"):
    """Labels and scores by a file."""
    session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_outputs()] == ["label", "scores"]
    label, scores = session.run(None, {"X": np.asarray(X, dtype=dtype)})
    assert scores.dtype == dtype
    return label, scores


def assert_agrees(model, path, X, *, dtype="float32", rtol=1e-5, standardise=lambda X: X):
    """A file decides about fresh rows as its learner does, to rounding."""
    label, scores = run(path, X, dtype)
    X = standardise(np.asarray(X, dtype=dtype).astype(np.float64))
    expected, predicted = model.decision_function(X), model.predict(X)
    assert scores.shape == expected.shape
    infinite = np.isinf(expected)
    np.testing.assert_array_equal(scores[infinite], expected[infinite])
    largest = np.abs(expected[~infinite]).max(initial=0)
    np.testing.assert_allclose(scores[~infinite], expected[~infinite], rtol=0, atol=rtol * largest)
    if expected.ndim == 1:
        clear = np.abs(expected) > 2 * rtol * largest
    else:
        order = np.sort(expected, axis=1)
        clear = order[:, -1] - order[:, -2] > 2 * rtol * largest
    assert clear.mean() > 0.9
    written = predicted if predicted.dtype.kind in "UO" else predicted.astype(np.int64)
    np.testing.assert_array_equal(label[clear], written[clear])
