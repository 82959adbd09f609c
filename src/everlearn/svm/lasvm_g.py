"""LASVM-G and its relatives: optimization as far as the duality gap requires, and limited outliers.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 6; S. Ertekin, L. Bottou, C. L. Giles,
"Nonconvex Online Support Vector Machines", IEEE TPAMI 33 (2011).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.exact import ExactLearner
from .._base.forget import ForgettingLearner
from .._base.learner import KernelLearner
from .._base.merging import RowUnion, stack_machines
from .._base.online import FinishingLearner, OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from .._base.validate import Ints

_CLEANING: Table = {"max_idle": constraints.integer_from(0)}


class _GapSolver(FinishingLearner):
    """The native solver of all four learners; they differ in their loss and in whether rows are dropped."""

    _solver = "gap"
    _mergeable: ClassVar[bool] = True
    _ramp: ClassVar[str] = "none"
    # Of a learner that has no such parameter: the hinge loss, and every row is kept.
    s: float = -np.inf
    min_support: int = 0
    clean_every: int = 0
    max_idle: int = 0

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "tau": float(self.tol),
            "ramp": self._ramp,
            "s": float(self.s),
            "min_support": int(self.min_support),
            "clean_every": int(self.clean_every),
            "max_idle": int(self.max_idle),
            "reserve": self._reserve_size(),
        }

    def _reserve_size(self) -> int:
        return 0

    def _learn_union(self, union: RowUnion) -> None:
        """Rows keep their boxes: an outlier stays one."""
        stack_machines(self, union)
        self._finish_stream("merging")
        self._warn_if_unsolved("Merging", stacklevel=4)
        self._drop_idle()
        self._follow_machine()

    def _after_forgetting(self) -> None:
        if self.finishing:
            self._finish_stream("forgetting")
            self._warn_if_unsolved("Forgetting", stacklevel=3)

    def _drop_idle(self) -> None:
        if self.clean_every:
            self._machine.native.clean(0)

    @property
    def duality_gap_(self) -> npt.NDArray[np.float64]:
        """Primal minus dual objective on the rows kept, one for each binary problem."""
        return np.asarray(self._of_machine("gap"))


@register
@complete
class FullSVM(_GapSolver, OnlineLearner, StreamLearner, ForgettingLearner):
    """Online support vector machine without a bias that keeps every row.

    The reference for `LASVMG`: the same steps, but no row is ever dropped, so that `fit` and `finish` lead to
    the exact SVM without a bias. Time and memory grow with the square of the stream; for long streams use
    `LASVMG`, `LASVMNC` or `LASVMI`.

    Parameters
    ----------
    finishing : {"kept"} or None, default="kept"
        How `fit` ends: "kept" is `finish`, None ends with the last row.

    Examples
    --------
    >>> from everlearn import FullSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(500, random_state=0)
    >>> clf = FullSVM(C=10, random_state=0).fit(X, y)
    >>> clf.n_kept_, bool(clf.duality_gap_[0] < 1)
    (500, True)
    """

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
        epochs: int = 1,
        finishing: str | None = "kept",
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())


@register
@complete
class LASVMG(ExactLearner, _GapSolver, OnlineLearner, StreamLearner, ForgettingLearner):
    """Online support vector machine that optimizes until the duality gap is small enough.

    After each row, coefficients move until the gap between the primal and the dual objective is below its
    target: the cost C of one row, or the standard deviation of the sum of losses where that is larger. So the
    model is usable after every row, and no work goes into fitting noise. Coefficients move one at a time, or
    in pairs where a row takes many steps. There is no bias. `fit` ends with the exact SVM of all rows.

    Parameters
    ----------
    finishing : {"all", "kept"} or None, default="all"
        How `fit` ends. "all" solves the SVM of all rows. "kept" solves that of the rows kept. None ends with
        the last row, where the duality gap is small enough; with one epoch that is the paper's algorithm.
    reserve : int, default=1000
        Number of dropped rows that stay in memory: those nearest to the margin when they were dropped.
        `finish`, and `forget` unless ``finishing=None``, take those back that the model needs after all. 0
        keeps none; a callable kernel and "precomputed" have no reserve.

    Attributes
    ----------
    n_rounds_ : int
        Rounds in which the last `fit` learned rows again that it had dropped; 0 unless ``finishing="all"``.

    Examples
    --------
    >>> from everlearn import LASVMG
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> clf = LASVMG(C=10).partial_fit(X[:500], y[:500], classes=[-1, 1])
    >>> clf.score(X[500:], y[500:]) > 0.95
    True
    """

    _constraints: ClassVar[Table] = _CLEANING | ExactLearner.EXACT
    _fitted_attributes = (*KernelLearner._fitted_attributes, "n_rounds_")

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
        epochs: int = 1,
        finishing: str | None = "all",
        reserve: int = 1000,
        clean_every: int = 300,
        max_idle: int = 100,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())


@register
@complete
class LASVMNC(_GapSolver, OnlineLearner, StreamLearner, ForgettingLearner):
    """Online support vector machine with the ramp loss: outliers do not become support vectors.

    `LASVMG`, but a row that arrives far on the wrong side of the boundary, ``y f(x) < s``, is treated as an
    outlier: its coefficient cannot move the boundary towards it. With label noise the model is much sparser,
    and about as accurate as with the hinge loss. The decision about a row is never revised; `OnlineSVMR`
    revises it.

    Parameters
    ----------
    min_support : int, default=100
        Minimum number of support vectors before a row can be an outlier, a tenth of them on the side of its
        label. Until then the loss is the hinge loss.

    Attributes
    ----------
    n_outliers_ : ndarray of shape (1,) or (n_classes,)
        Rows that were treated as outliers, one number for each binary problem.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import LASVMG, LASVMNC
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> noisy = np.where(np.random.RandomState(0).rand(2000) < 0.2, -y, y)
    >>> ramp = LASVMNC(C=10, random_state=0).fit(X, noisy)
    >>> hinge = LASVMG(C=10, random_state=0).fit(X, noisy)
    >>> bool(len(ramp.support_) < 0.6 * len(hinge.support_)), ramp.score(X, y) > 0.95
    (True, True)
    """

    _ramp = "fold"
    _constraints: ClassVar[Table] = _CLEANING

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
        min_support: int = 100,
        epochs: int = 1,
        finishing: str | None = None,
        clean_every: int = 300,
        max_idle: int = 100,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    @property
    def n_outliers_(self) -> Ints:
        """Rows that were treated as outliers, one number for each binary problem."""
        return np.asarray(self._of_machine("outliers"))


@register
@complete
class LASVMI(_GapSolver, OnlineLearner, StreamLearner, ForgettingLearner):
    """Online support vector machine that learns only rows within the ramp: the fastest on long streams.

    `LASVMG`, but a row that arrives outside of the ramp, correct already (``y f(x) > 1``) or far on the wrong
    side (``y f(x) < s``), is not kept at all. Most rows of a stream are then only scored.

    Parameters
    ----------
    min_support : int, default=100
        Support vectors before a row can be skipped, a tenth of them on the side of its label. Until then
        every row is learned.

    Attributes
    ----------
    n_skipped_ : ndarray of shape (1,) or (n_classes,)
        Rows that were skipped, one number for each binary problem.

    Examples
    --------
    >>> from everlearn import LASVMI
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = LASVMI(C=10, min_support=20, random_state=0).fit(X, y)
    >>> bool(clf.n_skipped_[0] > 1000), clf.score(X, y) > 0.95
    (True, True)
    """

    _ramp = "skip"
    _constraints: ClassVar[Table] = _CLEANING

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
        min_support: int = 100,
        epochs: int = 1,
        finishing: str | None = None,
        clean_every: int = 300,
        max_idle: int = 100,
        cache_size: float = 200,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    @property
    def n_skipped_(self) -> Ints:
        """Rows that were skipped, one number for each binary problem."""
        return np.asarray(self._of_machine("skipped"))
