"""What the tests of the learners for noisy labels share: the learners, noisy clouds, blocks."""

import numpy as np
import pytest

from everlearn import LASVMG, LASVMI, LASVMNC, FullSVM, OnlineSVMR, RampSVM
from svm.lasvm_helpers import in_blocks, two_clouds

ALL = [FullSVM, LASVMG, LASVMNC, LASVMI, OnlineSVMR, RampSVM]
ONLINE = ALL[:-1]
RAMPS = [LASVMNC, LASVMI, OnlineSVMR, RampSVM]
all_learners = pytest.mark.parametrize("cls", ALL)
ATTRIBUTES = ["duality_gap_", "objective_", "objectives_", "n_outliers_", "n_skipped_", "n_kept_"]
online_learners = pytest.mark.parametrize("cls", ONLINE)


def make(cls, C=2.0, **options):
    """A learner with those of the options that its class has; small data must meet the ramp, too."""
    wanted = {
        "gamma": 0.3,
        "random_state": 0,
        "min_support": 15,
        "clean_every": 40,
        "max_idle": 20,
        **options,
    }
    known = cls().get_params()
    return cls(C, **{name: value for name, value in wanted.items() if name in known})


def noisy(data=two_clouds, n=200, features=4, share=0.1):
    """Clouds, the labels of some rows moved to another class."""
    X, y = data(n, features)
    wrong = np.random.default_rng(7).random(n) < share
    classes = np.unique(y)
    other = classes[(np.searchsorted(classes, y) + 1) % len(classes)]
    return X, np.where(wrong, other, y)


def learn(model, X, y, start=0, stop=None, size=30):
    """`partial_fit` in blocks where there is one, else `fit`."""
    if not hasattr(model, "partial_fit"):
        return model.fit(X[:stop], y[:stop])
    return in_blocks(model, X[start:stop], y[start:stop], size, np.unique(y))
