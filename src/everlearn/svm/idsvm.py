"""IDSVM: an exact SVM that learns and forgets one row at a time.

G. Cauwenberghs, T. Poggio, "Incremental and Decremental Support Vector Machine Learning", NIPS 13 (2000);
W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter VI.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .._base import checked, constraints
from .._base.decision import svc_kernel
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.kernels import is_built_in, kernel_named
from .._base.learner import KernelLearner, LabeledRows, balanced_weights
from .._base.merging import RowUnion, begin, problem_of
from .._base.online import StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register
from .._base.validate import Ints, encode_labels
from .leave_one_out import LeaveOneOut

_ROWS_PER_CALL = 64  # between two calls of the core Python can stop on Ctrl-C and show progress
_NOBODY = np.iinfo(np.int64).min  # the id of a row that was forgotten


@register
@complete
class IDSVM(StreamLearner, ForgettingLearner):
    """Exact support vector machine that learns, forgets and relabels rows one at a time.

    After every call it is, up to rounding, the SVM that training from scratch on the rows kept would give: a
    forgotten row leaves no trace. All rows are kept, because each may become a support vector once others are
    gone; ``window`` keeps only the last ones. A change takes time proportional to the number of rows times
    the number of support vectors at the margin, and needs the kernel values between these in memory. Suited
    to about 10,000 rows; for more, see `LASVM`, and `LocalSVM` for approximate changes.

    Kernels must be positive semi-definite. "sigmoid" and kernels of your own may not be: if a row shows that
    they are not, it is refused, and the model is unchanged.

    Parameters
    ----------
    window : int, default=None
        Number of rows to keep: a row beyond it makes the model forget the oldest one. None keeps all.
    cache_size : float, default=200
        Memory for kernel values, in megabytes. Values between the support vectors at the margin and all rows
        are always in memory; the others make changes faster.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        The ids of the support vectors.
    ids_ : ndarray of shape (n_kept_,)
        The ids of the rows kept, in order of arrival.
    n_kept_ : int
        Number of rows kept: all that arrived and were not forgotten.
    n_margin_ : ndarray of shape (1,) or (n_classes,)
        Number of support vectors on the margin, whose coefficients are strictly between their bounds.
    objective_ : ndarray of shape (1,) or (n_classes,)
        The dual objective, one for each binary problem.
    residual_ : float
        The largest violation of an optimality condition.
    n_refreshes_ : int
        How often everything was recomputed from the coefficients, to limit rounding errors.
    n_fallbacks_ : int
        How often rounding errors made the solver cycle, and the solution was computed from scratch.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn import IDSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(300, random_state=0)
    >>> clf = IDSVM(C=10).fit(X, y)
    >>> before = clf.decision_function(X)

    A row is learned, and forgotten without a trace:

    >>> clf = clf.partial_fit([[0.0, 0.0]], [1], ids=[1000])
    >>> clf = clf.forget(1000)
    >>> bool(np.allclose(clf.decision_function(X), before, rtol=0, atol=1e-8))
    True

    A label is corrected, and the error on new rows is estimated without a test set:

    >>> clf = clf.relabel([7], [-y[7]]).relabel([7], [y[7]])
    >>> clf.leave_one_out().error < 0.1
    True
    """

    forgetting = "exact"
    _mergeable: ClassVar[bool] = True
    _solver = "incremental"
    _has_bias = True
    _exact = True
    _rows_per_call = _ROWS_PER_CALL
    _weights: list[float] | None = None  # of the classes, at the last call that learned
    _fitted_attributes = (*KernelLearner._fitted_attributes, "_weights")
    _constraints: ClassVar[Table] = {"window": constraints.NONE | constraints.integer_from(1)}

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        window: int | None = None,
        cache_size: float = 200,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {"window": 0 if self.window is None else int(self.window), "check_definite": self._cautious()}

    def _cautious(self) -> bool:
        """Whether the kernel may turn out not to be positive semi-definite."""
        return not (is_built_in(self.kernel) and kernel_named(self.kernel, coef0=self.coef0).definite)

    def _configure(self) -> None:
        super()._configure()
        self._machine.native.set_limit(int(self.cache_size * 2**20))

    # --------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> "IDSVM":
        """Learn from scratch: solve for all rows at once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is skipped.
        ids : array-like of int of shape (n_samples,), default=None
            Ids by which rows can be forgotten; None numbers them from 0.

        Returns
        -------
        IDSVM
            The learner itself.
        """
        return self._fit(X, y, sample_weight, ids, None)

    @classmethod
    def from_svm(cls, svm: Any, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> "IDSVM":
        """Continue from another SVM: its coefficients are the start for the exact solution.

        Parameters
        ----------
        svm : LASVM or sklearn.svm.SVC
            The fitted SVM, whose parameters are copied. An `SVC` must have two classes: with more, it is
            one-vs-one, and `IDSVM` is one-vs-rest.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows on which it was fitted, in the order in which it saw them. All are needed, not only its
            support vectors: once a row has been forgotten another one may matter.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        ids : array-like of int of shape (n_samples,), default=None
            Ids by which rows can be forgotten; None numbers them from 0.

        Returns
        -------
        IDSVM
            The exact SVM.
        """
        check_is_fitted(svm)
        taken = {name: value for name, value in svm.get_params().items() if name in _params_of(cls)}
        learner = cls(**taken)
        if is_built_in(svm.kernel):  # of the rows from which it was computed
            learner.gamma = svm.gamma_ if isinstance(svm, KernelLearner) else float(svc_kernel(svm).gamma)
        return learner._fit(X, y, sample_weight, ids, svm)

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, start: Any) -> "IDSVM":
        constraints.check(self)
        with self._unchanged_on_error():
            rows, usable = self._take_all(X, y, sample_weight, ids)
            usable = usable if self.window is None else usable[-self.window :]
            self._configure()
            self._solve_gathered(rows, usable, start)
        return self

    def _solve_gathered(self, rows: LabeledRows, usable: Ints, start: Any) -> None:
        native = self._machine.native
        self._feed(native.gather, rows, usable.astype(np.int64))
        if start is not None:
            native.guess(self._coefficients_of(start, rows, usable))
        else:
            self._optimize(native.solve, "approaching")
        left = native.settle(0)
        with tqdm(total=left, desc="settling", unit="row", disable=not self.verbose) as bar:
            while left > 0:
                now = native.settle(_ROWS_PER_CALL)
                bar.update(left - now)
                left = now

    def _learn_union(self, union: RowUnion) -> None:
        if self.window is not None and len(union.labels) > self.window:
            raise ValueError(
                f"The models have {len(union.labels)} rows together, more than window={self.window}: set a "
                "larger window in the first model, or None, before merging."
            )
        with problem_of(self, union):
            rows = begin(self, union)
        self._configure()
        self._solve_gathered(rows, np.flatnonzero(rows.costs > 0), None)

    def _coefficients_of(self, svm: Any, rows: LabeledRows, usable: Ints) -> npt.NDArray[np.float64]:
        """The signed coefficients of another machine for the rows gathered, line by line."""
        theirs = np.atleast_2d(
            svm.dual_coef_.toarray() if hasattr(svm.dual_coef_, "toarray") else svm.dual_coef_
        )
        columns = 1 if len(self.classes_) == 2 else len(self.classes_)
        if not np.array_equal(svm.classes_, self.classes_) or len(theirs) != columns:
            raise ValueError(
                f"A {type(svm).__name__} with the classes {svm.classes_!r} cannot be continued with the "
                f"classes {self.classes_!r}: the classes must be the same, and of an SVC only two."
            )
        if len(svm.support_) and int(np.max(svm.support_)) >= len(rows.labels):
            raise ValueError(
                f"svm has a support vector with row number {int(np.max(svm.support_))}, but X has only "
                f"{len(rows.labels)} rows: pass the rows that svm was fitted on, all of them, in their order."
            )
        theta = np.zeros((columns, len(rows.labels)))
        theta[:, svm.support_] = theirs
        return np.ascontiguousarray(theta[:, usable]).ravel()

    def _takes_single_rows(self) -> bool:
        return False  # a row that is refused has to be undone in the core

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any, ids: Any) -> None:
        with self._one_change():
            super()._learn_more(X, y, classes, sample_weight, ids)

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        super()._resume(state, fitted)
        if self._weights is not None:
            weights = np.array(checked.items("_weights", self._weights, len(self.classes_)))
            checked.floats("_weights", weights, (len(self.classes_),), least=0.0)

    def _count(self, rows: LabeledRows, times: int = 1) -> None:
        super()._count(rows, times)
        weights = self._class_weights(self._label_counts)
        self._weights = None if weights is None else weights.tolist()

    def _one_change(self) -> AbstractContextManager[None]:
        """Around calls of the core: if one is refused, all are undone.

        The core refuses a row that shows that the kernel is not positive semi-definite. After other errors,
        what the core has done stays.
        """
        cautious = hasattr(self, "_machine") and self._cautious()
        return self._rolled_back_if_refused() if cautious else self._unchanged_on_error(ValueError)

    @contextmanager
    def _rolled_back_if_refused(self) -> Iterator[None]:
        native = self._machine.native
        native.begin()
        try:
            with self._unchanged_on_error(ValueError):
                yield
        except ValueError:
            native.rollback()
            raise
        finally:
            native.commit()
            self._follow_machine()

    # ------------------------------------------------------------------------------------- unlearning

    def _unlearn(self, ids: Ints) -> None:
        with self._one_change():
            for start in range(0, len(ids), _ROWS_PER_CALL):
                self._machine.native.forget(ids[start : start + _ROWS_PER_CALL])

    def relabel(self, ids: Any, y: Any) -> "IDSVM":
        """Change the labels of rows: the model becomes the one that learned them with the new labels.

        With ``class_weight="balanced"`` the label counts change, too, and the cost of a relabeled row is
        multiplied by the weight of its new class after the change over that of its old class before it. The
        other rows keep their costs.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the rows. If one of them is not kept, nothing changes.
        y : scalar or array-like
            Their new labels, of the classes known.

        Returns
        -------
        IDSVM
            The learner itself.
        """
        self._check_fitted()
        constraints.check(self)
        named = self._kept_ids(ids)
        labels = column_or_1d(np.atleast_1d(np.asarray(y)))
        if len(labels) != len(named):
            raise ValueError(f"y must have a label for each id: got {len(labels)} for {len(named)}.")
        numbers = encode_labels(labels, self.classes_)
        native = self._machine.native
        factors = np.ones(len(named))
        by_id = np.argsort(native.ids)
        old = native.labels[by_id[np.searchsorted(native.ids, named, sorter=by_id)]]
        counts, size = self._label_counts, len(self.classes_)
        counts = counts - np.bincount(old, minlength=size) + np.bincount(numbers, minlength=size)
        if self._weights is not None:
            before = after = np.array(self._weights)
            if self.class_weight == "balanced":
                before, after = balanced_weights(self._label_counts), balanced_weights(counts)
            factors = after[numbers] / before[old]
        if not (factors > 0).all():
            raise ValueError("A row cannot get a label whose class_weight is 0: forget the row instead.")
        self._configure()
        with self._one_change():
            for start in range(0, len(named), _ROWS_PER_CALL):
                part = slice(start, start + _ROWS_PER_CALL)
                native.relabel(named[part], numbers[part], factors[part])
            self._label_counts = counts
        return self

    def leave_one_out(self) -> LeaveOneOut:
        """Score every row by the model that was trained without it; the model itself does not change.

        Returns
        -------
        LeaveOneOut
            The decision values, the predictions and the error.
        """
        self._check_fitted()
        native = self._machine.native
        ids = self.ids_
        parts = [np.zeros((0, 1 if len(self.classes_) == 2 else len(self.classes_)))]
        with tqdm(total=len(ids), desc="leaving out", unit="row", disable=not self.verbose) as bar:
            for start in range(0, len(ids), _ROWS_PER_CALL):
                parts.append(native.leave_one_out(start, _ROWS_PER_CALL))
                bar.update(len(parts[-1]))
        scores = np.concatenate(parts)
        scores = scores if len(self.classes_) > 2 else scores[:, 0]
        given = native.labels[native.ids != _NOBODY]
        return LeaveOneOut(ids, self.classes_[given], scores, self.labels_of(scores))

    # -------------------------------------------------------------------------------------- attributes

    @property
    def ids_(self) -> Ints:
        """The ids of the rows kept, in order of arrival."""
        ids = self._fitted().native.ids
        return np.asarray(ids[ids != _NOBODY])

    @property
    def n_margin_(self) -> Ints:
        """Support vectors at the margin, one number for each binary problem."""
        return np.asarray(self._of_machine("margin_sizes"))

    @property
    def objective_(self) -> npt.NDArray[np.float64]:
        """The dual objective, one for each binary problem."""
        return np.asarray(self._of_machine("objective"))

    @property
    def residual_(self) -> float:
        """The largest violation of an optimality condition."""
        self._fitted()
        return self._violation()

    @property
    def n_refreshes_(self) -> int:
        """How often all values were recomputed from the coefficients."""
        return int(self._of_machine("refreshes"))

    @property
    def n_fallbacks_(self) -> int:
        """How often the solution was computed from scratch, because rounding errors made the solver cycle."""
        return int(self._of_machine("fallbacks"))

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed so far."""
        native = self._fitted().native
        return int(native.evaluations + native.exact_evaluations)


def _params_of(cls: type) -> list[str]:
    return list(cls._get_param_names())  # type: ignore[attr-defined]
