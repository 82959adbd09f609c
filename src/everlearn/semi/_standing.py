"""A rule that stands between two batches: what a stream knows, predicts by, and saves."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from .._base import checked, constraints
from .._base.decision import Decision, describe, one_class_decision
from .._base.forget import check_ids, refuse_known, refuse_missing
from .._base.validate import Array, check_rows
from .._submodular.choice import Ints
from ._predictor import check_rule, decide, from_state, get_state
from ._rows import UNNAMED, Held
from ._transductive import _as_pairs, _from_pairs

Self = TypeVar("Self", bound="StandingRule")
Floats = npt.NDArray[np.float64]


class StandingRule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base of `StreamS3VM`: the rows held, the s3vm of the last batch, and the rule that it learned."""

    # What it knows beside its parameters, the rows held and the last s3vm.
    _known: ClassVar[tuple[str, ...]] = ()
    _held: tuple[Held, Held]
    _model: Any
    _rows_seen = 0  # for files that do not have it

    @abstractmethod
    def _transducer(self, batch: int) -> Any:
        """What labels the rows of a batch, by its number from 0."""

    @abstractmethod
    def _learn(self, s3vm: Any, old: Held, batch: Held) -> Any:
        """Label a batch together with older rows, and learn the rule."""

    def forget(self: Self, ids: Any) -> Self:
        """Drop rows that are held, and learn again from those that are left.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the rows: the running row numbers, from 0, unless others were given. If one of them is
            not held, nothing is forgotten.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        named, held = check_ids(ids), self.ids_
        refuse_missing(self, named[~np.isin(named, held)])
        before = dict(vars(self))
        try:
            if len(named):
                self._held = (self._held[0].without(named), self._held[1].without(named))
                self._learn(self._transducer(self.n_batches_ - 1), *self._held)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    @property
    def ids_(self) -> Ints:
        """The ids of the rows held, those of the summary first."""
        if not hasattr(self, "_held"):
            raise NotFittedError(f"This {type(self).__name__} has taken in no batch yet: call partial_fit.")
        ids = np.concatenate([held.ids for held in self._held])
        return np.asarray(ids[ids != UNNAMED])

    def _name(self, ids: Any, rows: int) -> Ints:
        """The ids of a batch of so many rows; None continues the running row number."""
        running = np.arange(self._rows_seen, self._rows_seen + rows, dtype=np.int64)
        named = running if ids is None else check_ids(ids, rows)
        refuse_known(self, named, self.ids_)
        self._rows_seen += rows
        return named

    def predict(self, X: Any) -> Array:
        """Predict the class of rows by the rule.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels; the only one while `one_class_` is true.
        """
        model = self._fitted()
        return np.asarray(model.predict(check_rows(self, X, reset=False)), dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> Floats:
        """Score rows: above 0 means the second class, or one column for each class when there are more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values; those of a class that was named and has not been seen are minus infinity.
        """
        model = self._fitted()
        X = check_rows(self, X, reset=False)
        if len(model.classes_) > 1 or len(self.classes_) == 1:
            return np.asarray(decide(model, X, self.classes_))
        if len(self.classes_) == 2:
            return np.full(X.shape[0], 1.0 if model.classes_[0] == self.classes_[1] else -1.0)
        return np.tile(np.where(self.classes_ == model.classes_[0], 1.0, -np.inf), (X.shape[0], 1))

    @property
    def estimator_(self) -> Any:
        """The rule for new rows."""
        return None if self.__dict__.get("_model") is None else self._model.estimator_

    def _fitted(self) -> Any:
        if self.__dict__.get("_model") is None:
            raise NotFittedError(
                f"This {type(self).__name__} has seen no label yet, and abstains: it predicts from the first "
                "batch with a label on."
            )
        return self._model

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            That of the current model.
        """
        model = self._fitted()
        if len(model.classes_) > 1:
            return describe(model).with_classes(self.classes_)
        only = int(np.flatnonzero(self.classes_ == model.classes_[0])[0])
        return one_class_decision(self.classes_, only, self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_model") is not None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------------------------------------------- state

    def _check_savable(self) -> None:
        if hasattr(self, "_held"):
            constraints.check(self)

    def _get_state(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        for name in ("s3vm", "estimator"):
            params[name] = get_state(params[name])
        state: dict[str, Any] = {"params": params}
        if not hasattr(self, "_held"):
            return state
        known = vars(self)
        state["fitted"] = {name: known[name] for name in self._known if name in known}  # in one order, always
        state["fitted"]["positive_fraction_"] = _as_pairs(self.positive_fraction_)
        if self.transduction_.dtype == object:
            state["fitted"]["transduction_"] = self.transduction_.tolist()
        state["held"] = [[held.X, held.numbers, held.ids] for held in self._held]
        state["model"] = get_state(self._model)
        return state

    @classmethod
    def _from_state(cls: type[Self], state: dict[str, Any]) -> Self:
        params = checked.table("params", state["params"])
        for name in ("s3vm", "estimator"):
            params[name] = from_state(checked.table(name, params[name]))
        learner = cls(**params)
        if "fitted" in state:
            constraints.check(learner)
            learner._resume(state, checked.table("fitted", state["fitted"]))
        return learner

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        """Go on from a saved state, after a check that its parts fit together."""
        classes, width = checked.classes("classes_", fitted["classes_"]), checked.features(fitted)
        checked.integer("n_batches_", fitted["n_batches_"])
        checked.integer("_seed", fitted["_seed"], most=2**31)
        checked.integer("_rows_seen", fitted.get("_rows_seen", 0))
        checked.flag("one_class_", fitted["one_class_"])
        checked.items("history_", fitted["history_"])
        fitted["positive_fraction_"] = _from_pairs(fitted["positive_fraction_"])
        if isinstance(fitted["transduction_"], list):
            fitted["transduction_"] = np.fromiter(fitted["transduction_"], dtype=object)
        checked.items_of("transduction_", fitted["transduction_"])
        for name in self._known:
            if name in fitted:
                setattr(self, name, fitted[name])
        first, last = (
            Held.from_state(checked.items("held", parts), len(classes), width)
            for parts in checked.items("held", state["held"], 2)
        )
        if sparse.issparse(first.X) != sparse.issparse(last.X):
            raise ValueError("held must have rows of one kind")
        self._held, self._model = (first, last), from_state(checked.table("model", state["model"]))
        if self._model is not None:
            check_rule(self._model, classes, width)
