"""The base of the linear AUC learners: one weight vector for each binary problem."""

from contextlib import nullcontext
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from tqdm.auto import tqdm

from .. import _core
from .._base import checked, constraints
from .._base.decision import Decision, linear_decision
from .._base.estimator import Estimator, ScoringClassifier
from .._base.validate import (
    Array,
    Rows,
    as_block,
    check_classes,
    check_rows,
    check_rows_and_labels,
    check_table,
    encode_labels,
    row_weights,
)

Self = TypeVar("Self", bound="LinearAUC")

_ROWS_PER_CALL = 4096
_MACHINES: dict[str, Any] = {"oam": _core.Oam, "opauc": _core.Opauc}
_LARGEST = 1e150  # of a feature: squares of larger ones overflow


class LinearAUC(ScoringClassifier, Estimator):
    """Base of the linear AUC learners; a subclass names its machine and its parameters."""

    forgetting: ClassVar[str] = "replay"
    _machine_name: ClassVar[str]
    _mark_of_fit = "_native"
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "_spec",
    )

    @property
    def forget(self) -> NoReturn:
        """Not available: every row has changed the weights."""
        raise AttributeError(  # so that hasattr returns False
            f"{type(self).__name__} cannot forget a row: every row has changed the weights. Retrain "
            "without it, or choose a learner that keeps rows, such as KOIL."
        )

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, in passes over the rows in random order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the step of each row; a row of weight 0 is skipped.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error(Exception):  # Ctrl-C keeps the rows learned until then
            with self._unchanged_on_error():
                X, classes, labels = check_table(self, X, y)
                _check_range(X)
                weights = row_weights(sample_weight, X)
                usable = np.flatnonzero(weights > 0)
                if len(np.unique(labels[usable])) < 2:
                    raise ValueError(
                        "Only rows of one class have a weight above 0: fit needs two classes or more."
                    )
                random = check_random_state(self.random_state)
                self._start(X, classes)
            total = len(usable) * self.epochs
            with tqdm(total=total, desc="learning", unit="row", disable=not self.verbose) as bar:
                for _ in range(self.epochs):
                    self._learn(X, labels, weights, random.permutation(usable), bar)
        return self

    def partial_fit(self: Self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in the order given, each once.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that the stream can have; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the step of each row; a row of weight 0 is skipped.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        first = not hasattr(self, "_native")
        with self._unchanged_on_error(Exception) if first else nullcontext():
            with self._unchanged_on_error():
                known = check_classes(classes, None if first else self.classes_)
                X, y = check_rows_and_labels(self, X, y, reset=first)
                labels = encode_labels(y, known)
                _check_range(X)
                weights = row_weights(sample_weight, X, all_zero=True)
                if first:
                    self._start(X, known)
            with tqdm(disable=True) as bar:
                self._learn(X, labels, weights, np.flatnonzero(weights > 0), bar)
        return self

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        self._check_fitted()
        self._refuse_divergence()
        X = check_rows(self, X, reset=False)
        return np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The linear function.
        """
        return linear_decision(self)

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """Weights of the features, one row for each binary problem."""
        self._check_fitted()
        return np.asarray(self._native.coef)

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Minus the score halfway between the mean scores of the two classes of each binary problem."""
        self._check_fitted()
        return -np.asarray(self._native.middle)

    @property
    def n_iter_(self) -> int:
        """Number of rows processed; with several epochs a row counts each time."""
        self._check_fitted()
        return int(self._native.iterations)

    # ------------------------------------------------------------------------------------- for the subclasses

    def _make_spec(self, width: int, classes: int) -> dict[str, int]:
        """The arguments of the native constructor."""
        return {"width": width, "classes": classes}

    def _parameters(self) -> dict[str, Any]:
        """The parameters of the native machine that may change between calls."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------- learning

    def _start(self, X: Rows, classes: Array) -> None:
        """Drop the model, and build a machine for these classes and as many features."""
        self.classes_ = classes
        self._spec = self._make_spec(X.shape[1], len(classes))
        self._native = _MACHINES[self._machine_name](**self._spec)
        words = check_random_state(self.random_state).randint(1, 2**63 - 1, size=4, dtype=np.int64)
        self._native.seed_generator(words.astype(np.uint64))

    def _learn(self, X: Rows, labels: Any, weights: Any, which: Any, bar: Any) -> None:
        self._native.set_parameters(**self._parameters())
        block, which = as_block(X), which.astype(np.int64)
        for start in range(0, len(which), _ROWS_PER_CALL):
            turn = which[start : start + _ROWS_PER_CALL]
            self._native.learn(block, labels, weights, turn)
            bar.update(len(turn))
        self._refuse_divergence()

    def _refuse_divergence(self) -> None:
        if not np.isfinite(self._native.coef).all():
            raise FloatingPointError(
                f"The weights of {type(self).__name__} have diverged: scale the features, for example to the "
                "range from 0 to 1, or choose a smaller learning_rate or C, and retrain."
            )

    # -------------------------------------------------------------------------------------------------- state

    def _parts(self) -> dict[str, Any]:
        return {"machine": self._native.get_state()}

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        spec = checked.table("_spec", fitted["_spec"])
        checked.classes("classes_", fitted["classes_"], spec["classes"])
        checked.features(fitted, spec["width"])
        super()._resume(state, fitted)
        self._native = _restored(self._machine_name, spec, state["machine"])

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_native" in state:
            state = {**state, "_native": self._native.get_state()}
        return state

    def __setstate__(self, state: Any) -> None:
        native = state.get("_native")
        super().__setstate__({name: value for name, value in state.items() if name != "_native"})
        if native is not None:
            self._native = _restored(self._machine_name, self._spec, native)


def _check_range(X: Rows) -> None:
    largest = float(abs(X).max()) if X.shape[0] else 0.0
    if largest > _LARGEST:
        raise ValueError(f"X has a value of {largest:.3g}, whose square overflows: scale the features.")


def _restored(name: str, spec: dict[str, int], state: dict[str, Any]) -> Any:
    """A machine with a state, which has to hold as many numbers as the machine takes memory for."""
    problems = 1 if checked.integer("classes", spec["classes"], least=2) == 2 else spec["classes"]
    width, rank = checked.integer("width", spec["width"]), checked.integer("rank", spec.get("rank", 0))
    checked.floats("w", state["w"], (problems * width,))
    if "rank" in spec:
        for part in (f"spread_{c}_{side}" for c in range(problems) for side in range(2)):
            checked.floats(part, state[part], (width * (rank or width),))
        checked.floats("h_0_0", state["h_0_0"], (rank,))
    machine = _MACHINES[name](**spec)
    machine.set_state(state)
    return machine
