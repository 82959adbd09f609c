"""What every learner on a native expansion shares: rows in, decisions out, support vectors, state."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .. import _core
from . import checked, constraints
from .decision import Decision, expansion_decision, refuse_kernel
from .foreign import ForeignKernel
from .kernels import KERNELS, NAMES, is_built_in, resolve_gamma
from .layout import choose_center, choose_layout
from .machine import Machine
from .validate import Array, Rows, as_block, check_rows, check_rows_and_labels, row_weights

Ints: TypeAlias = npt.NDArray[np.int64]
CoreRows: TypeAlias = "tuple[_core.Block, npt.NDArray[np.int32], npt.NDArray[np.float64], Ints]"

# Between two calls of the core Python can stop on Ctrl-C and show progress. A multiple of the look-ahead.
ROWS_PER_CALL = 2048
_ROUNDS_PER_CALL = 8
# And a hundred for each row: far more than a problem that can converge needs.
_MOST_STEPS = 1_000_000


def balanced_weights(counts: Ints) -> npt.NDArray[np.float64]:
    """Weights inversely proportional to class frequencies, over the classes with at least one row.

    This is scikit-learn's ``compute_class_weight("balanced", ...)`` from counts instead of labels. A class
    without rows gets the weight of a class with one row.
    """
    present = max(1, int(np.count_nonzero(counts)))
    return np.asarray(counts.sum() / (present * np.maximum(counts, 1).astype(np.float64)))


class LabeledRows:
    """Validated rows on their way to the core: features, class numbers, costs and ids, one for each row."""

    def __init__(
        self, X: Rows, labels: npt.NDArray[np.int32], costs: npt.NDArray[np.float64], ids: Ints
    ) -> None:
        self.X, self.labels, self.costs, self.ids = X, labels, costs, ids
        self.block = as_block(X)

    def for_core(self) -> CoreRows:
        """The leading arguments of the core's learning methods."""
        return self.block, self.labels, self.costs, self.ids


