"""Forgetron: a perceptron that drops its oldest row gradually enough for a mistake bound.

O. Dekel, S. Shalev-Shwartz, Y. Singer, "The Forgetron: A Kernel-Based Perceptron on a Budget", SIAM Journal
on Computing 37 (2008).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import row_norms

from .._base.docs import complete
from .._base.forget import ForgettingLearner, check_ids
from .._base.learner import LabeledRows
from .._base.one_pass import OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter
from .._base.persist import register
from .._base.validate import Rows


@register
@complete
class Forgetron(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Self-tuned Forgetron: a full buffer drops its oldest row, after all coefficients have shrunk enough.

    Attributes
    ----------
    deviation_ : ndarray of shape (1,) or (n_classes,)
        Total cost of dropping rows, Q in the paper: at most 15/32 of the mistakes.

    Notes
    -----
    The kernel of a row with itself, K(x, x), must be at most 1. Kernels such as "rbf" have that property for
    every row; for "linear" scale rows to unit length.

    Examples
    --------
    >>> from everlearn import Forgetron
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = Forgetron(budget=50, gamma=1).partial_fit(X, y, classes=[-1, 1])
    >>> clf.n_kept_, bool(clf.deviation_[0] <= 15 / 32 * clf.n_mistakes_[0])
    (50, True)
    """

    _solver = "perceptron"

    def __init__(
        self,
        budget: int = 200,
        *,
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
        return {"margin": 0.0, "budget": limit(self.budget), "overflow": "forget", "averaging": "none"}

    def _accept(
        self,
        X: Rows,
        labels: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
        ids: Any = None,
    ) -> LabeledRows:
        own = self._own_values(X, ids)
        if own.max() > 1 + 1e-6:
            raise ValueError(
                f"Forgetron needs K(x, x) of at most 1; row {int(own.argmax())} has {own.max():.4g}: scale "
                'rows to unit length, or choose kernel="rbf".'
            )
        return super()._accept(X, labels, weights, ids)

    def _takes_single_rows(self) -> bool:
        return self._machine.kernel.unit_diagonal and super()._takes_single_rows()

    def _own_values(self, X: Rows, ids: Any) -> npt.NDArray[np.float64]:
        """K(x, x)."""
        rows = X.shape[0]
        if self._foreign is not None:
            columns = self._rows_seen + np.arange(rows) if ids is None else check_ids(ids, rows)
            if self.kernel == "precomputed":  # a column that is not there is refused later
                columns = np.clip(columns, 0, X.shape[1] - 1)
            return self._foreign.own(X, columns)
        return self._machine.kernel.diagonal(np.asarray(row_norms(X, squared=True), dtype=np.float64))

    @property
    def deviation_(self) -> npt.NDArray[np.float64]:
        """Total cost of dropping rows, one number for each binary problem."""
        return np.asarray(self._of_machine("spent"))
