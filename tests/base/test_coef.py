"""Linear learners have `coef_` and `intercept_`, which give their decision values."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

import everlearn
from everlearn import LASVM, AveragedKernelPerceptron

LINEAR = [
    name
    for name in sorted(everlearn.__all__)
    if inspect.isclass(getattr(everlearn, name))
    and "kernel" in inspect.signature(getattr(everlearn, name)).parameters
    and hasattr(getattr(everlearn, name), "dual_coef_")
]


def test_learners_are_found():
    assert {"LASVM", "IDSVM", "KernelPerceptron", "NORMA", "KOIL", "RampSVM"} <= set(LINEAR)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_decision_values_are_linear_in_the_features(name, classes, offset):
    cls = getattr(everlearn, name)
    X, y = make_classification(80, 5, n_informative=4, n_redundant=0, n_classes=classes, random_state=0)
    X = X + offset
    if name == "Forgetron":  # needs rows of at most unit length
        X = X / np.linalg.norm(X, axis=1).max()
    params = {"random_state": 0} if "random_state" in inspect.signature(cls).parameters else {}
    params |= {"average": "mean"} if name == "AveragedKernelPerceptron" else {}
    model = cls(kernel="linear", **params).fit(X, y)
    values = model.decision_function(X).reshape(80, -1)
    assert model.coef_.shape == (values.shape[1], 5)
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(values, expected, rtol=1e-3, atol=1e-3 * np.abs(values).max())


def test_sparse_rows_have_the_same_weights():
    X, y = make_classification(60, 6, random_state=1)
    forms = X, sparse.csr_matrix(X)
    dense, thin = (LASVM(kernel="linear", tol=1e-5, random_state=0).fit(rows, y) for rows in forms)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-3, atol=1e-3)
    assert isinstance(thin.coef_, np.ndarray)


def test_another_kernel_has_no_weights():
    X, y = make_classification(60, 6, random_state=1)
    model = LASVM().fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match='kernel="linear"'):
        model.coef_  # noqa: B018
    assert not hasattr(AveragedKernelPerceptron(kernel="linear").fit(X, y), "coef_")  # a vote is not linear
    assert not hasattr(LASVM(kernel=lambda A, B: A @ B.T).fit(X, y), "coef_")
