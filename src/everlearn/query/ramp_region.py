"""RampRegion: select the rows from which a ramp-loss SVM can learn.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009), Algorithm 3
(OnlineASVMR).
"""

from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from ._rows import Places
from ._scores import decision_scores
from ._strategy import StreamQueryStrategy, Utilities


class RampRegion(StreamQueryStrategy):
    """Select the rows that may lie inside the ramp of a ramp-loss SVM.

    The ramp loss of a row with label y is flat where y f(x) is below s or above 1: a ramp-loss SVM with this
    s learns nothing there, once its ramp is in effect. Before the label is known y may be either sign, so
    the row may lie inside the ramp if |f(x)| ≤ max(1, -s). With more than two classes each one-vs-rest
    problem has its own ramp, and a row is selected if it may lie inside one of them.

    Parameters
    ----------
    s : float, default=-1.0
        Left end of the ramp, 0 or below. With -inf the loss is the hinge loss, and every row is selected.

    Notes
    -----
    The utility of a row is max(1, -s) - min |f_c(x)| over the columns c; rows with a utility of 0 or above
    are selected. The scores must be margins: with more than two classes those of scikit-learn's `SVC` are
    vote counts, for which the region means little.

    References
    ----------
    Z. Wang, S. Vucetic, *Fast Online Training of Ramp Loss Support Vector Machines*, ICDM 2009, Algorithm 3.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import RampRegion
    >>> X, y = make_banana(500, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:400], y[:400])
    >>> asked = RampRegion().query(model, X[400:])
    >>> len(asked) < 50  # the model is sure of the others
    True
    >>> bool(abs(model.decision_function(X[400:])[asked]).max() <= 1)
    True
    """

    uses_scores_only: ClassVar[bool] = True
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"s": constraints.RAMP_END}

    def __init__(self, s: float = -1.0) -> None:
        self.s = s

    @property
    def asks_every_row(self) -> bool:
        """Whether the ramp is unbounded."""
        constraints.check(self)
        return bool(np.isneginf(float(self.s)))

    def utilities_from_scores(self, scores: Utilities) -> Utilities:
        """Compute the utilities of rows from their decision values.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_columns)
            The decision values: one column for two classes, otherwise one for each class.

        Returns
        -------
        ndarray of shape (n_samples,)
            The utilities; higher is better.
        """
        return np.asarray(max(1.0, -float(self.s)) - np.abs(scores).min(axis=1))

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return self.utilities_from_scores(decision_scores(model, X))

    def _selected(self, utilities: Utilities) -> Places:
        return np.flatnonzero(utilities >= 0)  # the sign of a difference is exact
