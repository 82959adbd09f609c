"""What the page about operating a store promises of estimators in several threads."""

import threading

import numpy as np
import pytest

from contract.contract_helpers import ESTIMATORS, make
from everlearn import LASVM
from everlearn._base.learner import KernelLearner
from everlearn._base.online import StreamLearner
from everlearn.datasets import make_banana
from thread_helpers import in_threads

X, Y = make_banana(600, random_state=0)
# Learners whose native machine has a lock: predictions beside a thread that learns.
NATIVE = [cls for cls in ESTIMATORS if issubclass(cls, KernelLearner) and issubclass(cls, StreamLearner)]
FITTED = [cls for cls in ESTIMATORS if hasattr(cls(), "predict_proba")]


def test_learners_are_found():
    assert LASVM in NATIVE
    assert {cls.__name__ for cls in FITTED} >= {"AdaptiveSVM", "CalibratedClassifier"}


def learned(model):
    for start in range(0, 600, 50):
        model.partial_fit(X[start : start + 50], Y[start : start + 50], classes=np.unique(Y))
    return model


@pytest.mark.parametrize("cls", NATIVE)
def test_predictions_beside_a_thread_that_learns(cls):
    alone, shared = learned(make(cls, gamma=0.5)), make(cls, gamma=0.5)
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


@pytest.mark.parametrize("cls", FITTED)
def test_predictions_of_a_fitted_estimator_in_several_threads(cls):
    model = make(cls).fit(X[:300], Y[:300])
    expected = model.predict(X), model.predict_proba(X)

    def look():
        for _ in range(5):
            np.testing.assert_array_equal(model.predict(X), expected[0])
            np.testing.assert_array_equal(model.predict_proba(X), expected[1])

    in_threads(look, look, look)
