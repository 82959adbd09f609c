"""LASVM-G and its relatives: as much optimization as the duality gap asks for, and outliers kept out.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), chapter 6; S. Ertekin, L. Bottou, C. L. Giles,
"Nonconvex Online Support Vector Machines", IEEE TPAMI 33 (2011).
"""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.forget import NamingLearner
from .._base.learner import Ints
from .._base.online import FinishingLearner
from .._base.persist import register

Kernel = str | Callable[..., Any]
ClassWeight = dict[Any, float] | str | None


@register
@complete
class FullSVM(NamingLearner, FinishingLearner):
    """Online support vector machine without a bias that keeps every row.

    What `LASVMG` is measured against: the same steps, but no row is ever dropped, so that with
    ``finishing=True`` it is the exact SVM without a bias. Time and memory grow with the square of the stream;
    for anything long use `LASVMG`, `LASVMNC` or `LASVMI`.

    Attributes
    ----------
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Primal minus dual objective on the rows kept, one for each binary problem.

    Examples
    --------
    >>> from everlearn import FullSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(500, random_state=0)
    >>> clf = FullSVM(C=10, finishing=True, random_state=0).fit(X, y)
    >>> clf.n_kept_, bool(clf.duality_gap_[0] < 1)
    (500, True)
    """

    _solver = "gap"
    _ramp: ClassVar[str] = "none"

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        finishing: bool = False,
        cache_size: float = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.class_weight = class_weight
        self.epochs = epochs
        self.finishing = finishing
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solver_parameters(self) -> dict[str, Any]:
        # In the core's words: no ramp, never clean.
        return {
            "tau": float(self.tol),
            "ramp": self._ramp,
            "s": -np.inf,
            "min_support": 0,
            "clean_every": 0,
            "max_idle": 0,
        }

    def _unlearn(self, ids: Ints) -> None:
        capped = self._machine.native.capped
        super()._unlearn(ids)
        self._warn_if_capped(capped)
        if self.finishing and len(ids):
            self._optimize(self._machine.native.finish, "forgetting")
            self._warn_if_unsolved("Forgetting", stacklevel=3)

    @property
    def duality_gap_(self) -> npt.NDArray[np.float64]:
        """Primal minus dual objective on the rows kept, one for each binary problem."""
        return np.asarray(self._fitted().native.gap)


@register
@complete
class LASVMG(FullSVM):
    """Online support vector machine that optimizes until the duality gap is small enough.

    After each row, coefficients move until the gap between the primal and the dual objective is under its
    target: the cost C of one row, or the standard deviation of the sum of losses where that is larger. So the
    model is a good one after every row, and no work goes into fitting noise. They move one at a time, where a
    row takes many steps two at a time. There is no bias.

    Attributes
    ----------
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Primal minus dual objective on the rows kept, one for each binary problem.

    Examples
    --------
    >>> from everlearn import LASVMG
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> clf = LASVMG(C=10).partial_fit(X[:500], y[:500], classes=[-1, 1])
    >>> clf.score(X[500:], y[500:]) > 0.95
    True
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = FullSVM._constraints | {
        "clean_every": constraints.integer_from(1),
        "max_idle": constraints.integer_from(0),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        finishing: bool = False,
        clean_every: int = 300,
        max_idle: int = 100,
        cache_size: float = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            tol=tol,
            class_weight=class_weight,
            epochs=epochs,
            finishing=finishing,
            cache_size=cache_size,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.clean_every = clean_every
        self.max_idle = max_idle

    def _solver_parameters(self) -> dict[str, Any]:
        return super()._solver_parameters() | {
            "clean_every": int(self.clean_every),
            "max_idle": int(self.max_idle),
        }

    def _conclude(self) -> None:
        super()._conclude()
        if not self.finishing:
            self._drop_idle()

    def _drop_idle(self) -> None:
        self._machine.native.clean(0)
        if self._foreign is not None:
            self._foreign.keep(self._machine.native.ids)


class _RampLearner(LASVMG):
    """What `LASVMNC` and `LASVMI` share: a ramp that works once there are support vectors to judge by."""

    _constraints: ClassVar[dict[str, constraints.Constraint]] = LASVMG._constraints | {
        "s": constraints.RAMP_END,
        "min_support": constraints.integer_from(0),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Kernel = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        class_weight: ClassWeight = None,
        s: float = -1.0,
        min_support: int = 100,
        epochs: int = 1,
        finishing: bool = False,
        clean_every: int = 300,
        max_idle: int = 100,
        cache_size: float = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        super().__init__(
            C,
            kernel=kernel,
            degree=degree,
            gamma=gamma,
            coef0=coef0,
            tol=tol,
            class_weight=class_weight,
            epochs=epochs,
            finishing=finishing,
            clean_every=clean_every,
            max_idle=max_idle,
            cache_size=cache_size,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.s = s
        self.min_support = min_support

    def _solver_parameters(self) -> dict[str, Any]:
        return super()._solver_parameters() | {"s": float(self.s), "min_support": int(self.min_support)}


@register
@complete
class LASVMNC(_RampLearner):
    """Online support vector machine with the ramp loss: outliers do not become support vectors.

    `LASVMG`, but a row that arrives far on the wrong side of the boundary, ``y f(x) < s``, is taken for an
    outlier: its coefficient may not pull the boundary over to it. On noisy labels the model is much sparser,
    about as accurate as with the hinge loss. The decision about a row is never revised; `OnlineSVMR` revises
    it.

    Parameters
    ----------
    min_support : int, default=100
        Support vectors before a row can be an outlier, a tenth of them on the side of its label. Until then
        the loss is the hinge.

    Attributes
    ----------
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Primal minus dual objective on the rows kept, one for each binary problem.
    n_outliers_ : ndarray of shape (1,) or (n_classes,)
        Rows that were taken for outliers, one number for each binary problem.

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

    @property
    def n_outliers_(self) -> Ints:
        """Rows that were taken for outliers, one number for each binary problem."""
        return np.asarray(self._fitted().native.outliers)


@register
@complete
class LASVMI(_RampLearner):
    """Online support vector machine that looks only at rows within the ramp: the fastest on long streams.

    `LASVMG`, but a row that arrives outside of the ramp, right already (``y f(x) > 1``) or far on the wrong
    side (``y f(x) < s``), is not kept at all. Most rows of a stream are then only scored.

    Parameters
    ----------
    min_support : int, default=100
        Support vectors before a row can be passed over, a tenth of them on the side of its label. Until then
        every row is learned.

    Attributes
    ----------
    duality_gap_ : ndarray of shape (1,) or (n_classes,)
        Primal minus dual objective on the rows kept, one for each binary problem.
    n_skipped_ : ndarray of shape (1,) or (n_classes,)
        Rows that were passed over, one number for each binary problem.

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

    @property
    def n_skipped_(self) -> Ints:
        """Rows that were passed over, one number for each binary problem."""
        return np.asarray(self._fitted().native.skipped)
