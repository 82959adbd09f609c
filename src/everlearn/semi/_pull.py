"""How labeled rows pull at unlabeled ones: as sums of similarities, or as the scores of an SVM.

The thesis bounds the SVM by one whose multipliers are all C; then s_j = sum_i y_i K_ij over labeled rows,
the rule of the nearest mean. With few labels, and rows of length 1, multipliers are at C and that is what the
SVM says. With more they are not, and f_j = sum_i y_i alpha_i K_ij ranks rows far better; it is brought to the
spread of s over the unlabeled rows, so that clusters count beside it as they did. A constant in it changes
nothing, since the number of rows of each class is given.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from .._submodular.choice import Floats, Ints
from ._space import OVERFLOW, Space

_MOST_STEPS = 1_000_000
_LARGEST = 1e100  # of a similarity: an SVM needs squares of more than these
_MOST_LABELS = 3000  # that the SVM learns from; more are sampled, evenly


def pull(space: Space, U: Ints, L: Ints, weights: Floats, how: str, C: float) -> Floats:
    """The pull of the rows L at each of the rows U.

    Parameters
    ----------
    space : Space
        The rows.
    U, L : ndarray of shape (n,), (l,)
        Unlabeled and labeled rows.
    weights : ndarray of shape (l,) or (l, n_classes)
        What each labeled row weighs in the sums: signed for two classes, 0 or more for each of several.
    how : {"svm", "similarity"}
        Which pull.
    C : float
        The cost of a violated margin of the SVM.

    Returns
    -------
    ndarray of shape (n,) or (n, n_classes)
        The pull.
    """
    if how == "similarity":
        return space.pull(U, L, weights)
    columns = weights.reshape(len(L), -1)
    rows = np.arange(len(L))
    if len(L) > _MOST_LABELS:
        rows = np.linspace(0, len(L) - 1, _MOST_LABELS).astype(np.int64)
    K, duals = space.matrix(L[rows]), np.zeros_like(columns)
    if not float(np.abs(K).max(initial=0)) < _LARGEST:
        raise ValueError(OVERFLOW)
    for c in range(columns.shape[1]):
        duals[rows, c] = _multipliers(K, columns[rows, c], C, weights.ndim > 1)
    found = space.pull(U, L, np.hstack([columns, duals]))
    sums, scores = found[:, : columns.shape[1]], found[:, columns.shape[1] :]
    wide, narrow = (np.abs(part - part.mean(axis=0)).mean(axis=0) for part in (sums, scores))
    usable = narrow > 1e-9 * wide  # neither labels of one class only nor rows that are all the same
    scores = np.where(usable, scores * (wide / np.where(usable, narrow, 1.0)), sums)
    return np.asarray(scores.reshape(len(U), *weights.shape[1:]))


def _multipliers(K: Floats, weights: Floats, C: float, one_of_many: bool) -> Floats:
    """y_i alpha_i of the SVM on labeled rows; zeros where there is one class."""
    y = np.where(weights > 0, 1.0, -1.0)
    found = np.zeros(len(y))
    if len(np.unique(y)) == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine = SVC(C=C, kernel="precomputed", tol=1e-6, max_iter=_MOST_STEPS)
            machine.fit(K, y, None if one_of_many else np.abs(weights))
        found[machine.support_] = machine.dual_coef_[0]
    return found
