"""The base of the learners on a native machine: rows in, decision values out, state."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, is_
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, compute_class_weight
from tqdm.auto import tqdm

from .. import _core
from . import checked, constraints
from .attributes import MachineAttributes
from .decision import Decision, expansion_decision, refuse_kernel
from .estimator import Estimator, ScoringClassifier, kernel_tags
from .foreign import ForeignKernel
from .kernels import KERNELS, is_built_in, resolve_gamma
from .layout import choose_center, choose_layout
from .machine import Machine
from .validate import Array, Ints, Rows, as_block, check_rows, check_table, row_weights, single_row

CoreRows: TypeAlias = "tuple[_core.Block, npt.NDArray[np.int32], npt.NDArray[np.float64], Ints]"

# Between two calls of the core Python can stop on Ctrl-C and show progress. A multiple of the look-ahead.
ROWS_PER_CALL = 2048
_ROUNDS_PER_CALL = 8
_FOREIGN_ROWS_PER_CALL = 128
# Plus a hundred for each row: far more than a problem that can converge needs.
_MOST_STEPS = 1_000_000


def balanced_weights(counts: Ints) -> npt.NDArray[np.float64]:
    """Weights inversely proportional to class frequencies, over the classes with at least one row.

    This is scikit-learn's ``compute_class_weight("balanced", ...)`` from counts instead of labels. A class
    without rows gets the weight of a class with one row.
    """
    present = max(1, int(np.count_nonzero(counts)))
    return np.asarray(counts.sum() / (present * np.maximum(counts, 1).astype(np.float64)))


@dataclass
class LabeledRows:
    """Validated rows on their way to the core: features, class numbers, costs and ids, one for each row.

    ``counts`` has the number of rows of each class whose sample weight is above 0.
    """

    X: Rows
    labels: npt.NDArray[np.int32]
    costs: npt.NDArray[np.float64]
    ids: Ints
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @cached_property
    def block(self) -> _core.Block:
        """The rows as the core takes them."""
        return as_block(self.X)

    @cached_property
    def byte_step(self) -> float:
        """The number of which all features are whole multiples that fit into a byte; 0 if there is none."""
        return _core.byte_step(self.block)

    def __reduce__(self) -> tuple[Any, ...]:  # the block is made again
        return LabeledRows, (self.X, self.labels, self.costs, self.ids, self.counts)

    def for_core(self) -> CoreRows:
        """The leading arguments of the core's learning methods."""
        return self.block, self.labels, self.costs, self.ids


