"""Scores of unlabeled rows from the labels: as sums of similarities or from an SVM.

The thesis bounds the SVM by one whose multipliers are all C. Then the score is s_j = sum_i y_i K_ij over the
labeled rows, the nearest-mean classifier. With few labels and rows of length 1, all multipliers are C and the
SVM gives the same scores. With more labels, the SVM scores f_j = sum_i y_i alpha_i K_ij rank rows far better.
They are scaled to the mean absolute deviation of s over the unlabeled rows, so that the weight of the
clusters keeps its meaning. A constant in the scores has no effect, because the class sizes are given.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from .._submodular.choice import Floats, Ints
from ._space import OVERFLOW, Space

_MAX_STEPS = 1_000_000
_MAX_SIMILARITY = 1e100  # an SVM squares sums of similarities, which must not overflow
_MAX_LABELS = 3000  # that the SVM learns from; of more an evenly spaced sample is used


def label_scores(space: Space, U: Ints, L: Ints, weights: Floats, how: str, C: float) -> Floats:
    """Score each of the rows U by the labels of the rows L.

    Parameters
    ----------
    space : Space
        The rows.
    U, L : ndarray of shape (n,), (l,)
        Unlabeled and labeled rows.
    weights : ndarray of shape (l,) or (l, n_classes)
        Weights of the labeled rows in the sums: signed for two classes; non-negative, one column per class,
        for more.
    how : {"svm", "similarity"}
        The kind of scores.
    C : float
        Regularization parameter of the SVM.

    Returns
    -------
    ndarray of shape (n,) or (n, n_classes)
        The scores.
    """
    both = label_weights(space, L, weights, how, C)
    return on_one_scale(space.weighted_sums(U, L, both), weights)


def label_weights(space: Space, L: Ints, weights: Floats, how: str, C: float) -> Floats:
    """The weights of the labeled rows in sums of similarities: those given, then those of the SVM, if any."""
    columns = weights.reshape(len(L), -1)
    if how == "similarity":
        return columns
    rows = np.arange(len(L))
    if len(L) > _MAX_LABELS:
        rows = np.linspace(0, len(L) - 1, _MAX_LABELS).astype(np.int64)
    K, duals = space.matrix(L[rows]), np.zeros_like(columns)
    if not float(np.abs(K).max(initial=0)) < _MAX_SIMILARITY:
        raise ValueError(OVERFLOW)
    for c in range(columns.shape[1]):
        duals[rows, c] = _multipliers(K, columns[rows, c], C, weights.ndim > 1)
    return np.hstack([columns, duals])


def on_one_scale(found: Floats, weights: Floats) -> Floats:
    """Scores from the sums with `label_weights`, for all unlabeled rows."""
    shape = (len(found), *weights.shape[1:])
    count = weights.size // len(weights)
    sums, scores = found[:, :count], found[:, count:]
    if scores.shape[1] == 0:
        return sums.reshape(shape)
    wide, narrow = (np.abs(part - part.mean(axis=0)).mean(axis=0) for part in (sums, scores))
    usable = narrow > 1e-9 * wide  # not if all labels are of one class, or all rows are equal
    scores = np.where(usable, scores * (wide / np.where(usable, narrow, 1.0)), sums)
    return np.asarray(scores.reshape(shape))


def _multipliers(K: Floats, weights: Floats, C: float, one_of_many: bool) -> Floats:
    """y_i alpha_i of the SVM on the labeled rows; zeros if there is only one class."""
    y = np.where(weights > 0, 1.0, -1.0)
    found = np.zeros(len(y))
    if len(np.unique(y)) == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = SVC(C=C, kernel="precomputed", tol=1e-6, max_iter=_MAX_STEPS)
            machine.fit(K, y, None if one_of_many else np.abs(weights))
        found[machine.support_] = machine.dual_coef_[0]
    return found
