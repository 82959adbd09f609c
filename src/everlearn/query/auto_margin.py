"""AutoMargin: draw rows until a few lie within the margin, and select those nearest to the decision boundary.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 3.
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ..svm import LASVM
from ._pool import PoolQueryStrategy
from ._scores import decision_scores
from ._strategy import Utilities


class AutoMargin(PoolQueryStrategy):
    """Select the rows nearest to the decision boundary; draws until some lie within the margin.

    Rows are drawn one by one until a few of them lie within the margin, where the model can learn from them,
    or until a limit is reached. Of the rows drawn, the nearest to the boundary is selected. While many rows
    lie within the margin few are scored, later more.

    Parameters
    ----------
    n_within_margin : int, default=5
        How many rows within the margin to draw; n if more than that are selected at once.
    max_pool_size : int, default=100
        How many rows to draw at most.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw. With an int, the selection is a function of it, the pool, n and ``draw``; with a
        generator, of its current state, which is not advanced; with None it differs from call to call.

    Notes
    -----
    A row lies within the margin if |f(x)| < 1 + δ / 2; with more than two classes, if that holds for one of
    its scores. δ is the largest violation of the optimality conditions of `LASVM`, alone or as the last step
    of a ``Pipeline``: a row with |f(x)| below that bound may still lead to an update. For other models δ = 0.
    The model needs a ``decision_function`` whose scores are margins; probabilities are not.

    The utility of a row is minus its margin as in `Margin`, whether it lies within the margin or not. In case
    of ties the row drawn first is selected. No label is read.

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

    uses_margin: ClassVar[bool] = True
    _size_parameter: ClassVar[str | None] = "max_pool_size"
    _constraints: ClassVar[dict[str, constraints.Constraint]] = PoolQueryStrategy._constraints | {
        "n_within_margin": constraints.integer_from(1),
        "max_pool_size": constraints.integer_from(1),
    }

    def __init__(self, n_within_margin: int = 5, max_pool_size: int = 100, random_state: Any = None) -> None:
        self.n_within_margin = n_within_margin
        self.max_pool_size = max_pool_size
        self.random_state = random_state

    def searches_all(self, n_rows: int, n: int | None) -> bool:
        """Return False: where the drawing ends depends on the order.

        Parameters
        ----------
        n_rows : int
            The size of the pool.
        n : int or None
            The size of the batch.

        Returns
        -------
        bool
            False.
        """
        return False

    def _utilities(self, model: Any, X: Any) -> Utilities:
        return self.utilities_from_scores(_margin_scores(model, X))

    def _batch_utilities(self, model: Any, X: Any, n: int | None) -> Utilities:
        scores = _margin_scores(model, X)
        inside = (np.abs(scores) < 1 + violations(model) / 2).any(axis=1)
        last = np.flatnonzero(np.cumsum(inside) == max(int(self.n_within_margin), n or 0))
        return self.utilities_from_scores(scores[: last[0] + 1] if len(last) else scores)


def _margin_scores(model: Any, X: Any) -> npt.NDArray[np.float64]:
    """Scores that are margins, not probabilities."""
    if hasattr(model, "predict_proba") and not hasattr(model, "decision_function"):
        raise TypeError(
            f"AutoMargin needs a decision_function, which {type(model).__name__} does not have: it counts "
            "the rows with |f(x)| < 1, which is not defined for probabilities. Use Margin instead."
        )
    return decision_scores(model, X)


def violations(model: Any) -> Any:
    """The largest violation of the optimality conditions, for each column of `LASVM`; otherwise 0."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return last.violations() if isinstance(last, LASVM) else 0.0
