"""RBP: the randomized budget perceptron.

G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the Best Hyperplane with a Simple Budget Perceptron",
Machine Learning 69 (2007).
"""

from typing import Any

from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter
from .._base.persist import register


@register
@complete
class RBP(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Randomized budget perceptron: a full buffer drops a random row.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Determines which rows are dropped, and the order of the rows in `fit`.

    Examples
    --------
    >>> from everlearn import RBP
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = RBP(budget=50, gamma=1, random_state=0).partial_fit(X, y, classes=[-1, 1])
    >>> clf.n_kept_
    50
    """

    _solver = "perceptron"

    def __init__(
        self,
        budget: int = 200,
        *,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {"margin": 0.0, "budget": limit(self.budget), "overflow": "random", "averaging": "none"}
