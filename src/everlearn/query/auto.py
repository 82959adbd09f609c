"""Auto: the default query strategy, which needs no tuning."""

from typing import Any, ClassVar

from .._base import constraints
from ._pool import PoolQueryStrategy


class Auto(PoolQueryStrategy):
    """Select rows near the decision boundary, and sometimes one far from all rows asked about.

    The default of `ActiveLearner`. It combines what works on most data sets without tuning:

    - Margin sampling, for two or more classes, by decision values or, where a model has none, probabilities.
    - Full search of small pools; in large ones, the best of a few rows drawn at random. Of 59 the best is
      among the best 5 % of the pool with a probability of 95 %, however large the pool is.
    - In a loop, up to 20 labels, every second question continues the cold start: a random row, or one far
      from all rows asked about. With few labels the boundary is still far from its final position.
    - In a loop, every tenth question goes to the row farthest from all rows asked about so far, if it is much
      farther away than rows usually are. Margin sampling never visits a cluster where the model is confident
      and wrong; this does.
    - In a loop, optionally, a row is asked about again if the model clearly contradicts its label.

    Parameters
    ----------
    pool_size : int, default=59
        How many rows to draw from a large pool for each question. A batch of n questions draws n times as
        many.
    max_full_search : int, default=2000
        Pools of up to this size are searched in full.
    explore_every : int, default=10
        In a loop, one question in this many goes to the row farthest from all rows asked about, if it is more
        than 2.25 times as far from them as the median row. None explores only until every class has been
        seen.
    reask_every : int, default=None
        In a loop, at most one question in this many goes to a row whose label the model contradicts: it has
        learned the label and still puts the row on the other side of the boundary. An SVM with C=1 does so
        only if the row, when left out, lies outside the margin on the wrong side. A row is asked about three
        times at most. None never asks again. Use it if annotators make mistakes.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. With an int, the selection is a function of it, the pool, n and ``draw``; with a
        generator, of its current state, which is not advanced; with None it differs from call to call. A loop
        replaces None by its own seed.

    Notes
    -----
    The margin is |f(x)|; with more than two classes it is the gap between the two largest scores. The utility
    of a row is minus its margin. `query` alone selects by margin, from all rows or from those drawn.
    Exploring and asking again need to know what has been asked, which `ActiveLearner` keeps.

    Examples
    --------
    >>> from everlearn import LASVM, ActiveLearner
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import Auto
    >>> X, y = make_banana(2000, random_state=0)
    >>> loop = ActiveLearner(LASVM(C=10, gamma=1), Auto(), random_state=0)
    >>> loop = loop.run(X[:1500], y[:1500], max_labels=100)
    >>> loop.estimator.score(X[1500:], y[1500:]) > 0.95
    True
    >>> sorted({record["reason"].split(" (")[0] for record in loop.history[20:]})
    ['far from every row asked so far', 'near the boundary between -1 and 1']
    """

    uses_margin: ClassVar[bool] = True
    uses_scores_only: ClassVar[bool] = True
    cold_start_labels: ClassVar[int] = 20
    _size_parameter: ClassVar[str | None] = None  # a batch may have any size
    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "pool_size": constraints.integer_from(1),
        "max_full_search": constraints.integer_from(0),
        "explore_every": constraints.NONE | constraints.integer_from(2),
        "reask_every": constraints.NONE | constraints.integer_from(2),
    }

    def __init__(
        self,
        pool_size: int = 59,
        max_full_search: int = 2000,
        explore_every: int | None = 10,
        reask_every: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.pool_size = pool_size
        self.max_full_search = max_full_search
        self.explore_every = explore_every
        self.reask_every = reask_every
        self.random_state = random_state

    def draw_size(self, n: int | None) -> int | None:
        """Return how many rows are drawn from a large pool.

        Parameters
        ----------
        n : int or None
            The size of the batch.

        Returns
        -------
        int
            The number.
        """
        wanted = 1 if n is None else max(int(n), 1)
        size = int(self.pool_size)
        return max(size, min(size * wanted, int(self.max_full_search)), wanted)

    def searches_all(self, n_rows: int, n: int | None) -> bool:
        """Whether all rows are looked at in their order, so that nothing is drawn.

        Parameters
        ----------
        n_rows : int
            The size of the pool.
        n : int or None
            The size of the batch.

        Returns
        -------
        bool
            Whether all rows are searched.
        """
        return n_rows <= int(self.max_full_search) or super().searches_all(n_rows, n)
