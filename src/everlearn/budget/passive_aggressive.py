"""KernelPA: the passive-aggressive learner with a kernel.

K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online Passive-Aggressive Algorithms", JMLR 7
(2006).
"""

from typing import Any, ClassVar

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OnePassLearner
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register


@register
@complete
class KernelPA(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Passive-aggressive classifier: a row within the margin changes the model as little as necessary.

    There is no budget: it grows with the rows within the margin.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: how far the model may move for one row. "PA" does not use it.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Coefficient that a row with the hinge loss ``l = max(0, 1 - y f(x))`` gets. "PA" makes the loss of the
        row 0, with ``l / K(x, x)``. "PA-I" limits this to C, which minimizes the change of f plus C times the
        loss. "PA-II" is ``l / (K(x, x) + 1 / (2 C))``, which minimizes the change of f plus C times the
        squared loss. Sample weights and class weights multiply C, so that "PA" only leaves out rows of
        weight 0.

        The names are those of the paper. In River's ``PAClassifier`` they are ``mode`` 0, 1 and 2, in
        scikit-learn's ``SGDClassifier`` PA-I and PA-II are ``learning_rate`` "pa1" and "pa2".

    Examples
    --------
    >>> from everlearn import KernelPA
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = KernelPA(C=0.5, gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.95
    True
    """

    _solver = "passive_aggressive"
    _constraints: ClassVar[Table] = {"variant": constraints.one_of("PA", "PA-I", "PA-II")}

    def __init__(
        self,
        C: float = 1.0,
        *,
        variant: str = "PA-I",
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
        return {"variant": self.variant}