class KernelLearner(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the learners on a native expansion; a subclass says how it learns.

    Reading an attribute or asking for a decision changes nothing; only the methods that learn do.
    """

    _solver: ClassVar[str]  # the native solver, by its name in `_machine`
    _has_bias: ClassVar[bool] = False
    _exact: ClassVar[bool] = False  # rows and kernel values in double precision
    _rows_per_call: ClassVar[int] = ROWS_PER_CALL
    _svm: ClassVar[bool] = True  # its coefficients have bounds, and those strictly within are at the margin
    # What a fitted learner knows beside its parameters and its machine.
    _known: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "_rows_seen",
        "_label_counts",
        "_sparse_input",
    )

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "C": constraints.POSITIVE,
        "kernel": constraints.one_of(*NAMES, "precomputed") | constraints.CALLABLE,
        "degree": constraints.integer_from(0),
        "gamma": constraints.one_of("scale", "auto") | constraints.POSITIVE,
        "coef0": constraints.FINITE,
        "tol": constraints.POSITIVE,
        "class_weight": constraints.NONE | constraints.one_of("balanced") | constraints.MAPPING,
        "cache_size": constraints.MEGABYTES,
        "n_jobs": constraints.NONE | constraints.NOT_ZERO_INTEGER,
        "verbose": constraints.BOOLEAN | constraints.integer_from(0),
    }

    # ------------------------------------------------------------------------------------------- rows in

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Around validation: a call that is refused leaves the learner as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _start(self, X: Rows, classes: Array) -> None:
        """Forget what was learned, and fix what depends on the first rows."""
        foreign = not is_built_in(self.kernel)
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise ValueError("A precomputed kernel must be a dense array; X is sparse.")
        layout = "external" if foreign else choose_layout(X)
        self.classes_ = classes
        self._rows_seen = 0
        self._label_counts = np.zeros(len(classes), dtype=np.int64)
        self._sparse_input = sparse.issparse(X)
        self._foreign = ForeignKernel(self.kernel) if foreign else None
        kernel = "linear" if foreign else self.kernel
        center = np.zeros(0)
        if layout == "dense":
            center = choose_center(KERNELS[kernel], X, self._has_bias)
        self._machine = Machine(
            self._solver,
            {
                "kernel": kernel,
                "gamma": 1.0 if foreign else resolve_gamma(self.gamma, X),
                "coef0": float(self.coef0),
                "degree": int(self.degree),
                "layout": layout,
                "precision": "float64" if foreign or self._exact else X.dtype.name,
                "width": 0 if foreign else X.shape[1],
                "classes": len(classes),
                "center": center,
            },
        )

    def _configure(self) -> None:
        """Pass on the parameters that may change between calls."""
        self._machine.configure(
            int(self.cache_size * 2**20), effective_n_jobs(self.n_jobs), self._solver_parameters()
        )

    def _solver_parameters(self) -> dict[str, Any]:
        """The parameters of the native solver, in its own words."""
        raise NotImplementedError

    def _take_all(
        self, X: Any, y: Any, sample_weight: Any, ids: Ints | None = None
    ) -> tuple[LabeledRows, Ints]:
        """Begin a `fit`: all rows at once, validated, and the numbers of those that have a weight."""
        X, y = check_rows_and_labels(self, X, y, reset=True)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; y has 1 class, {classes[0]!r}."
                + (
                    " A stream that begins with one class can be learned with partial_fit(..., classes=...)."
                    if hasattr(self, "partial_fit")
                    else ""
                )
            )
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel must be a square matrix, got shape {X.shape}.")
        self._start(X, classes)
        rows = self._accept(X, y, labels.astype(np.int32), sample_weight, ids)
        usable = np.flatnonzero(rows.costs > 0)
        if len(np.unique(rows.labels[usable])) < 2:
            raise ValueError("Only rows of one class have a weight above 0: nothing can be told apart.")
        return rows, usable

    def _accept(
        self,
        X: Rows,
        y: Array,
        labels: npt.NDArray[np.int32],
        sample_weight: Any,
        ids: Ints | None = None,
    ) -> LabeledRows:
        """Make rows ready for the core: their costs and their ids, by default the running row numbers."""
        self._machine.check_range(X)
        weights = row_weights(sample_weight, X)
        new_counts = np.bincount(labels[weights > 0], minlength=len(self.classes_))
        self._label_counts = self._label_counts + new_counts  # rebound, so that a refused call can restore it
        by_class = self._class_weights()
        if by_class is not None:
            weights = weights * by_class[labels]
        costs = float(getattr(self, "C", 1.0)) * weights
        if ids is None:
            ids = np.arange(self._rows_seen, self._rows_seen + len(labels), dtype=np.int64)
        if self.kernel == "precomputed" and len(ids) and not 0 <= ids.min() <= ids.max() < X.shape[1]:
            strange = ids.min() if ids.min() < 0 else ids.max()
            raise ValueError(
                f"A precomputed kernel needs a column for every row learned: row {strange} has come, X has "
                f"{X.shape[1]} columns."
            )
        self._rows_seen += len(labels)
        return LabeledRows(X, labels, costs, ids)

    def _class_weights(self) -> npt.NDArray[np.float64] | None:
        """Multiplier of C for each class number; "balanced" is computed from the labels counted so far."""
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            return balanced_weights(self._label_counts)
        values = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        weights = np.asarray(values, dtype=np.float64)
        if not np.all((weights >= 0) & (weights < np.inf)):
            raise ValueError(f"class_weight must be finite and not negative, got {self.class_weight!r}.")
        return weights

    def _feed(self, method: Callable[..., None], rows: LabeledRows, which: Ints) -> None:
        """Call a learning method of the core for the rows ``which``, in this order."""
        foreign = self._foreign
        if foreign is None:
            for start in range(0, len(which), self._rows_per_call):
                method(*rows.for_core(), which[start : start + self._rows_per_call])
            return
        for start in range(0, len(which), 128):
            turn = which[start : start + 128]
            X, ids, kept = rows.X[turn], rows.ids[turn], self._machine.native.ids
            fresh = np.flatnonzero(~np.isin(ids, kept))
            values = foreign.block(X, ids, fresh, kept)
            foreign.keep(kept)
            foreign.add(X[fresh], ids[fresh])
            places = np.arange(len(turn), dtype=np.int64)
            try:
                method(*LabeledRows(values, rows.labels[turn], rows.costs[turn], ids).for_core(), places)
            finally:
                foreign.keep(self._machine.native.ids)

    def _optimize(self, rounds: Callable[[int], bool], title: str) -> None:
        """Run rounds of the core until it is done."""
        native = self._machine.native
        last = native.steps + _MOST_STEPS + 100 * native.size
        if not self.verbose:  # a bar costs more than a round, even if it is not shown
            while not rounds(_ROUNDS_PER_CALL) and native.steps < last:
                pass
            return
        with tqdm(desc=title, unit="round") as bar:
            while not rounds(_ROUNDS_PER_CALL) and native.steps < last:
                bar.update(_ROUNDS_PER_CALL)
                bar.set_postfix(violation=f"{self._violation():.2g}")

    def _violation(self) -> float:
        """The most by which the learner violates its optimality conditions."""
        if not self._has_bias:
            return float(self._machine.native.violation)
        delta = self._machine.native.delta
        return float(np.max(delta, where=np.isfinite(delta), initial=0.0))

    def _free_margin(self) -> float | None:
        """How far the free support vectors lie from the boundary at most; None if there are none."""
        found = float(self._machine.native.free_margin) if self._svm else -1.0
        return None if found < 0 else found

    def _warn_if_unsolved(self, what: str, stacklevel: int) -> None:
        """Say that optimizing has ended above ``tol``."""
        if (worst := self._violation()) > self.tol:
            warnings.warn(
                f"{what} stopped at a violation of {worst:.2g}, above tol={self.tol:g}: steps no longer "
                "change the model, or there were too many. Scale the features, or choose a larger tol or a "
                "smaller C; the kernel may also not be positive definite.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )

    # ------------------------------------------------------------------------------------- decisions out

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Score rows: above 0 means the second class, or one column for each class when there are more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        if self._foreign is None:
            self._machine.check_range(X)
        scores = self._decide(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _decide(self, X: Rows) -> npt.NDArray[np.float64]:
        """Scores of rows that are validated already, one column for each binary problem."""
        if self._foreign is not None:
            X = self._foreign.against(X, self._machine.native.ids)
        return np.asarray(self._machine.native.decide(as_block(X), effective_n_jobs(self.n_jobs)))

    def predict(self, X: Any) -> Array:
        """Predict the class of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: npt.NDArray[np.float64]) -> Array:
        """The labels that decision values stand for.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            From `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        numbers = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The kernel expansion.
        """
        machine = self._fitted()
        if machine.spec["layout"] == "external":
            refuse_kernel(self)
        return expansion_decision(self.classes_, machine.expansion(machine.support()))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_machine")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    # -------------------------------------------------------------------------------------- what is known

    def _fitted(self) -> Machine:
        if not hasattr(self, "_machine"):  # an AttributeError, so that hasattr answers no
            raise AttributeError(
                f"This {type(self).__name__} has not learned anything yet: call fit or partial_fit."
            )
        return self._machine

    @property
    def support_(self) -> Ints:
        """Row numbers of the support vectors: places in X for `fit`, the running count for `partial_fit`."""
        machine = self._fitted()
        return np.asarray(machine.native.ids[machine.support()])

    @property
    def support_vectors_(self) -> Rows:
        """The support vectors; sparse if X was. With a foreign kernel that has no rows, an empty array."""
        machine = self._fitted()
        slots = machine.support()
        if self._foreign is not None:
            rows = self._foreign.rows_of(machine.native.ids)
            return np.zeros((0, 0)) if rows is None else rows[slots]
        rows = machine.rows(slots)
        if sparse.issparse(rows) == self._sparse_input:
            return rows
        return sparse.csr_matrix(rows) if self._sparse_input else rows.toarray()

    @property
    def dual_coef_(self) -> npt.NDArray[np.float64]:
        """Signed coefficients of the support vectors, one line for each binary problem."""
        machine = self._fitted()
        return np.asarray(machine.native.alpha[:, machine.support()])

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Bias of each binary problem."""
        machine = self._fitted()
        bias, center = machine.native.bias, machine.spec["center"]
        if not machine.kernel.is_linear or len(center) == 0:
            return np.asarray(bias)
        # f(x) = <w, x - center> + b for rows from which the center was taken away
        rows = machine.rows(machine.support()).astype(np.float64)
        return np.asarray(bias - self.dual_coef_ @ (rows @ center))

    @property
    def n_support_(self) -> npt.NDArray[np.int32]:
        """Number of support vectors of each class."""
        machine = self._fitted()
        counts = np.bincount(machine.native.labels[machine.support()], minlength=len(self.classes_))
        return counts.astype(np.int32)

    @property
    def n_kept_(self) -> int:
        """Number of rows kept."""
        return int(self._fitted().native.kept)

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed so far, those computed again because the cache was full included."""
        return int(self._fitted().native.evaluations)

    @property
    def n_iter_(self) -> int:
        """Rows taken in so far; with several epochs a row counts each time."""
        return int(self._fitted().native.iterations)

    # ------------------------------------------------------------------------------------------------ state

    def _check_savable(self) -> None:
        if hasattr(self, "_machine"):
            self._check_resumable(self._foreign is not None)

    def _get_state(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        if isinstance(params.get("class_weight"), Mapping):  # labels of any kind, where a file has names only
            params["class_weight"] = list(params["class_weight"].items())
        state: dict[str, Any] = {"params": params}
        if hasattr(self, "_machine"):
            known = vars(self)
            state["fitted"] = {name: known[name] for name in self._known if name in known}
            state["machine"] = self._machine.get_state()
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "KernelLearner":
        params = checked.table("params", state["params"])
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = dict(params["class_weight"])
        learner = cls(**params)
        if "machine" in state:
            learner._resume(
                checked.table("fitted", state["fitted"]), checked.table("machine", state["machine"])
            )
        return learner

    def _resume(self, fitted: dict[str, Any], machine: dict[str, Any]) -> None:
        """Go on from a saved state, after a check that its parts fit the parameters and each other."""
        checked.word("solver", machine["solver"], (self._solver,))
        spec = checked.table("spec", machine["spec"])
        external = spec["layout"] == "external"
        self._check_resumable(external)
        classes = checked.classes("classes_", fitted["classes_"], spec["classes"])
        features = checked.features(fitted, None if external else spec["width"])
        checked.integer("_rows_seen", fitted["_rows_seen"])
        checked.flag("_sparse_input", fitted["_sparse_input"])
        for name in self._known:
            if name in fitted:
                setattr(self, name, fitted[name])
        self._check_parameters(checked.table("parameters", machine["parameters"]))
        self._machine = Machine.from_state(machine)
        if "_label_counts" in fitted:
            checked.integers("_label_counts", self._label_counts, (len(classes),))
        else:  # an older file: count the rows that are kept
            self._label_counts = np.bincount(self._machine.native.labels, minlength=len(classes))
        if self._exact and spec["precision"] != "float64":
            raise ValueError(
                f"precision is {spec['precision']!r}, and the learner computes in double precision"
            )
        if external:  # its ids are columns of the matrices that will come
            checked.integers("ids", self._machine.native.ids, (None,), most=features - 1)
        self._foreign = ForeignKernel(self.kernel) if external else None

    def _check_resumable(self, external: bool) -> None:
        """Refuse parameters with which a fitted learner cannot go on: on saving, and again on loading."""
        constraints.check(self)
        if external == is_built_in(self.kernel):
            kept = "kernel values of the caller's" if external else "rows under a built-in kernel"
            raise ValueError(
                f"kernel is {self.kernel!r}, and this {type(self).__name__} keeps {kept}: set it "
                "back, or fit again"
            )
        self._solver_parameters()

    def _check_parameters(self, parameters: dict[str, Any]) -> None:
        """Refuse parameters of the native solver that are of another kind than this learner would pass on.

        Their values may differ: they are those of the last call that learned.
        """
        if not parameters:  # nothing was learned yet
            return
        wanted = self._solver_parameters()
        if parameters.keys() != wanted.keys():
            raise ValueError(f"parameters must hold {', '.join(wanted)}, got {', '.join(parameters)}")
        for name, value in parameters.items():
            kind = next(kind for kind in (bool, int, float, str) if isinstance(wanted[name], kind))
            if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool) or value != value:
                raise ValueError(f"the parameter {name!r} of the solver must be of type {kind.__name__}")
