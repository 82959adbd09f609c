"""All: select every row."""

from typing import Any

import numpy as np

from ._rows import Places, count_rows
from ._strategy import StreamQueryStrategy, Utilities


class All(StreamQueryStrategy):
    """Select every row.

    The baseline for strategies that save labels. The model is not used: it need not be fitted, nor have a
    ``decision_function``.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.query import All
    >>> All().query(LASVM(), [[0.0], [1.0], [2.0]])
    array([0, 1, 2])
    >>> All().query(LASVM(), [[0.0], [1.0], [2.0]], n=2)  # all utilities are equal: the first rows
    array([0, 1])
    """

    @property
    def asks_every_row(self) -> bool:
        """True."""
        return True

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return np.ones(count_rows(X))

    def _selected(self, utilities: Utilities) -> Places:
        return np.arange(len(utilities))
