"""A learner that has seen a stream."""

import pytest
from sklearn.naive_bayes import GaussianNB

from adaptive.adaptive_helpers import SVMS, blobs
from everlearn import AdaptiveSVM


@pytest.fixture
def learner():
    X, y = blobs(60, 3)
    return AdaptiveSVM(experts=[*SVMS, GaussianNB()], max_rows=40).partial_fit(X, y)
