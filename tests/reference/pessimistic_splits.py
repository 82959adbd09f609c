"""The splits into labeled and unlabeled rows on which supervised learning does worst.

W. Emara (2012), section III.4: of many random splits those few are kept on which the SVM that learns from the
labeled rows alone is least accurate on the others.
"""

from typing import NamedTuple

import numpy as np
from sklearn.svm import SVC


class Split(NamedTuple):
    labeled: np.ndarray
    unlabeled: np.ndarray
    accuracy: float  # of the supervised SVM on the unlabeled rows


def draw_labeled(y, size, random):
    """`size` random rows, drawn again until every class is among them."""
    classes = len(np.unique(y))
    if not classes <= size < len(y):
        raise ValueError(f"size={size} has no room for one row of each class and a row that is unlabeled")
    while len(np.unique(y[rows := np.sort(random.permutation(len(y))[:size])])) < classes:
        pass
    return rows


def pessimistic_splits(X, y, size, random, draws=100, keep=10, C=1.0):
    """The `keep` worst of `draws` random splits, the worst first; of equals the one drawn first."""
    splits = []
    for _ in range(draws):
        L = draw_labeled(y, size, random)
        U = np.setdiff1d(np.arange(len(y)), L)
        machine = SVC(kernel="linear", C=C).fit(X[L], y[L])
        splits.append(Split(L, U, float(machine.score(X[U], y[U]))))
    return sorted(splits, key=lambda split: split.accuracy)[:keep]


def only(y, rows, unknown=0):
    """The labels of these rows; all others unknown."""
    return np.where(np.isin(np.arange(len(y)), rows), y, unknown)