class KernelLearner(ScoringClassifier, Estimator, MachineAttributes):
    """Base of the learners on a native machine; a subclass names its solver and its parameters.

    What a learner can do is in the classes beside this one: `StreamLearner`, `OnlineLearner`,
    `FinishingLearner` and `ForgettingLearner` each add one capability, and an algorithm lists those it has.
    """

    _solver: ClassVar[str]  # the native solver, by its name in `machine`
    _has_bias: ClassVar[bool] = False
    _exact: ClassVar[bool] = False  # rows and kernel values in double precision
    _draws: ClassVar[bool] = False  # the native solver draws random numbers
    _rows_per_call: ClassVar[int] = ROWS_PER_CALL
    row_dtype: str | None = None  # a parameter of learners that compute in single precision
    _svm: ClassVar[bool] = True  # coefficients have bounds, and those strictly within are at the margin
    _mark_of_fit = "_machine"
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "_rows_seen",
        "_label_counts",
        "_sparse_input",
    )

    _read_parameters: "ClassVar[attrgetter[tuple[Any, ...]]]"  # the values of all that have constraints

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._read_parameters = attrgetter("cache_size", "n_jobs", *cls._constraints)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(super().__sklearn_tags__(), self.kernel)

    # --------------------------------------------------------------------------------------------- learning

    def _start(self, X: Rows, classes: Array) -> None:
        """Drop the model, and fix what depends on the first rows."""
        foreign = not is_built_in(self.kernel)
        if self.kernel == "precomputed" and sparse.issparse(X):
            raise ValueError("kernel='precomputed' needs a dense array as X, got a sparse matrix.")
        if foreign and self.row_dtype is not None:
            raise ValueError(
                f"row_dtype={self.row_dtype!r} needs a built-in kernel, because a callable or precomputed "
                "kernel takes rows as they are: set row_dtype=None."
            )
        layout = "external" if foreign else choose_layout(X)
        precision = "float64" if foreign or self._exact else self.row_dtype or X.dtype.name
        self.classes_ = classes
        self._rows_seen = 0
        self._label_counts = np.zeros(len(classes), dtype=np.int64)
        self._sparse_input = sparse.issparse(X)
        self._foreign = ForeignKernel(self.kernel) if foreign else None
        kernel = "linear" if foreign else self.kernel
        center = np.zeros(0)
        if layout == "dense":
            center = choose_center(KERNELS[kernel], X, self._has_bias, may_change=precision != "float16")
        self._machine = Machine(
            self._solver,
            {
                "kernel": kernel,
                "gamma": 1.0 if foreign else resolve_gamma(self.gamma, X),
                "coef0": float(self.coef0),
                "degree": int(self.degree),
                "layout": layout,
                "precision": precision,
                "width": 0 if foreign else X.shape[1],
                "classes": len(classes),
                "center": center,
            },
        )
        if self._draws:
            self._machine.seed(check_random_state(self.random_state))

    def _configure(self) -> None:
        """Pass on the parameters that may change between calls."""
        values = self._read_parameters(self)
        constraints.check(self)
        self._machine.configure(
            int(self.cache_size * 2**20), effective_n_jobs(self.n_jobs), self._solver_parameters()
        )
        self._machine.configured_for = values

    def _is_configured(self) -> bool:
        """Whether each parameter is the object that the machine was last configured with.

        Then it needs no check: those that can be changed in place are checked for their type alone.
        """
        values, known = self._read_parameters(self), self._machine.configured_for
        return len(known) == len(values) and all(map(is_, values, known))

    def _solver_parameters(self) -> dict[str, Any]:
        """The parameters of the native solver; an error for those that exclude each other."""
        raise NotImplementedError

    def _take_all(
        self, X: Any, y: Any, sample_weight: Any, ids: Ints | None = None
    ) -> tuple[LabeledRows, Ints]:
        """Begin a `fit`: all rows validated and counted, and the numbers of those with a cost above 0."""
        X, classes, labels = check_table(self, X, y)
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed' needs a square matrix in fit, got shape {X.shape}.")
        self._start(X, classes)
        rows = self._accept(X, labels, row_weights(sample_weight, X), ids)
        usable = np.flatnonzero(rows.costs > 0)
        if len(np.unique(rows.labels[usable])) < 2:
            raise ValueError("Only rows of one class have a weight above 0: fit needs two classes or more.")
        self._count(rows)
        return rows, usable

    def _accept(
        self,
        X: Rows,
        labels: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64],
        ids: Ints | None = None,
    ) -> LabeledRows:
        """Make rows ready for the core: costs, and ids, by default the running row numbers."""
        self._machine.check_range(X)
        counts = np.bincount(labels[weights > 0], minlength=len(self.classes_))
        by_class = self._class_weights(self._label_counts + counts)
        if by_class is not None:
            weights = weights * by_class[labels]
        if ids is None:
            ids = np.arange(self._rows_seen, self._rows_seen + len(labels), dtype=np.int64)
        if self.kernel == "precomputed" and len(ids) and not 0 <= ids.min() <= ids.max() < X.shape[1]:
            outside = ids.min() if ids.min() < 0 else ids.max()
            raise ValueError(
                f"kernel='precomputed' needs a column for every row learned: got row {outside}, and X has "
                f"{X.shape[1]} columns."
            )
        return LabeledRows(X, labels, float(self.C) * weights, ids, counts)

    def _count(self, rows: LabeledRows, times: int = 1) -> None:
        """Count rows and their labels; -1 times if none of them was learned after all."""
        self._rows_seen += times * len(rows.labels)
        self._label_counts = self._label_counts + times * rows.counts

    def _class_weights(self, counts: Ints) -> npt.NDArray[np.float64] | None:
        """Multiplier of C for each class number; "balanced" is computed from the counts of the labels."""
        if self.class_weight is None:
            return None
        if self.class_weight == "balanced":
            return balanced_weights(counts)
        values = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        weights = np.asarray(values, dtype=np.float64)
        if not np.all((weights >= 0) & (weights < np.inf)):
            raise ValueError(f"class_weight must have finite weights, 0 or above, got {self.class_weight!r}.")
        return weights

    def _feed(self, method: Callable[..., None], rows: LabeledRows, which: Ints) -> None:
        """Call a learning method of the core for the rows ``which``, in this order."""
        foreign = self._foreign
        if foreign is None:
            for start in range(0, len(which), self._rows_per_call):
                method(*rows.for_core(), which[start : start + self._rows_per_call])
            return
        for start in range(0, len(which), _FOREIGN_ROWS_PER_CALL):
            turn = which[start : start + _FOREIGN_ROWS_PER_CALL]
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

    def _follow_machine(self) -> None:
        """Keep those rows of a callable kernel that the machine has kept."""
        if self._foreign is not None:
            self._foreign.keep(self._machine.native.ids)

    # ------------------------------------------------------------------------------------------- optimizing

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
        """The largest violation of an optimality condition."""
        if not self._has_bias:
            return float(self._machine.native.violation)
        delta = self._machine.native.delta
        return float(np.max(delta, where=np.isfinite(delta), initial=0.0))

    def _warn_if_unsolved(self, what: str, stacklevel: int) -> None:
        """Warn that optimizing ended above ``tol``."""
        if (worst := self._violation()) > self.tol:
            warnings.warn(
                f"{what} stopped at a violation of {worst:.2g}, above tol={self.tol:g}: steps no longer "
                "change the model, or there were too many. Scale the features, or choose a larger tol or a "
                "smaller C; the kernel may also not be positive definite.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )

    def _warn_if_capped(self, before: int, stacklevel: int = 3) -> None:
        """Warn if rows reached the limit of steps for one row since the machine had ``before`` of them."""
        count = self._machine.native.capped - before
        if count > 0:
            warnings.warn(
                f"Optimization reached the limit of steps for one row {count} times: the model is further "
                "from its optimum than it should be. Scale the features, or choose a smaller C.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    # ------------------------------------------------------------------------------------------ predictions

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        row = self._single_row(X)
        if row is not None:
            return np.asarray(self._machine.native.decide(_core.Block.dense(row), 1))
        self._check_fitted()
        return self.score_validated(self.validate_rows(X))

    def _single_row(self, X: Any) -> Array | None:
        """The array of a single dense row that `validate_rows` would accept; None if it has to look at X."""
        machine = vars(self).get("_machine")
        return None if machine is None else single_row(self, X, machine.safe_length, machine.safe_from)

    def validate_rows(self, X: Any) -> Rows:
        """Validate rows for a fitted learner, as `decision_function` does.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray or CSR matrix of shape (n_samples, n_features)
            The rows, for `score_validated`.
        """
        X = check_rows(self, X, reset=False)
        if self._foreign is None:
            self._machine.check_range(X)
        return X

    def score_validated(self, X: Rows) -> npt.NDArray[np.float64]:
        """Score rows from `validate_rows`; validating one row costs more than scoring it.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, 1) or (n_samples, n_classes)
            The decision values, one column for each binary problem.
        """
        if self._foreign is not None:
            X = self._foreign.against(X, self._machine.native.ids)
        return np.asarray(self._machine.native.decide(as_block(X), effective_n_jobs(self.n_jobs)))

    def free_margin(self) -> float | None:
        """Largest distance of a free support vector from the boundary, in decision values.

        Returns
        -------
        float or None
            The distance; None if there are no free support vectors.
        """
        found = float(self._fitted().native.free_margin) if self._svm else -1.0
        return None if found < 0 else found

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

    # ------------------------------------------------------------------------------------------------ state

    def _check_savable(self) -> None:
        if hasattr(self, "_machine"):
            self._check_resumable(self._foreign is not None)

    def _parts(self) -> dict[str, Any]:
        return {"machine": self._machine.get_state()}

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        machine = checked.table("machine", state["machine"])
        checked.word("solver", machine["solver"], (self._solver,))
        spec = checked.table("spec", machine["spec"])
        external = spec["layout"] == "external"
        self._check_resumable(external)
        classes = checked.classes("classes_", fitted["classes_"], spec["classes"])
        features = checked.features(fitted, None if external else spec["width"])
        checked.integer("_rows_seen", fitted["_rows_seen"])
        checked.integers("_label_counts", fitted["_label_counts"], (len(classes),))
        checked.flag("_sparse_input", fitted["_sparse_input"])
        self._check_parameters(checked.table("parameters", machine["parameters"]))
        super()._resume(state, fitted)
        self._machine = Machine.from_state(machine)
        if self._exact and spec["precision"] != "float64":
            raise ValueError(
                f"precision is {spec['precision']!r}, and the learner computes in double precision"
            )
        if external:  # the ids are columns of the matrices that are passed to predict
            checked.integers("ids", self._machine.native.ids, (None,), most=features - 1)
        self._foreign = ForeignKernel(self.kernel) if external else None

    def _check_resumable(self, external: bool) -> None:
        """Refuse parameters with which a fitted learner cannot continue: on saving, and again on loading."""
        constraints.check(self)
        if external == is_built_in(self.kernel):
            kept = "kernel values" if external else "rows under a built-in kernel"
            raise ValueError(
                f"kernel is {self.kernel!r}, but this {type(self).__name__} was fitted with another kind of "
                f"kernel and keeps {kept}: set kernel back, or fit again"
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
            raise ValueError(f"parameters must be {', '.join(wanted)}, got {', '.join(parameters)}")
        for name, value in parameters.items():
            kind = next(kind for kind in (bool, int, float, str) if isinstance(wanted[name], kind))
            if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool) or value != value:
                raise ValueError(f"the parameter {name!r} of the solver must be of type {kind.__name__}")
