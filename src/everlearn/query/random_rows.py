"""Random: ask about rows at random."""

from typing import Any, ClassVar

import numpy as np

from ._pool import PoolQueryStrategy, Worth
from ._scores import count_rows


class Random(PoolQueryStrategy):
    """Ask about rows of a pool at random.

    What a query strategy that looks at the model is compared with, and the only one whose labels are a fair
    sample: an estimate from them is unbiased. It does not look at the model, which may have learned nothing
    yet.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Decides the draw. With an int the answer is a function of it, of the number of rows, of n and of
        ``draw``; with a generator, of its present state, which stays as it is; with None it differs from call
        to call.

    Notes
    -----
    Every row is worth the same, so the utilities are ones. Rows are drawn without replacement; with the same
    seed and ``draw`` the answer for a larger n holds that for a smaller one.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.query import Random
    >>> pool = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> strategy = Random(random_state=0)
    >>> first = strategy.query(LASVM(), pool, n=2)
    >>> bool((strategy.query(LASVM(), pool, n=2) == first).all())  # nothing has changed
    True
    >>> rounds = [int(strategy.query(LASVM(), pool, draw=number)[0]) for number in range(20)]
    >>> len(set(rounds)) > 1  # a loop counts the draws
    True
    """

    _size_name: ClassVar[str | None] = None

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def _size(self, n: int | None) -> int | None:
        return None if n is None else max(int(n), 1)

    def _worth(self, model: Any, X: Any) -> Worth:
        return np.ones(count_rows(X))
