"""OAM: online AUC maximization with a sample of each class.

P. Zhao, S. Hoi, R. Jin, T. Yang, "Online AUC Maximization", ICML 2011.
"""

from typing import Any

from .._base.docs import complete
from .._base.persist import register
from ._linear import LinearAUC


@register
@complete
class OAM(LinearAUC):
    """Linear learner that ranks the rows of one class above those of the other, with a sample of each kept.

    A row is paired with each kept row of the other class, and each pair in the wrong order, or too near to
    it, makes a passive-aggressive step. The samples are uniform over all rows of a class (reservoir
    sampling). Memory is fixed: 2 `budget` rows for each binary problem. It forgets by replay only: a row has
    changed the weights, whether it is kept or not.

    Parameters
    ----------
    budget : int, default=100
        Maximum number of rows kept of each class, for each binary problem.
    C : float, default=1.0
        Maximum step for a pair. It is multiplied by the number of rows of the other class so far divided by
        `budget`, if that is above 1.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are kept, and the order of the rows in `fit`.

    Attributes
    ----------
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Minus the score halfway between the mean scores of the kept rows of both classes. The order of the
        scores does not depend on it; `predict` does.

    Examples
    --------
    >>> from sklearn.metrics import roc_auc_score
    >>> from everlearn import OAM
    >>> from everlearn.datasets import make_waveform
    >>> X, y = make_waveform(3000, random_state=0)
    >>> one = y == y.min()
    >>> clf = OAM(C=0.01, random_state=0).partial_fit(X[:2000], one[:2000], classes=[False, True])
    >>> bool(roc_auc_score(one[2000:], clf.decision_function(X[2000:])) > 0.9)
    True
    """

    _machine_name = "oam"

    def __init__(
        self,
        budget: int = 100,
        C: float = 1.0,
        *,
        epochs: int = 1,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _parameters(self) -> dict[str, Any]:
        return {"C": float(self.C), "budget": int(self.budget)}
