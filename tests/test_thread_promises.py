"""What the page about operating a store promises of estimators in several threads."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from everlearn import IDSVM, KOIL, LASVM, LASVMNC, RBP, AdaptiveSVM, Forgetron, LocalSVM, OnlineSVMR
from everlearn.calibration import CalibratedClassifier
from everlearn.datasets import make_banana
from thread_helpers import in_threads

X, Y = make_banana(600, random_state=0)
NATIVE = [
    LASVM(gamma=0.5, random_state=0),
    LASVMNC(gamma=0.5, random_state=0),
    OnlineSVMR(gamma=0.5, random_state=0),
    IDSVM(gamma=0.5),
    LocalSVM(gamma=0.5, random_state=0),
    RBP(gamma=0.5, random_state=0),
    Forgetron(gamma=0.5),
    KOIL(gamma=0.5, random_state=0),
]
FITTED = [AdaptiveSVM(random_state=0), CalibratedClassifier(LASVM(gamma=0.5, random_state=0))]


def learned(model):
    for start in range(0, 600, 50):
        model.partial_fit(X[start : start + 50], Y[start : start + 50], classes=np.unique(Y))
    return model


@pytest.mark.parametrize("model", NATIVE, ids=lambda model: type(model).__name__)
def test_predictions_beside_a_thread_that_learns(model):

    alone, shared = learned(clone(model)), clone(model)
    shared.partial_fit(X[:50], Y[:50], classes=np.unique(Y))
    done = threading.Event()

    def learn():
        try:
            for start in range(50, 600, 50):
                shared.partial_fit(X[start : start + 50], Y[start : start + 50])
        finally:
            done.set()

    def look():
        while not done.is_set():
            assert np.isfinite(shared.decision_function(X[:40])).all()
            assert set(shared.predict(X[:40]).tolist()) <= set(Y.tolist())

    in_threads(learn, look, look)
    np.testing.assert_array_equal(shared.decision_function(X), alone.decision_function(X))


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_predictions_of_a_fitted_estimator_in_several_threads(model):
    model.fit(X[:300], Y[:300])
    expected = model.predict(X), model.predict_proba(X)

    def look():
        for _ in range(5):
            np.testing.assert_array_equal(model.predict(X), expected[0])
            np.testing.assert_array_equal(model.predict_proba(X), expected[1])

    in_threads(look, look, look)
