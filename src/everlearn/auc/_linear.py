"""What the linear learners of AUC share: rows in, one weight vector for each binary problem, scores out."""

from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .. import _core
from .._base import checked, constraints
from .._base.decision import Decision, linear_decision
from .._base.validate import (
    Array,
    Rows,
    as_block,
    check_classes,
    check_rows,
    check_rows_and_labels,
    encode_labels,
    row_weights,
)

Self = TypeVar("Self", bound="LinearAUC")

_ROWS_PER_CALL = 4096
_MACHINES: dict[str, Any] = {"oam": _core.Oam, "opauc": _core.Opauc}
_LARGEST = 1e150  # of a feature: squares of larger ones overflow


class LinearAUC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the linear learners of AUC; a subclass names its machine and its parameters.

    Reading an attribute or asking for a decision changes nothing; only the methods that learn do.
    """

    forgetting: ClassVar[str] = "replay"
    _machine_name: ClassVar[str]
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "epochs": constraints.integer_from(1),
        "verbose": constraints.BOOLEAN | constraints.integer_from(0),
    }

    @property
    def forget(self) -> NoReturn:
        """There is none: every row is part of the weights."""
        raise AttributeError(  # so that hasattr answers no
            f"{type(self).__name__} forgets by replay only: a row cannot be taken out of the weights that it "
            "has changed. Learn again without it, or choose a learner that keeps rows, such as KOIL."
        )

    def fit(self: Self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch: passes over the rows in random order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the step of each row; a row of weight 0 is left out.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        before = dict(vars(self))
        try:
            X, y = check_rows_and_labels(self, X, y, reset=True)
            check_classification_targets(y)
            classes, labels = np.unique(y, return_inverse=True)
            if len(classes) < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; y has 1 class, {classes[0]!r}. A "
                    "stream that begins with one class can be learned with partial_fit(..., classes=...)."
                )
            weights = self._accept(X, labels, sample_weight)
            usable = np.flatnonzero(weights > 0)
            if len(np.unique(labels[usable])) < 2:
                raise ValueError("Only rows of one class have a weight above 0: nothing can be told apart.")
            random = check_random_state(self.random_state)
            self._start(X, classes)
        except BaseException:
            self.__dict__ = before
            raise
        total = len(usable) * self.epochs
        with tqdm(total=total, desc="learning", unit="row", disable=not self.verbose) as bar:
            for _ in range(self.epochs):
                self._learn(X, labels.astype(np.int32), weights, random.permutation(usable), bar)
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
            All labels that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies the step of each row; a row of weight 0 is left out.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        first = not hasattr(self, "_native")
        before = dict(vars(self))
        try:
            known = check_classes(classes, None if first else self.classes_)
            X, y = check_rows_and_labels(self, X, y, reset=first)
            labels = encode_labels(y, known)
            left_out = sample_weight is not None and np.shape(sample_weight) == y.shape
            left_out = left_out and not np.any(sample_weight)  # scikit-learn refuses weights that are all 0
            weights = np.zeros(len(y)) if left_out else self._accept(X, labels, sample_weight)
            if first:
                self._start(X, known)
        except BaseException:
            self.__dict__ = before
            raise
        with tqdm(disable=True) as bar:
            self._learn(X, labels, weights, np.flatnonzero(weights > 0), bar)
        return self

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
        self._refuse_divergence()
        X = check_rows(self, X, reset=False)
        scores = np.asarray(safe_sparse_dot(X, self.coef_.T, dense_output=True)) + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

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
        scores = self.decision_function(X)
        numbers = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

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
        """Weights of the features, one line for each binary problem."""
        return np.asarray(self._learned().coef)

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Minus the score halfway between the mean scores of the two classes of each binary problem."""
        return -np.asarray(self._learned().middle)

    @property
    def n_iter_(self) -> int:
        """Rows taken in so far; with several epochs a row counts each time."""
        return int(self._learned().iterations)

    # ------------------------------------------------------------------------------------- for the subclasses

    def _spec(self, width: int, classes: int) -> dict[str, int]:
        """The arguments of the native constructor."""
        return {"width": width, "classes": classes}

    def _parameters(self) -> dict[str, Any]:
        """The parameters that may change between calls, in the core's words."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------------------- the rest

    def _learned(self) -> Any:
        if not hasattr(self, "_native"):  # an AttributeError, so that hasattr answers no
            raise AttributeError(
                f"This {type(self).__name__} has not learned anything yet: call fit or partial_fit."
            )
        return self._native

    def _accept(self, X: Rows, labels: Any, sample_weight: Any) -> npt.NDArray[np.float64]:
        largest = float(abs(X).max()) if X.shape[0] else 0.0
        if largest > _LARGEST:
            raise ValueError(f"X has a value of {largest:.3g}, whose square overflows: scale the features.")
        return row_weights(sample_weight, X)

    def _start(self, X: Rows, classes: Array) -> None:
        """Forget what was learned; what the machine is built from stays until the next start."""
        self.classes_ = classes
        self._built = self._spec(X.shape[1], len(classes))
        self._native = _MACHINES[self._machine_name](**self._built)
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
                f"The weights of {type(self).__name__} have diverged: scale the features, to the range from "
                "0 to 1 for instance, or take smaller steps, and begin again."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_native")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -------------------------------------------------------------------------------------------------- state

    _known: ClassVar[tuple[str, ...]] = ("classes_", "n_features_in_", "feature_names_in_", "_built")

    def _check_savable(self) -> None:
        if hasattr(self, "_native"):
            constraints.check(self)

    def _get_state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params(deep=False)}
        if hasattr(self, "_native"):
            known = vars(self)
            state["fitted"] = {name: known[name] for name in self._known if name in known}
            state["machine"] = self._native.get_state()
        return state

    @classmethod
    def _from_state(cls: type[Self], state: dict[str, Any]) -> Self:
        learner = cls(**checked.table("params", state["params"]))
        if "machine" in state:
            fitted = checked.table("fitted", state["fitted"])
            built = checked.table("_built", fitted["_built"])
            checked.classes("classes_", fitted["classes_"], built["classes"])
            checked.features(fitted, built["width"])
            constraints.check(learner)
            for name in cls._known:
                if name in fitted:
                    setattr(learner, name, fitted[name])
            learner._native = _restored(cls._machine_name, built, state["machine"])
        return learner

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_native" in state:
            state = {**state, "_native": self._native.get_state()}
        return state

    def __setstate__(self, state: Any) -> None:
        native = state.get("_native")
        super().__setstate__({name: value for name, value in state.items() if name != "_native"})
        if native is not None:
            self._native = _restored(self._machine_name, self._built, native)


def _restored(name: str, built: dict[str, int], state: dict[str, Any]) -> Any:
    """A machine with a state, which has to hold as many numbers as the machine takes memory for."""
    problems = 1 if checked.integer("classes", built["classes"], least=2) == 2 else built["classes"]
    width, rank = checked.integer("width", built["width"]), checked.integer("rank", built.get("rank", 0))
    checked.floats("w", state["w"], (problems * width,))
    if "rank" in built:
        for part in (f"spread_{c}_{side}" for c in range(problems) for side in range(2)):
            checked.floats(part, state[part], (width * (rank or width),))
        checked.floats("h_0_0", state["h_0_0"], (rank,))
    machine = _MACHINES[name](**built)
    machine.set_state(state)
    return machine
