"""Every exported estimator, found by discovery, and small problems that each of them can learn."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator

import everlearn
from everlearn._base import persist
from everlearn.datasets import make_banana

ESTIMATORS = [
    value
    for value in (getattr(everlearn, name) for name in everlearn.__all__)
    if isinstance(value, type) and issubclass(value, BaseEstimator)
]


def problem(n_classes=2, n_samples=80, random_state=0):
    """Rows and labels; features are multiples of 1/64, so that single precision holds the same numbers."""
    X, y = make_banana(n_samples, noise=0.3, random_state=random_state)
    X = np.round(X * 64) / 64
    if n_classes == 3:
        y = np.where(X[:, 0] > 1, 2, (y > 0).astype(int))
    return X, y


def make(cls, **parameters):
    """An estimator with a fixed seed, and with a parameter where it knows it."""
    known = cls().get_params()
    if "random_state" in known:
        parameters["random_state"] = 0
    return cls(**{name: value for name, value in parameters.items() if name in known})


def fit(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 80 rows are few for some defaults
        return estimator.fit(X, y)


def learn(estimator, X, y, classes=None):
    """Call `partial_fit`, with `classes` where it takes them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if classes is None or getattr(estimator, "grows_classes", False):
            return estimator.partial_fit(X, y)
        try:
            return estimator.partial_fit(X, y, classes=classes)
        except TypeError:  # a semi-supervised learner has no such argument
            return estimator.partial_fit(X, y)


def outputs(estimator, X):
    """What an estimator says about rows, as a list of arrays."""
    names = [n for n in ("decision_function", "predict", "predict_proba", "select") if hasattr(estimator, n)]
    return [np.asarray(getattr(estimator, name)(X)) for name in names]


def same(left, right):
    return len(left) == len(right) and all(
        a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(left, right, strict=True)
    )


def state(estimator):
    """The whole state of an estimator as bytes."""
    return persist.pack(persist.describe(estimator))
