"""AutoMargin: ask about the row nearest to the boundary, of as many drawn as it takes.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ..svm import LASVM
from ._pool import PoolQueryStrategy, Worth
from ._scores import decision_scores, margins


class AutoMargin(PoolQueryStrategy):
    """Ask about the row nearest to the boundary, of as many drawn as it takes to find some within the margin.

    Rows are drawn one by one until a few of them lie within the margin, where the model can learn from them,
    or a limit is reached; of those drawn the one nearest to the boundary is taken. While many rows lie
    within the margin it looks at few, later at more.

    Parameters
    ----------
    n_within_margin : int, default=5
        How many rows within the margin to draw. If more are asked for at a time, so many.
    max_pool_size : int, default=100
        How many rows to draw at most.
    random_state : int, RandomState instance or None, default=None
        Decides the draw. With an int the answer is a function of it, of the pool, of n and of ``draw``; with
        a generator, of its present state, which stays as it is; with None it differs from call to call.

    Notes
    -----
    A row lies within the margin if |f(x)| < 1 + δ / 2, with more than two classes if that holds for one of
    the scores. δ is the largest violation of `LASVM`, by itself or at the end of a ``Pipeline``: a row of
    either label that lies there may still make a step. Other models have δ = 0. A model needs a
    ``decision_function`` whose scores are margins: probabilities are not.

    The utility of a row is minus its margin as in `Margin`, whether it lies within or not. Of equal rows the
    first drawn is taken. No label is read.

    References
    ----------
    S. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, thesis, 2009.

    Examples
    --------
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.query import AutoMargin
    >>> X, y = make_banana(2000, random_state=0)
    >>> model = LASVM(C=10, gamma=1, random_state=0).fit(X[:100], y[:100])
    >>> asked = AutoMargin(random_state=0).query(model, X[100:])
    >>> bool(abs(model.decision_function(X[100:])[asked]).max() < 1)
    True
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "n_within_margin": constraints.integer_from(1),
        "max_pool_size": constraints.integer_from(1),
    }
    _size_name: ClassVar[str | None] = "max_pool_size"

    def __init__(self, n_within_margin: int = 5, max_pool_size: int = 100, random_state: Any = None) -> None:
        self.n_within_margin = n_within_margin
        self.max_pool_size = max_pool_size
        self.random_state = random_state

    def _size(self, n: int | None) -> int | None:
        return int(self.max_pool_size)

    def _searches_all(self, rows: int, n: int | None) -> bool:
        return False  # where the drawing ends depends on the order

    def _worth(self, model: Any, X: Any) -> Worth:
        return 0.0 - margins(_margin_scores(model, X))

    def _judged(self, model: Any, X: Any, n: int | None) -> Worth:
        scores = _margin_scores(model, X)
        inside = (np.abs(scores) < 1 + _violations(model) / 2).any(axis=1)
        enough = np.flatnonzero(np.cumsum(inside) == max(int(self.n_within_margin), n or 0))
        return 0.0 - margins(scores[: enough[0] + 1] if len(enough) else scores)


def _margin_scores(model: Any, X: Any) -> npt.NDArray[np.float64]:
    """Scores that are margins, not probabilities."""
    name = type(model).__name__
    if hasattr(model, "predict_proba") and not hasattr(model, "decision_function"):
        raise TypeError(
            f"AutoMargin needs a decision_function, which {name} does not have: it counts the rows within "
            "the margin, |f(x)| < 1, and probabilities have none. Take Margin instead."
        )
    return decision_scores(model, X)


def _violations(model: Any) -> Any:
    """Largest violation of each column of LASVM, otherwise 0."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return last._machine.native.delta if isinstance(last, LASVM) else 0.0
