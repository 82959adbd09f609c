"""Streams for the tests of AdaptiveSVM, and what they all ask about its state."""

import numpy as np
from scipy import sparse

from everlearn._base.persist import pack
from everlearn.adaptive import Expert


def blobs(n, n_classes=2, features=4, noise=1.0, seed=0):
    """Overlapping Gaussian classes; class k is centered at (k, ..., k)."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    return random.normal(0, noise, (n, features)) + y[:, np.newaxis], y


def swap(n, at, seed=0):
    """Two classes by the sign of a column; from row `at` on the classes are exchanged."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    y = (X[:, 0] > 0).astype(int)
    y[at:] = 1 - y[at:]
    return X, y


def bits(learner):
    """Everything that decides how a learner goes on, as bytes."""
    return pack(learner._get_state())


def consistent(learner):
    """Whether every SVM holds the last rows of the store, and all parts agree on the number of classes."""
    n_classes = len(learner.classes_)
    committee = learner._committee
    assert committee.n_classes == n_classes == len(committee.vote.counts) == len(learner._counts)
    assert len(learner._rows.ids) == len(learner._rows.labels) == len(learner._rows.weights)
    assert not committee.damaged
    kept = learner.ids_
    for voter in committee.voters:
        if hasattr(voter, "machine"):
            window = kept if voter.window is None else kept[-voter.window :]
            assert sorted(voter.holds().tolist()) == sorted(window.tolist())
            assert voter.n_classes == n_classes
    return True


def as_sparse(X):
    return sparse.csr_matrix(X)


SVMS = [Expert("linear"), Expert("rbf", window=20), Expert("no-change")]
X, Y = blobs(6, 3, seed=1)
