"""Random: select rows of a pool at random."""

from typing import Any, ClassVar

import numpy as np

from ._pool import PoolQueryStrategy
from ._rows import count_rows
from ._strategy import Utilities


class Random(PoolQueryStrategy):
    """Select rows of a pool at random.

    The baseline for strategies that use the model, and the only one whose labels are a random sample, so that
    estimates from them are unbiased. The model is not used and need not be fitted.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. With an int, the selection is a function of it, the number of rows, n and ``draw``;
        with a generator, of its current state, which is not advanced; with None it differs from call to call.

    Notes
    -----
    All utilities are 1. Rows are drawn without replacement. With the same seed and ``draw``, the selection
    for a larger n contains that for a smaller one.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.query import Random
    >>> pool = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> strategy = Random(random_state=0)
    >>> bool((strategy.query(LASVM(), pool, n=2) == strategy.query(LASVM(), pool, n=2)).all())
    True
    >>> rounds = [int(strategy.query(LASVM(), pool, draw=number)[0]) for number in range(20)]
    >>> len(set(rounds)) > 1  # a loop counts up the draws
    True
    """

    is_random_sample: ClassVar[bool] = True
    _size_parameter: ClassVar[str | None] = None

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def draw_size(self, n: int | None) -> int | None:
        """Return how many rows are drawn.

        Parameters
        ----------
        n : int or None
            The size of the batch.

        Returns
        -------
        int or None
            The size of the batch; None for all rows.
        """
        return None if n is None else max(int(n), 1)

    def reasons(self, model: Any, X: Any) -> list[str]:
        """Explain why rows were selected.

        Parameters
        ----------
        model : object
            Not used.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The selected rows.

        Returns
        -------
        list of str
            "drawn at random" for each row.
        """
        return ["drawn at random"] * count_rows(X)

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return np.ones(count_rows(X))
