"""All: ask about every row."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ._scores import count_rows
from ._strategy import Places, QueryStrategy


class All(QueryStrategy):
    """Ask about every row.

    What a frugal strategy is compared with. It does not look at the model, which may have learned nothing
    yet and needs no ``decision_function``.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.query import All
    >>> All().query(LASVM(), [[0.0], [1.0], [2.0]])
    array([0, 1, 2])
    >>> All().query(LASVM(), [[0.0], [1.0], [2.0]], n=2)  # all are worth the same, the first come first
    array([0, 1])
    """

    @property
    def asks_every_row(self) -> bool:
        """Always."""
        return True

    def _worth(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        return np.ones(count_rows(X))

    def _asked(self, worth: npt.NDArray[np.float64]) -> Places:
        return np.arange(len(worth))
