"""LocalSVM: an SVM with the RBF kernel that changes only in the neighborhood of a new row.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning: Semi-Supervised, Online, and Active
Learning" (thesis, 2012), chapter VI. Neighbors that can make way, the bias of all free support vectors, full
passes, the storage budget, forgetting and a radius of two sigma instead of one are additions.
"""

import sys
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.online import FinishingLearner, OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, Table
from .._base.persist import register
from .._base.validate import Ints

_ABOVE_ZERO = constraints.Constraint(
    "a number above 0", lambda value: constraints.is_real(value) and value > 0
)


@register
@complete
class LocalSVM(FinishingLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Support vector machine with the RBF kernel, updated in the neighborhood of each new row.

    A row with y f(x) of 1 or more is kept and changes nothing. Any other is optimized together with its
    neighbors, while all other coefficients stay unchanged. From time to time all rows are optimized in a full
    pass. So the model is approximately the SVM of the rows kept: its optimality conditions hold to ``tol``
    within the last neighborhood, and everywhere after a full pass or `finish`. `forget` transfers the
    coefficients of rows to their neighbors, optimizes there and drops the rows. Multiclass is one-vs-rest on
    shared rows; rows that arrive before a second class are kept and learned when it appears.

    Parameters
    ----------
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernel, exp(-gamma |x - z|^2). "scale" is 1 / (n_features * X.var()), "auto" is
        1 / n_features; `partial_fit` computes it from its first block and keeps it.
    radius : float or "grow", default=2.0
        Radius of the neighborhood in units of sigma = 1 / sqrt(2 gamma). "grow" adds one nearest row per
        round until no coefficient changes by more than 0.001 C for three rounds. A radius of 2 came closer to
        the SVM of all rows than 1 or "grow".
    min_neighbors : int, default=50
        Minimum size of the neighborhood, in nearest rows. In many dimensions few rows, or none, are within
        the radius.
    full_pass_every : int, default=500
        Number of updates between two full passes. None makes no such passes.
    full_pass_tol : float, default=0.1
        A full pass is also made when a row outside of the neighborhood violates its optimality condition by
        more than this.
    full_pass_sample : int, default=50
        How many rows are drawn after each update to check that; 0 for none.
    finishing : {"kept"} or None, default="kept"
        Whether `fit` ends with `finish`.
    max_idle : int, default=None
        Maximum number of rows kept that are not support vectors. If there are more, rows with y f(x) above
        1.5 are dropped first, beginning with those unchanged for longest, then rows with the largest y f(x).
        None keeps all.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the rows in `fit`, and which rows are drawn to check whether a full pass is
        due.

    Attributes
    ----------
    n_updates_ : ndarray of shape (1,) or (n_classes,)
        Number of rows that changed the model when they arrived or were forgotten, for each binary problem.
    n_full_passes_ : ndarray of shape (1,) or (n_classes,)
        Full passes made between rows.
    mean_neighbors_ : ndarray of shape (1,) or (n_classes,)
        Mean size of the neighborhoods of these updates; 0 where there were none.

    Examples
    --------
    >>> from everlearn import LocalSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> clf = LocalSVM(C=10, random_state=0).fit(X[:500], y[:500])
    >>> clf = clf.partial_fit(X[500:], y[500:])
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.forget(range(200)).n_kept_
    800
    """

    _solver = "local"
    _has_bias = True
    _draws = True
    # Not parameters: distances are computed from kernel values, which takes this kernel.
    kernel, degree, coef0 = "rbf", 3, 0.0
    _constraints: ClassVar[Table] = {
        "radius": constraints.one_of("grow") | _ABOVE_ZERO,
        "min_neighbors": constraints.integer_from(0),
        "full_pass_every": constraints.NONE | constraints.integer_from(1),
        "full_pass_tol": constraints.POSITIVE,
        "full_pass_sample": constraints.integer_from(0),
        "max_idle": constraints.NONE | constraints.integer_from(0),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: str | float = "scale",
        radius: float | str = 2.0,
        min_neighbors: int = 50,
        full_pass_every: int | None = 500,
        full_pass_tol: float = 0.1,
        full_pass_sample: int = 50,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        finishing: str | None = "kept",
        max_idle: int | None = None,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        grows = self.radius == "grow"
        return {
            "tau": float(self.tol),
            "grows": grows,
            "radius": 0.0 if grows else float(self.radius),
            "min_neighbors": int(self.min_neighbors),
            "full_pass_every": 0 if self.full_pass_every is None else int(self.full_pass_every),
            "full_pass_tol": float(self.full_pass_tol),
            "full_pass_sample": int(self.full_pass_sample),
            "max_idle": sys.maxsize if self.max_idle is None else int(self.max_idle),
        }

    @property
    def n_updates_(self) -> Ints:
        """Number of rows that changed the model when they arrived or were forgotten, for each binary
        problem."""
        return np.asarray(self._fitted().native.updates)

    @property
    def n_full_passes_(self) -> Ints:
        """Full passes made between rows, for each binary problem."""
        return np.asarray(self._fitted().native.full_passes)

    @property
    def mean_neighbors_(self) -> npt.NDArray[np.float64]:
        """Mean size of the neighborhoods, for each binary problem."""
        return np.asarray(self._fitted().native.neighbors / np.maximum(self.n_updates_, 1))
