"""NORMA: stochastic gradient descent in the feature space of the kernel.

J. Kivinen, A. Smola, R. Williamson, "Online Learning with Kernels", IEEE Transactions on Signal Processing 52
(2004).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OPEN_UNIT, OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from .._base.validate import Array, Rows


@register
@complete
class NORMA(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Gradient descent on the regularized hinge loss, a row at a time; old rows fade and are dropped.

    Parameters
    ----------
    budget : int, default=200
        Maximum number of rows kept, for each binary problem; the oldest is dropped first.
    learning_rate : float, default=0.1
        Learning rate; ``learning_rate * alpha`` must be below 1.
    alpha : float, default=0.01
        Strength of the regularization: every row shrinks all coefficients by the factor 1 - learning_rate *
        alpha.
    rho : float, default=1.0
        The margin: a row with y f(x) below it is kept. If `nu` is given, the initial margin.
    nu : float, default=None
        Adapt the margin so that in the long run this fraction of the rows is kept.
    decay_learning_rate : bool, default=False
        Whether the learning rate decreases as learning_rate / sqrt(t). Early coefficients are then larger
        than later ones, so the oldest row, which is dropped, is not the least important.
    fit_intercept : bool, default=False
        Whether there is a bias.

    Attributes
    ----------
    rho_ : ndarray of shape (1,) or (n_classes,)
        The margins.

    Examples
    --------
    >>> from everlearn import NORMA
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = NORMA(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _solver = "norma"
    _constraints: ClassVar[Table] = {
        "learning_rate": constraints.POSITIVE,
        "alpha": constraints.NOT_NEGATIVE,
        "rho": constraints.NOT_NEGATIVE,
        "nu": constraints.NONE | OPEN_UNIT,
        "decay_learning_rate": constraints.BOOLEAN,
        "fit_intercept": constraints.BOOLEAN,
    }

    def __init__(
        self,
        budget: int = 200,
        *,
        learning_rate: float = 0.1,
        alpha: float = 0.01,
        rho: float = 1.0,
        nu: float | None = None,
        decay_learning_rate: bool = False,
        fit_intercept: bool = False,
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

    def _start(self, X: Rows, classes: Array) -> None:
        super()._start(X, classes)
        self._machine.native.set_margin(float(self.rho))

    def _configure(self) -> None:
        super()._configure()
        if self.nu is None:  # otherwise the margin adapts by itself
            self._machine.native.set_margin(float(self.rho))

    def _solver_parameters(self) -> dict[str, Any]:
        if self.learning_rate * self.alpha >= 1:
            raise ValueError(
                f"learning_rate={self.learning_rate} and alpha={self.alpha} make 1 - learning_rate * alpha "
                f"{1 - self.learning_rate * self.alpha:.3g}, which must be above 0: "
                "choose a smaller learning_rate."
            )
        return {
            "eta": float(self.learning_rate),
            "penalty": float(self.alpha),
            "decays": bool(self.decay_learning_rate),
            "nu": -1.0 if self.nu is None else float(self.nu),
            "has_bias": bool(self.fit_intercept),
            "budget": limit(self.budget),
        }

    @property
    def rho_(self) -> npt.NDArray[np.float64]:
        """The margins, one for each binary problem."""
        return np.asarray(self._of_machine("margin"))
