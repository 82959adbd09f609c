"""RBP: the randomized budget perceptron.

G. Cavallanti, N. Cesa-Bianchi, C. Gentile, "Tracking the Best Hyperplane with a Simple Budget Perceptron",
Machine Learning 69 (2007).
"""

from typing import Any, ClassVar

from .._base import constraints
from .._base.docs import complete
from .._base.one_pass import BUDGET, limit
from .._base.persist import register
from .perceptrons import ClassWeight, Kernel, KernelPerceptron


@register
@complete
class RBP(KernelPerceptron):
    """Randomized budget perceptron: a full buffer drops a row at random.

    Parameters
    ----------
    budget : int, default=200
        How many rows are kept at most, for each binary problem.
    random_state : int, RandomState instance or None, default=None
        Decides which rows are dropped, and the order of the rows in `fit`.

    Attributes
    ----------
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Rows that were on the wrong side when they came.

    Examples
    --------
    >>> from everlearn import RBP
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = RBP(budget=50, gamma=1, random_state=0).partial_fit(X, y, classes=[-1, 1])
    >>> clf.n_kept_
    50
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = KernelPerceptron._constraints | {
        "budget": BUDGET
    }

    def __init__(
        self,
        budget: int = 200,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            class_weight=class_weight,
            epochs=epochs,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.budget = budget

    def _solver_parameters(self) -> dict[str, Any]:
        return super()._solver_parameters() | {"budget": limit(self.budget), "overflow": "random"}
