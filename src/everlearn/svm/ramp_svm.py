"""RampSVM: the support vector machine with the ramp loss on all rows at once.

R. Collobert, F. Sinz, J. Weston, L. Bottou, "Trading Convexity for Scalability", ICML 2006; Z. Wang,
S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines", ICDM 2009.
"""

import sys
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import checked, constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.learner import KernelLearner
from .._base.merging import RowUnion
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from ._ramp_rounds import RampRounds

_VARIANTS = {"active_set": "shut", "cccp": "fold"}


@register
@complete
class RampSVM(RampRounds, ForgettingLearner):
    """Support vector machine with the ramp loss, learned from all rows at once, without a bias.

    Starts from the solution for the hinge loss, then solves it again for the rows within the ramp until these
    stay the same. The objective never rises; what is found is a local optimum. The reference for
    `OnlineSVMR`, and a robust SVM by itself.

    Parameters
    ----------
    variant : {"active_set", "cccp"}, default="active_set"
        Influence of rows outside the ramp. "active_set": none. "cccp": the opposite of their label, as in the
        exact linearization of the concave part of the loss. The solutions differ only if such a row ends up
        correct by more than the margin.
    max_iter : int, default=100
        Maximum number of rounds after the first, -1 for no limit.

    Attributes
    ----------
    objective_ : ndarray of shape (1,) or (n_classes,)
        The ramp-loss objective, 1/2 |w|^2 + C sum R(y f(x)), one for each binary problem.
    objectives_ : ndarray of shape (n_iter_, 1) or (n_iter_, n_classes)
        The same after the start and after each round.
    n_iter_ : int
        Hinge problems solved: the start, and one in each round.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import RampSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(500, random_state=0)
    >>> noisy = np.where(np.random.RandomState(0).rand(500) < 0.2, -y, y)
    >>> RampSVM(C=10).fit(X, noisy).score(X, y) > 0.95
    True
    """

    _solver = "ramp"
    _fitted_attributes = (*KernelLearner._fitted_attributes, "objectives_")
    _constraints: ClassVar[Table] = {
        "variant": constraints.one_of(*_VARIANTS),
        "max_iter": constraints.integer_from(-1),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        s: float = -1.0,
        variant: str = "active_set",
        max_iter: int = 100,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "RampSVM":
        """Learn from all rows at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is skipped.

        Returns
        -------
        RampSVM
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            rows, usable = self._take_all(X, y, sample_weight)
            self._configure()
            self.objectives_ = self._solve_gathered(rows, usable)
            self._machine.native.drop_idle()
            self._follow_machine()
        return self

    def _learn_union(self, union: RowUnion) -> None:
        self.objectives_ = self._solve_union(union)
        self._machine.native.drop_idle()
        self._follow_machine()

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        super()._resume(state, fitted)
        columns = len(self._machine.native.bias)
        checked.floats("objectives_", fitted["objectives_"], (None, columns))

    def _after_forgetting(self) -> None:
        self.objectives_ = self._rounds()

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "tau": float(self.tol),
            "min_gain": 0.0,  # of single rows, which come online only
            "s": float(self.s),
            "min_support": 0,
            "max_idle": sys.maxsize,
            "outside": _VARIANTS[self.variant],
        }

    @property
    def objective_(self) -> npt.NDArray[np.float64]:
        """The ramp-loss objective, one for each binary problem."""
        self._fitted()
        return np.asarray(self.objectives_[-1])

    @property
    def n_iter_(self) -> int:
        """Hinge problems solved: the start, and one in each round."""
        self._fitted()
        return len(self.objectives_)
