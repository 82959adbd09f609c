"""RecentMargin: ask about the row nearest to the boundary of every few.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009), the query
strategy Greedy.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._scores import decision_scores, margins
from ._strategy import Places, QueryStrategy


class RecentMargin(QueryStrategy):
    """Ask about one of every `block_size` rows, the one nearest to the boundary.

    The rows are cut into consecutive blocks. At the end of a block the row with the smallest margin is
    asked about, the first of equal ones, and the others are forgotten. A last block that is not complete is
    not asked about, so that T rows cost floor(T / block_size) labels.

    Parameters
    ----------
    block_size : int, default=5
        Rows in a block. With 1 every row is asked about.

    Notes
    -----
    The margin is |f(x)|, with more than two classes the gap between the two largest scores; the utility of a
    row is minus its margin. The paper calls the query strategy Greedy.

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
    >>> asked = RecentMargin(block_size=5).query(model, X[400:])
    >>> (asked // 5).tolist()  # one of each of the two complete blocks
    [0, 1]
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"block_size": constraints.integer_from(1)}

    def __init__(self, block_size: int = 5) -> None:
        self.block_size = block_size

    @property
    def rows_per_question(self) -> int:
        """The rows in a block."""
        constraints.check(self)
        return int(self.block_size)

    @property
    def asks_every_row(self) -> bool:
        """Whether a block is a single row."""
        return self.rows_per_question == 1

    def _worth(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        return 0.0 - margins(decision_scores(model, X))

    def _asked(self, worth: npt.NDArray[np.float64]) -> Places:
        size = int(self.block_size)
        blocks = worth[: len(worth) // size * size].reshape(-1, size)
        return np.asarray(np.arange(len(blocks)) * size + blocks.argmax(axis=1))
