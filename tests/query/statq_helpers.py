"""What the tests of StatQSVM, IncrSVM and QuerySVM share: their variants, an exact solver, seeds."""

import numpy as np
from sklearn.svm import SVC

from everlearn import LASVM, IncrSVM, QuerySVM, StatQSVM

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
