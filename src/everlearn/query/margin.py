"""Margin: of a few rows drawn at random, select those nearest to the decision boundary.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapters 3 and 4.
"""

import math
from typing import Any, ClassVar

from .._base import constraints
from ._pool import PoolQueryStrategy

_PROBABILITY = constraints.Constraint(
    "a number between 0 and 1, both excluded", lambda value: constraints.is_real(value) and 0 < value < 1
)


def pool_size_for(top_fraction: float = 0.05, failure_probability: float = 0.05) -> int:
    """How many rows to draw so that the best of them is probably among the best of the pool.

    The best of L rows drawn at random misses the top fraction p of the pool with a probability of at most
    (1 - p)^L, whatever the size of the pool. The smallest L for which this is at most eta is
    ⌈ln eta / ln(1 - p)⌉.

    Parameters
    ----------
    top_fraction : float, default=0.05
        The fraction p of the pool that counts as the best.
    failure_probability : float, default=0.05
        The probability eta of missing it.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> from everlearn.query import pool_size_for
    >>> pool_size_for()
    59
    >>> pool_size_for(top_fraction=0.01)
    299
    """
    for name, value in (("top_fraction", top_fraction), ("failure_probability", failure_probability)):
        if not _PROBABILITY.test(value):
            raise ValueError(f"{name} must be {_PROBABILITY.accepts}, got {value!r}.")
    exact = math.log(failure_probability) / math.log1p(-top_fraction)
    return max(1, math.ceil(exact * (1 - 1e-12)))  # rounding must not push an exact power to the next integer


class Margin(PoolQueryStrategy):
    """Select the rows nearest to the decision boundary, of a few drawn at random.

    A full search scores every row of the pool for each label. That is rarely worth it: of 59 rows drawn at
    random the best is among the best 5 % of the pool with a probability of 95 %, however large the pool is
    (`pool_size_for`).

    Parameters
    ----------
    pool_size : int, default=59
        How many rows to draw. With None, or in a pool that is not larger, all rows are scored.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. With an int, the selection is a function of it, the pool, n and ``draw``; with a
        generator, of its current state, which is not advanced; with None it differs from call to call.

    Notes
    -----
    The margin is |f(x)|; with more than two classes it is the gap between the two largest scores. The utility
    of a row is minus its margin. For a model without ``decision_function``, the gap between the two largest
    probabilities of ``predict_proba`` is used. In case of ties the row drawn first is selected, in a full
    search the first of the pool. No label is read.

    References
    ----------
    S. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, thesis, 2009.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import Margin
    >>> X, y = make_banana(2000, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:100], y[:100])
    >>> pool = X[100:]
    >>> margins = abs(model.decision_function(pool))
    >>> bool(Margin(pool_size=None).query(model, pool) == margins.argmin())
    True
    >>> asked = Margin(random_state=0).query(model, pool)
    >>> bool(margins[asked[0]] < sorted(margins)[len(pool) // 10])  # by looking at 59 of 1,900
    True
    """

    uses_margin: ClassVar[bool] = True
    uses_scores_only: ClassVar[bool] = True
    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "pool_size": constraints.NONE | constraints.integer_from(1)
    }

    def __init__(self, pool_size: int | None = 59, random_state: Any = None) -> None:
        self.pool_size = pool_size
        self.random_state = random_state
