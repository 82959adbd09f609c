"""ONNX files beside the learners that they were written from."""

import os

import numpy as np
import onnx
import onnxruntime
from scipy import sparse
from sklearn.datasets import make_classification

import everlearn
from everlearn.adaptive import Expert

FEW = [
    Expert("linear"),
    Expert("rbf"),
    Expert("rbf", gamma=3.0, window=25),
    Expert("rbf", window=100, relevance=True),
    Expert("no-change"),
]
EPSILON = float(np.finfo(np.float32).eps)


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


def assert_agrees(model, path, X, *, dtype="float32", rtol=1e-5, standardize=lambda X: X):
    """A file decides about fresh rows as its learner does, to rounding."""
    label, scores = run(path, X, dtype)
    X = standardize(np.asarray(X, dtype=dtype).astype(np.float64))
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


# ------------------------------------------------------------------------------------------------ AdaptiveSVM


def stream(classes=2, rows=300, features=6, seed=0, layout="dense"):
    """Overlapping clouds, one for each class; the columns have different scales."""
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=rows)
    X = 1.2 * random.standard_normal((classes, features))[y] + random.standard_normal((rows, features))
    if layout == "sparse":
        return sparse.csr_matrix(np.where(random.random(X.shape) < 0.4, X, 0.0)), y
    return 10.0 ** random.integers(-2, 3, features) * (X + 3), y


def rows_of(X, dtype="float32"):
    """Rows as a file takes them: dense, and rounded."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=dtype).astype(np.float64)


def rounding(model, X):
    """How far the decision value of each row may be off in single precision.

    A softmax changes by a factor of at most exp(2 e) if its logits change by e, and so does a mean of them.
    So log(p) / 2, and half the difference of two, change by at most e, the largest error of any logit. That
    is the sum of the errors of kernel values, each times its coefficient; since they go either way, they add
    up as squares do, and three times that is hardly ever exceeded. Squared distances are computed from norms
    and products: their error is relative to the squared lengths. What the learner itself computes in single
    precision is of the same size.
    """
    vote = model._vote_parts()
    if vote.mean is not None:
        X = (X - vote.mean) / vote.scale
    worst = np.zeros(len(X))
    for voter in (voter for voter in vote.voters if voter.logits is not None):
        logits, Z = voter.logits, X if voter.factors is None else X * voter.factors
        rows = logits.rows.toarray() if sparse.issparse(logits.rows) else logits.rows
        if not logits.kernel.is_linear:
            gamma, size = logits.kernel.gamma, np.abs(logits.weights).max(axis=1)
            lengths = (np.linalg.norm(Z, axis=1)[:, np.newaxis] + np.linalg.norm(rows, axis=1)) ** 2
            values = np.abs(logits.kernel.values(Z, rows))
            errors = (values * size * (1 + gamma * lengths)).T
        else:
            weights = np.abs((rows - logits.center).T @ logits.weights).max(axis=1)
            errors = ((np.abs(Z) + np.abs(rows).max(axis=0)) * weights).T
        size = np.linalg.norm(errors, axis=0) + np.abs(logits.bias).max()
        worst = np.maximum(worst, EPSILON * size)
    return 3 * worst + 10 * EPSILON


def assert_same_vote(model, path, X, dtype="float32"):
    """A file gives decision values as its learner does, to rounding, and the labels that follow from them."""
    label, scores = run(path, rows_of(X, dtype), dtype)
    X = rows_of(X, dtype)
    expected = model.decision_function(X)
    assert scores.shape == expected.shape
    apart = np.abs(scores - expected).reshape(len(X), -1).max(axis=1)
    allowed = rounding(model, X)
    assert allowed.max() < 0.01  # so that the next line says something
    np.testing.assert_array_less(apart, allowed)
    order = np.sort(np.column_stack([-expected, expected]) if expected.ndim == 1 else expected, axis=1)
    clear = order[:, -1] - order[:, -2] > 2 * allowed
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(label[clear], model.predict(X)[clear])


def rbf_rows(path):
    """How many rows each array of support vectors in a file has, as its columns; the rest are weights."""
    graph = onnx.load(path).graph
    width = graph.input[0].type.tensor_type.shape.dim[1].dim_value
    scores = graph.output[1].type.tensor_type.shape.dim
    columns = scores[1].dim_value if len(scores) == 2 else 1
    arrays = [list(constant.dims) for constant in graph.initializer if len(constant.dims) == 2]
    return [n for height, n in arrays if height == width and n != columns]


def support_of_rbf(model, least=0.0):
    vote = model._vote_parts()
    voters = zip(vote.weights, vote.voters, strict=True)
    ids = [v.ids for w, v in voters if w > least and v.logits is not None and not v.logits.kernel.is_linear]
    return np.unique(np.concatenate(ids))


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


def half_labeled(classes=2, features=6, seed=0):
    X, y = problem(classes, features=features, seed=seed)
    return X, y, np.where(np.arange(len(y)) % 3 == 0, y.astype(object), None)
