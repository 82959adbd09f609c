"""Auto: the default query strategy, which needs no tuning."""

from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from ._pool import PoolQueryStrategy, Worth
from ._scores import Scores, class_scores, margins


class Auto(PoolQueryStrategy):
    """Ask about rows near the boundary, and now and then about a region that nobody has asked about.

    The default of `ActiveLearner`. It bundles what works on most sets without tuning:

    - Uncertainty sampling by margin, for two classes and for several, with decision values or, where a model
      has none, probabilities.
    - Full search while the pool is small; beyond, the best of a few rows drawn at random. Of 59 the best is
      among the best 5 % of the pool with a probability of 95 %, however large the pool is.
    - In a loop, up to 20 labels, whoever brought them, every second query goes on with the cold start: a row
      at random or far from all rows asked. With a handful of labels the boundary is nowhere near its place.
    - In a loop, every tenth query goes to the row furthest from all rows asked so far, if it is much further
      than rows usually are. Uncertainty sampling never visits a cluster that the model is sure about and
      wrong; this does.
    - In a loop, optionally, a row is asked about again where the model clearly contradicts its answer.

    Parameters
    ----------
    pool_size : int, default=59
        How many rows to draw from a large pool for each query. A batch of n queries draws n times as many.
    max_full_search : int, default=2000
        Pools of up to so many rows are searched in full.
    explore_every : int, default=10
        In a loop, every so many queries one goes to the row furthest from all rows asked, if it is more than
        2.25 times as far from them as rows are on the median. None explores only until every class has been
        seen.
    reask_every : int, default=None
        In a loop, at most every so many queries one goes to a row whose answer the model contradicts: it has
        learned the answer and still puts the row on the other side of the boundary, which an SVM with C=1
        does only if the row lies outside the margin without it. A row is asked about three times at most.
        None never asks again. Use it when annotators make mistakes; a table always says the same.
    random_state : int, RandomState instance or None, default=None
        Decides the draw. With an int the answer is a function of it, of the pool, of n and of ``draw``; with
        a generator, of its present state, which stays as it is; with None it differs from call to call. A
        loop uses its own seed in place of None.

    Notes
    -----
    The margin is |f(x)|, with more than two classes the gap between the two largest scores; the utility of a
    row is minus its margin. `query` needs no loop: it chooses by margin alone, from all rows given or from
    those drawn. Exploring and asking again need to know what has been asked, which `ActiveLearner` keeps.

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

    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "pool_size": constraints.integer_from(1),
        "max_full_search": constraints.integer_from(0),
        "explore_every": constraints.NONE | constraints.integer_from(2),
        "reask_every": constraints.NONE | constraints.integer_from(2),
    }
    _size_name: ClassVar[str | None] = None  # a batch of any size can be taken

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

    def _size(self, n: int | None) -> int | None:
        wanted = 1 if n is None else max(int(n), 1)
        return max(int(self.pool_size), min(int(self.pool_size) * wanted, int(self.max_full_search)), wanted)

    def _searches_all(self, rows: int, n: int | None) -> bool:
        return rows <= int(self.max_full_search) or super()._searches_all(rows, n)

    def _worth(self, model: Any, X: Any) -> Worth:
        return 0.0 - margins(class_scores(model, X))


def boundary_reasons(scores: Scores, classes: Any) -> list[str]:
    """Why rows near the boundary were chosen: between which classes each lies, and how near.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        Scores as `class_scores` returns them.
    classes : array-like of shape (n_classes,)
        The labels, in the order of the columns.

    Returns
    -------
    list of str
        A reason for each row.
    """
    names, gaps = np.asarray(classes).tolist(), margins(scores).tolist()
    if scores.shape[1] == 1:
        pairs = [[0, 1]] * len(scores)
    else:
        pairs = np.sort(np.argsort(scores, axis=1)[:, -2:], axis=1).tolist()
    return [
        f"near the boundary between {names[a]} and {names[b]} (margin {gap:.2g})"
        for (a, b), gap in zip(pairs, gaps, strict=True)
    ]
