"""RecentMargin: select the row nearest to the decision boundary from each block of a stream.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009), there "Greedy".
"""

from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from ._rows import Places
from ._scores import decision_scores
from ._strategy import StreamQueryStrategy, Utilities


class RecentMargin(StreamQueryStrategy):
    """Select one row from each block of a stream: the one nearest to the decision boundary.

    The rows are cut into consecutive blocks. At the end of a block the row with the smallest margin is
    selected, the first in case of ties. A last block that is incomplete is skipped, so that T rows cost
    floor(T / block_size) labels.

    Parameters
    ----------
    block_size : int, default=5
        Rows in a block. With 1 every row is selected.

    Notes
    -----
    The margin is |f(x)|; with more than two classes it is the gap between the two largest scores. The utility
    of a row is minus its margin. The paper calls the strategy Greedy.

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
    >>> (asked // 5).tolist()  # one of each complete block
    [0, 1]
    """

    uses_margin: ClassVar[bool] = True
    uses_scores_only: ClassVar[bool] = True
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

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return self.utilities_from_scores(decision_scores(model, X))

    def _selected(self, utilities: Utilities) -> Places:
        size = int(self.block_size)
        blocks = utilities[: len(utilities) // size * size].reshape(-1, size)
        return np.asarray(np.arange(len(blocks)) * size + blocks.argmax(axis=1))
