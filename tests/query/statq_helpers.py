"""What the tests of StatQSVM, IncrSVM and QuerySVM share: their variants, an exact solver, seeds."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from everlearn import LASVM, IncrSVM, QuerySVM, StatQSVM
from reference.test_reference_statq import clouds

EXACT = SVC(kernel="linear", tol=1e-9)
LEARNERS = [StatQSVM, IncrSVM, QuerySVM]
VARIANTS = {
    "robust": StatQSVM(),
    "published": StatQSVM(robust=False),
    "published, p": StatQSVM(robust=False, criterion="outside"),
    "smooth": StatQSVM(sampling="smooth"),
    "smooth, frugal": StatQSVM(sampling="smooth", keep="all", confidence_fraction=None),
    "frugal": StatQSVM(keep="all", confidence_fraction=None),
    "incr": IncrSVM(),
    "query": QuerySVM(max_iter=30),
    "query, sv": QuerySVM(max_iter=30, keep="support"),
}


def after_seed(seed):
    """The generator of a learner once it has drawn a seed for its estimator."""
    random = np.random.RandomState(seed)
    random.randint(2**31 - 1)
    return random


def lasvm(**more):
    return LASVM(**{"kernel": "linear", "epochs": 10, "tol": 1e-5, **more})


def check_plain_loop(name, reference, seed):
    """After each step a learner has the rows, the decision values and the record of its reference version."""
    X, y = clouds(300, seed, apart=1.5)
    course = list(reference(X, y, 20, 8, after_seed(seed)))
    assert len(course) >= 3 or name == "published, p"
    for step in range(len(course)):
        model = clone(VARIANTS[name]).set_params(
            estimator=EXACT, chunk_size=20, max_iter=step, random_state=seed
        )
        if name == "published, p":
            model.set_params(threshold=0.6)
        model.fit(X, y)
        S, f, used, examined, *counts = course[step]
        np.testing.assert_array_equal(model.support_, np.sort(S))
        np.testing.assert_array_equal(model.used_, sorted(used))
        np.testing.assert_array_equal(model.examined_, sorted(examined))
        np.testing.assert_allclose(model.decision_function(X), f(X), atol=1e-6)
        assert len(model.history_) == step + 1
        last = model.history_[-1]
        assert last["step"] == step
        assert (last["used"], last["examined"], last["n_support"]) == (len(used), len(examined), len(S))
        if counts:
            assert last["confidence"] == (None if counts[0] is None else pytest.approx(counts[0], abs=1e-9))
            assert (last["n_outside_margin"], last["queried"]) == tuple(counts[1:])
