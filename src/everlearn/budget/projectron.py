"""Projectron: a misclassified row is projected onto the rows kept, if the projection error is small.

F. Orabona, J. Keshet, B. Caputo, "Bounded Kernel-Based Online Learning", JMLR 10 (2009).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import SHARED, ClassWeight, KernelParameter, Table
from .._base.persist import register


@register
@complete
class Projectron(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Kernel perceptron that projects misclassified rows onto the rows kept, unless the error is too large.

    Parameters
    ----------
    budget : int or None, default=200
        Maximum number of rows kept, for each binary problem; a full buffer projects every mistake. None:
        only `max_projection_error` limits the rows.
    max_projection_error : float, default=0.1
        A row is kept if its distance from the span of the rows kept, in the feature space of the kernel, is
        larger. 0 keeps every mistake.

    Attributes
    ----------
    n_projections_ : ndarray of shape (1,) or (n_classes,)
        Number of mistakes that were projected.

    Examples
    --------
    >>> from everlearn import Projectron
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = Projectron(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> bool(clf.n_kept_ < clf.n_mistakes_[0]), clf.score(X[1000:], y[1000:]) > 0.9
    (True, True)
    """

    _solver = "projectron"
    _constraints: ClassVar[Table] = {
        "budget": constraints.NONE | SHARED["budget"],
        "max_projection_error": constraints.NOT_NEGATIVE,
    }

    def __init__(
        self,
        budget: int | None = 200,
        *,
        max_projection_error: float = 0.1,
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
        eta = float(self.max_projection_error)
        return {"eta": eta, "budget": limit(self.budget), "steps_on_margin": False}

    @property
    def n_projections_(self) -> npt.NDArray[np.int64]:
        """Number of mistakes that were projected, one number for each binary problem."""
        return np.asarray(self._of_machine("projections"))


@register
@complete
class ProjectronPP(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Projectron++: it also learns, by projection, rows that are classified correctly but within the margin.

    Such rows are never kept: it keeps no more rows than its mistakes require, and learns from more.

    Parameters
    ----------
    budget : int or None, default=200
        Maximum number of rows kept, for each binary problem; a full buffer projects every mistake. None:
        only `max_projection_error` limits the rows.
    max_projection_error : float, default=0.1
        A mistake is kept if its distance from the span of the rows kept, in the feature space of the kernel,
        is larger. Above 0.

    Attributes
    ----------
    n_projections_ : ndarray of shape (1,) or (n_classes,)
        Number of mistakes that were projected.
    n_margin_steps_ : ndarray of shape (1,) or (n_classes,)
        Number of correct rows within the margin that were learned.

    Examples
    --------
    >>> from everlearn import ProjectronPP
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = ProjectronPP(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _solver = "projectron"
    _constraints: ClassVar[Table] = {
        "budget": constraints.NONE | SHARED["budget"],
        "max_projection_error": constraints.POSITIVE,
    }

    def __init__(
        self,
        budget: int | None = 200,
        *,
        max_projection_error: float = 0.1,
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
        eta = float(self.max_projection_error)
        return {"eta": eta, "budget": limit(self.budget), "steps_on_margin": True}

    @property
    def n_projections_(self) -> npt.NDArray[np.int64]:
        """Number of mistakes that were projected, one number for each binary problem."""
        return np.asarray(self._of_machine("projections"))

    @property
    def n_margin_steps_(self) -> npt.NDArray[np.int64]:
        """Number of correct rows within the margin that were learned, one number for each binary problem."""
        return np.asarray(self._of_machine("margin_steps"))
