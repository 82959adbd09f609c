"""RampRegion: ask only where a ramp-loss SVM can learn.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009), Algorithm 3
(OnlineASVMR).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._scores import decision_scores
from ._strategy import Places, QueryStrategy


class RampRegion(QueryStrategy):
    """Ask about rows that can lie inside the ramp.

    The ramp loss of a row of label y is flat where y f(x) is below s or above 1: there a ramp-loss SVM with
    this s learns nothing from it, once its ramp works. Before the label is known, y may be either sign, so
    that the row can lie inside the ramp if |f(x)| ≤ max(1, -s). With more than two classes each has its own
    ramp against the rest, and a row is asked about if it can lie inside one of them.

    Parameters
    ----------
    s : float, default=-1.0
        Left end of the ramp, 0 or below. With -inf the loss is the hinge loss, whose ramp has no end, and
        every row is asked about.

    Notes
    -----
    The utility of a row is max(1, -s) - min |f_c(x)| over the columns c, and rows of utility 0 or above are
    asked about. The scores must be margins: with more than two classes those of scikit-learn's `SVC` are
    counts of votes, for which the region means little.

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

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"s": constraints.RAMP_END}

    def __init__(self, s: float = -1.0) -> None:
        self.s = s

    @property
    def asks_every_row(self) -> bool:
        """Whether the ramp has no end."""
        constraints.check(self)
        return bool(np.isneginf(float(self.s)))

    def _worth(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        nearest = np.abs(decision_scores(model, X)).min(axis=1)
        return np.asarray(max(1.0, -float(self.s)) - nearest)

    def _asked(self, worth: npt.NDArray[np.float64]) -> Places:
        return np.flatnonzero(worth >= 0)  # the sign of a difference is exact
