"""KOIL: kernelized online imbalanced learning with fixed budgets.

J. Hu, H. Yang, I. King, M. Lyu, A. So, "Kernelized Online Imbalanced Learning with Fixed Budgets", AAAI 2015.
"""

from typing import Any, ClassVar

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OPEN_UNIT, OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import SHARED, KernelParameter, Table
from .._base.persist import register


@register
@complete
class KOIL(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Rank the rows of one class above those of the other, with a fixed number of kept rows for each.

    Each class has a buffer. A row is compared with those of the other class: the nearest ones that it does
    not outrank by a margin, at most `n_neighbors`, are pushed away, and it joins its own buffer. So a rare
    class has as much room as a frequent one. What is learned is the order of the scores (AUC), which does not
    depend on how rare a class is.

    Parameters
    ----------
    budget : int or None, default=100
        Maximum number of rows kept of each class, for each binary problem; None is no limit.
    replacement : {"rs++", "fifo++", "rs", "fifo"}, default="rs++"
        What a full buffer does. "rs" is reservoir sampling: a random sample of all rows of the class. "fifo"
        keeps the most recent rows, which follows concept drift. With "++" the nearest neighbor in the buffer
        inherits the coefficient of a dropped row (compensation).
    n_neighbors : int, default=10
        Maximum number of rows of the other class that a row updates. Small numbers are more robust to noise.
    C : float, default=1.0
        Cost of a pair in the wrong order.
    learning_rate : float, default=0.01
        Learning rate, between 0 and 1: every row shrinks all coefficients by the factor 1 - learning_rate.
    neighbors_of : {"violators", "all"}, default="violators"
        Where to search for the nearest rows of the other class. "violators": among those that are not
        outranked, as the authors' program does. "all": among all, as their slides say; of those found, the
        ones that are not outranked count.
    literal : bool, default=False
        Whether to follow the slides exactly: the very first row has coefficient 0, and rows with coefficient
        0 are kept.
    weighted_C : bool, default=False
        Whether C is multiplied by the number of rows of the other class so far divided by `budget`, if that
        is above 1.
    random_state : int, RandomState instance or None, default=None
        Determines which rows a reservoir keeps, and the order of the rows in `fit`.

    Attributes
    ----------
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Minus the score halfway between the mean scores of the kept rows of both classes. The order of the
        scores does not depend on it; `predict` does.
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Number of rows on the wrong side of 0, without the intercept, when they arrived.

    Notes
    -----
    With small buffers, compensation may hurt; "rs" without it loses much once the buffers are full.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> from everlearn import KOIL
    >>> from everlearn.datasets import make_waveform
    >>> X, y = make_waveform(3000, random_state=0)
    >>> one = y == y.min()
    >>> clf = KOIL(budget=50, gamma=0.05, random_state=0)
    >>> clf = clf.partial_fit(X[:2000], one[:2000], classes=[False, True])
    >>> clf.n_kept_, bool(roc_auc_score(one[2000:], clf.decision_function(X[2000:])) > 0.95)
    (100, True)
    """

    _solver = "koil"
    _mergeable = False  # its buffers hold each class apart
    class_weight = None  # not a parameter: a pair has a row of each class
    _constraints: ClassVar[Table] = {
        "budget": constraints.NONE | SHARED["budget"],
        "replacement": constraints.one_of("rs++", "fifo++", "rs", "fifo"),
        "n_neighbors": constraints.integer_from(1),
        "learning_rate": OPEN_UNIT,
        "neighbors_of": constraints.one_of("violators", "all"),
        "literal": constraints.BOOLEAN,
        "weighted_C": constraints.BOOLEAN,
    }

    def __init__(
        self,
        budget: int | None = 100,
        replacement: str = "rs++",
        n_neighbors: int = 10,
        C: float = 1.0,
        learning_rate: float = 0.01,
        *,
        neighbors_of: str = "violators",
        literal: bool = False,
        weighted_C: bool = False,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        epochs: int = 1,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "eta": float(self.learning_rate),
            "budget": limit(self.budget),
            "neighbors": int(self.n_neighbors),
            "victim": "random" if self.replacement.startswith("rs") else "oldest",
            "compensates": self.replacement.endswith("++"),
            "nearest_first": self.neighbors_of == "all",
            "literal": bool(self.literal),
            "weighted": bool(self.weighted_C),
        }
