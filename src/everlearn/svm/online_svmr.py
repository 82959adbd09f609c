"""OnlineSVMR: an SVM with the ramp loss, optimal on the rows kept after every row.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines", ICDM 2009.
"""

import sys
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.merging import RowUnion
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from ._ramp_rounds import RampRounds


@register
@complete
class OnlineSVMR(RampRounds, OnlineLearner, StreamLearner, ForgettingLearner):
    """Online support vector machine that satisfies the conditions of the ramp-loss optimum after every row.

    The ramp loss is the hinge loss, cut off at ``1 - s``: a row far on the wrong side does not affect the
    model. Which rows these are changes with the model: rows that leave the ramp are forgotten, rows that come
    back are learned. There is no bias. Ask for labels with `everlearn.query.RampRegion` to learn only rows
    within the ramp.

    Forgetting: after `forget` the conditions of the ramp-loss optimum hold again on the rows still kept. That
    is a local optimum, so that it may differ from the one of a model that never saw the forgotten rows.

    Parameters
    ----------
    min_gain : float, default=1e-5
        Steps that increase the dual objective by less are skipped. The number is for kernels with K(x, x) = 1
        and is divided by the largest K(x, x) where that is above 1.
    min_support : int, default=20
        Minimum number of support vectors on the side of a row's label before it can be outside the ramp, so
        that a stream that starts with one class does not exclude the other. The paper uses 0.
    max_idle : int, default=None
        Maximum number of rows kept that are not support vectors. If there are more, those farthest from the
        boundary are dropped after every row, so that time and memory for a row grow with the support vectors
        only. None keeps all.

    Attributes
    ----------
    objective_ : ndarray of shape (1,) or (n_classes,)
        The ramp-loss objective, 1/2 |w|^2 + C sum R(y f(x)), on the rows kept, one for each binary problem.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import OnlineSVMR
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> noisy = np.where(np.random.RandomState(0).rand(1000) < 0.2, -y, y)
    >>> clf = OnlineSVMR(C=10, max_idle=100).partial_fit(X, noisy, classes=[-1, 1])
    >>> clf.score(X, y) > 0.95
    True
    """

    _solver = "ramp"
    _constraints: ClassVar[Table] = {
        "min_gain": constraints.POSITIVE,
        "max_idle": constraints.NONE | constraints.integer_from(0),
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
        min_gain: float = 1e-5,
        class_weight: ClassWeight = None,
        s: float = -1.0,
        min_support: int = 20,
        max_idle: int | None = None,
        epochs: int = 1,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "tau": float(self.tol),
            "min_gain": float(self.min_gain),
            "s": float(self.s),
            "min_support": int(self.min_support),
            "max_idle": sys.maxsize if self.max_idle is None else int(self.max_idle),
            "outside": "shut",
        }

    def _learn_union(self, union: RowUnion) -> None:
        self._solve_union(union)
        self._follow_machine()

    @property
    def objective_(self) -> npt.NDArray[np.float64]:
        """The ramp-loss objective on the rows kept, one for each binary problem."""
        return np.asarray(self._of_machine("objective"))
