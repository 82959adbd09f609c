"""OPAUC: one-pass AUC optimization, without keeping a row.

W. Gao, R. Jin, S. Zhu, Z.-H. Zhou, "One-Pass AUC Optimization", ICML 2013.
"""

from typing import Any, ClassVar

from .._base import constraints
from .._base.docs import complete
from .._base.parameters import Table
from .._base.persist import register
from ._linear import LinearAUC

_MOST_WHOLE, _USUAL_RANK = 500, 50


@register
@complete
class OPAUC(LinearAUC):
    """Linear learner that ranks the rows of one class above those of the other and keeps none of them.

    The square loss of a row against all rows of the other class has a gradient that needs their mean and
    covariance only, which are updated row by row. It forgets by replay only: no row is kept.

    Parameters
    ----------
    learning_rate : float, default=0.01
        Learning rate. Large values diverge; 0.01 to 0.1 are safe for features that are standardized or
        between 0 and 1.
    alpha : float, default=0.0
        Strength of the regularization.
    rank : int, "full" or "auto", default="auto"
        "full" keeps the whole covariance of each class, O(d^2) numbers for d features; a number keeps a
        random sketch of that rank instead, O(d rank). "auto" is "full" up to 500 features and 50 above.
    random_state : int, RandomState instance or None, default=None
        Determines the sketch, and the order of the rows in `fit`.

    Attributes
    ----------
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Minus the score halfway between those of the means of both classes. The order of the scores does not
        depend on it; `predict` does.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> from everlearn import OPAUC
    >>> from everlearn.datasets import make_waveform
    >>> X, y = make_waveform(3000, random_state=0)
    >>> one = y == y.min()
    >>> clf = OPAUC(learning_rate=0.001).partial_fit(X[:2000], one[:2000], classes=[False, True])
    >>> bool(roc_auc_score(one[2000:], clf.decision_function(X[2000:])) > 0.9)
    True
    """

    _machine_name = "opauc"
    _constraints: ClassVar[Table] = {
        "learning_rate": constraints.POSITIVE,
        "alpha": constraints.NOT_NEGATIVE,
        "rank": constraints.one_of("auto", "full") | constraints.integer_from(1),
    }

    def __init__(
        self,
        learning_rate: float = 0.01,
        alpha: float = 0.0,
        *,
        rank: int | str = "auto",
        epochs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _make_spec(self, width: int, classes: int) -> dict[str, int]:
        rank = self.rank
        if isinstance(rank, str):
            rank = 0 if rank == "full" or width <= _MOST_WHOLE else _USUAL_RANK
        return super()._make_spec(width, classes) | {"rank": int(rank)}

    def _parameters(self) -> dict[str, Any]:
        return {"eta": float(self.learning_rate), "penalty": float(self.alpha)}
