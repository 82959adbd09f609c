"""The base of `StreamS3VM`: prediction, forgetting and state between two batches."""

from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import NotFittedError

from .._base import checked, constraints
from .._base.decision import Decision, describe, one_class_decision
from .._base.forget import check_ids, refuse_known, refuse_missing
from .._base.validate import Array, check_rows
from .._submodular.choice import Ints
from ._estimator import SemiSupervised
from ._predictor import check_predictor, decide
from ._rows import UNNAMED, Held

Self = TypeVar("Self", bound="StreamBase")
Floats = npt.NDArray[np.float64]


class StreamBase(SemiSupervised):
    """Base of `StreamS3VM`: the stored rows, and the fitted S3VM of the last batch with its classifier."""

    _mark_of_fit = "_held"
    _held: tuple[Held, Held]
    _model: Any

    @abstractmethod
    def _new_s3vm(self, batch: int) -> Any:
        """The unfitted S3VM for a batch, given the batch number from 0."""

    @abstractmethod
    def _learn(self, s3vm: Any, old: Held, batch: Held) -> Any:
        """Label a batch together with older rows, and train the classifier."""

    def forget(self: Self, ids: Any) -> Self:
        """Forget stored rows, and retrain on the remaining ones.

        Parameters
        ----------
        ids : int or array-like of int
            The ids of the rows: running row numbers from 0, unless `ids` were given. If one of the rows is
            not stored, an error is raised and nothing is forgotten.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        named, held = check_ids(ids), self.ids_
        refuse_missing(self, named[~np.isin(named, held)])
        with self._unchanged_on_error():
            if len(named):
                self._held = (self._held[0].without(named), self._held[1].without(named))
                self._learn(self._new_s3vm(self.n_batches_ - 1), *self._held)
        return self

    @property
    def ids_(self) -> Ints:
        """Ids of the stored rows, those of the summary first."""
        if not hasattr(self, "_held"):
            raise NotFittedError(f"This {type(self).__name__} has not seen a batch yet: call partial_fit.")
        ids = np.concatenate([held.ids for held in self._held])
        return np.asarray(ids[ids != UNNAMED])

    def _name(self, ids: Any, rows: int) -> Ints:
        """The ids of the rows of a batch; None continues the running row number."""
        running = np.arange(self._rows_seen, self._rows_seen + rows, dtype=np.int64)
        named = running if ids is None else check_ids(ids, rows)
        refuse_known(self, named, self.ids_)
        self._rows_seen += rows
        return named

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
        model = self._fitted()
        return np.asarray(model.predict(check_rows(self, X, reset=False)), dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> Floats:
        """Decision values: positive for the second of two classes, or one column for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values; minus infinity for classes that have not been seen.
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
        """The classifier for new rows."""
        return None if self.__dict__.get("_model") is None else self._model.estimator_

    def _fitted(self) -> Any:
        if self.__dict__.get("_model") is None:
            raise NotFittedError(
                f"This {type(self).__name__} has not seen a label yet: call partial_fit with at least one "
                "label."
            )
        return self._model

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The decision function of the current classifier.
        """
        model = self._fitted()
        if len(model.classes_) > 1:
            return describe(model).with_classes(self.classes_)
        only = int(np.flatnonzero(self.classes_ == model.classes_[0])[0])
        return one_class_decision(self.classes_, only, self.n_features_in_)

    def __sklearn_is_fitted__(self) -> bool:
        return self.__dict__.get("_model") is not None

    # ------------------------------------------------------------------------------------------------- state

    def _parts(self) -> dict[str, Any]:
        labels = self.transduction_  # of dtype object, all None, if no label has been seen
        return {
            "transduction": labels.tolist() if labels.dtype == object else labels,
            "positive_fraction": self._as_data(self.positive_fraction_),
            "held": [[held.X, held.numbers, held.ids] for held in self._held],
            "model": self._as_data(self._model),
        }

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        classes, width = checked.classes("classes_", fitted["classes_"]), checked.features(fitted)
        checked.integer("n_batches_", fitted["n_batches_"])
        checked.integer("_seed", fitted["_seed"], most=2**31)
        checked.integer("_rows_seen", fitted["_rows_seen"])
        checked.flag("one_class_", fitted["one_class_"])
        checked.items("history_", fitted["history_"])
        labels = state["transduction"]
        labels = np.fromiter(labels, dtype=object) if isinstance(labels, list) else labels
        super()._resume(state, fitted)
        self.transduction_ = checked.items_of("transduction", labels)
        self.positive_fraction_ = self._from_data(state["positive_fraction"])
        first, last = (
            Held.from_state(checked.items("held", parts), len(classes), width)
            for parts in checked.items("held", state["held"], 2)
        )
        if sparse.issparse(first.X) != sparse.issparse(last.X):
            raise ValueError("held rows must be all dense or all sparse")
        self._held, self._model = (first, last), self._from_data(state["model"])
        if self._model is not None:
            check_predictor(self._model, classes, width)
