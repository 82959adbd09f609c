"""Projectron: a mistake is projected onto the rows that are kept, if little is lost by it.

F. Orabona, J. Keshet, B. Caputo, "Bounded Kernel-Based Online Learning", JMLR 10 (2009).
"""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from .._base.docs import complete
from .._base.one_pass import BUDGET, OnePassLearner, limit
from .._base.persist import register
from .perceptrons import ClassWeight, Kernel


@register
@complete
class Projectron(OnePassLearner):
    """Kernel perceptron whose mistakes are projected onto the rows kept, unless that would lose too much.

    Parameters
    ----------
    budget : int or None, default=200
        How many rows are kept at most, for each binary problem; a full buffer projects whatever comes. None
        is no limit but that of `max_projection_error`.
    max_projection_error : float, default=0.1
        Largest projection error: a row joins if its distance from the span of the rows kept, in the space of
        the kernel, is larger. 0 keeps every mistake.

    Attributes
    ----------
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Rows that were on the wrong side when they came.
    n_projections_ : ndarray of shape (1,) or (n_classes,)
        How many of them were projected.

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
    _on_margin: ClassVar[bool] = False
    _constraints: ClassVar[dict[str, constraints.Constraint]] = OnePassLearner._constraints | {
        "budget": constraints.NONE | BUDGET,
        "max_projection_error": constraints.NOT_NEGATIVE,
    }

    def __init__(
        self,
        budget: int | None = 200,
        *,
        max_projection_error: float = 0.1,
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
        self.budget = budget
        self.max_projection_error = max_projection_error
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.class_weight = class_weight
        self.epochs = epochs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "eta": float(self.max_projection_error),
            "budget": limit(self.budget),
            "steps_on_margin": self._on_margin,
        }

    @property
    def n_projections_(self) -> npt.NDArray[np.int64]:
        """How many mistakes were projected, one number for each binary problem."""
        return np.asarray(self._fitted().native.projections)


@register
@complete
class ProjectronPP(Projectron):
    """Projectron++: rows on the right side but within the margin are learned too, by projection.

    They never join, so that it keeps no more rows than its mistakes ask for, and learns from more.

    Parameters
    ----------
    budget : int or None, default=200
        How many rows are kept at most, for each binary problem; a full buffer projects whatever comes. None
        is no limit but that of `max_projection_error`.
    max_projection_error : float, default=0.1
        Largest projection error, above 0: a mistake joins if its distance from the span of the rows kept, in
        the space of the kernel, is larger.

    Attributes
    ----------
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Rows that were on the wrong side when they came.
    n_projections_ : ndarray of shape (1,) or (n_classes,)
        How many of them were projected.
    n_margin_steps_ : ndarray of shape (1,) or (n_classes,)
        Rows within the margin that were learned.

    Examples
    --------
    >>> from everlearn import ProjectronPP
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = ProjectronPP(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _on_margin = True
    _constraints: ClassVar[dict[str, constraints.Constraint]] = Projectron._constraints | {
        "max_projection_error": constraints.POSITIVE
    }

    @property
    def n_margin_steps_(self) -> npt.NDArray[np.int64]:
        """Rows within the margin that were learned, one number for each binary problem."""
        return np.asarray(self._fitted().native.margin_steps)
