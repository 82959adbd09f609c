"""Forgetron: a perceptron that forgets its oldest row gently enough to have a mistake bound.

O. Dekel, S. Shalev-Shwartz, Y. Singer, "The Forgetron: A Kernel-Based Perceptron on a Budget", SIAM Journal
on Computing 37 (2008).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.extmath import row_norms

from .._base.docs import complete
from .._base.forget import check_ids
from .._base.learner import Ints, LabeledRows
from .._base.persist import register
from .._base.validate import Array, Rows
from .rbp import RBP


@register
@complete
class Forgetron(RBP):
    """Self-tuned Forgetron: a full buffer drops its oldest row, once all coefficients have shrunk enough.

    Parameters
    ----------
    budget : int, default=200
        How many rows are kept at most, for each binary problem.

    Attributes
    ----------
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Rows that were on the wrong side when they came.
    deviation_ : ndarray of shape (1,) or (n_classes,)
        What forgetting has cost so far, Q in the paper: at most 15/32 of the mistakes.

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

    def _solver_parameters(self) -> dict[str, Any]:
        return super()._solver_parameters() | {"overflow": "forget"}

    def _accept(
        self,
        X: Rows,
        y: Array,
        labels: npt.NDArray[np.int32],
        sample_weight: Any,
        ids: Ints | None = None,
    ) -> LabeledRows:
        own = self._own_values(X, ids)
        if own.max() > 1 + 1e-6:
            raise ValueError(
                f"The kernel of row {int(own.argmax())} with itself is {own.max():.4g}; Forgetron needs at "
                'most 1: scale the rows to unit length, or take kernel="rbf".'
            )
        return super()._accept(X, y, labels, sample_weight, ids)

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
        """What forgetting has cost so far, one number for each binary problem."""
        return np.asarray(self._fitted().native.spent)
