"""RecentMargin: ask about the row nearest to the boundary of every few.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009), the rule Greedy.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._rule import Places, Rule
from ._scores import decision_scores, margins


class RecentMargin(Rule):
    """Ask about one of every h rows, the one nearest to the boundary.

    The rows are cut into consecutive blocks of h. At the end of a block the row with the smallest margin is
    asked about, the first of equal ones, and the others are forgotten. A last block that is not complete is
    not asked about, so that T rows cost floor(T / h) labels.

    Parameters
    ----------
    h : int, default=5
        Rows in a block. With 1 every row is asked about.

    Notes
    -----
    The margin is |f(x)|, with more than two classes the gap between the two largest scores; the utility of a
    row is minus its margin. The paper calls the rule Greedy.

    References
    ----------
    Z. Wang, S. Vucetic, *Fast Online Training of Ramp Loss Support Vector Machines*, ICDM 2009.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import RecentMargin
    >>> X, y = make_banana(412, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:400], y[:400])
    >>> asked = RecentMargin(h=5).query(model, X[400:])
    >>> (asked // 5).tolist()  # one of each of the two complete blocks
    [0, 1]
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"h": constraints.integer_from(1)}

    def __init__(self, h: int = 5) -> None:
        self.h = h

    @property
    def rows_per_question(self) -> int:
        """The rows in a block, h."""
        constraints.check(self)
        return int(self.h)

    @property
    def asks_every_row(self) -> bool:
        """Whether a block is a single row."""
        return self.rows_per_question == 1

    def _worth(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        return 0.0 - margins(decision_scores(model, X))

    def _asked(self, worth: npt.NDArray[np.float64]) -> Places:
        h = int(self.h)
        blocks = worth[: len(worth) // h * h].reshape(-1, h)
        return np.asarray(np.arange(len(blocks)) * h + blocks.argmax(axis=1))
