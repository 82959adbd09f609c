"""The base of all estimators: checked parameters, refused calls without effect, a state that can be saved."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from . import checked, constraints, persist
from .parameters import SHARED, Table
from .validate import Array

Self = TypeVar("Self", bound="Estimator")


@contextmanager
def unchanged_on_error(estimator: Any, errors: type[BaseException] = BaseException) -> Iterator[None]:
    """Around calls that may fail: after an error all attributes of an object are as before."""
    before = dict(vars(estimator))
    try:
        yield
    except errors:
        estimator.__dict__ = before
        raise


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.

    Invariants: reading an attribute or asking for a prediction changes nothing. A call that is refused before
    it learns leaves the estimator as it was, because methods bind attributes again and never change their
    values in place.

    ``_constraints`` lists what the parameters of a class accept; parameters with a name in
    `parameters.SHARED` need not be listed. ``_fitted_attributes`` are saved as they are; a class with other
    parts saves them in `_parts` and takes them back in `_resume`.
    """

    _constraints: ClassVar[Table] = {}
    _fitted_attributes: ClassVar[tuple[str, ...]] = ()
    _mark_of_fit: ClassVar[str]  # the attribute that a fitted estimator has and an unfitted one has not

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        names = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        listed: Table = {}
        for base in reversed(cls.__mro__):
            listed |= vars(base).get("_constraints", {})
        if "__init__" in vars(cls):
            if unknown := vars(cls).get("_constraints", {}).keys() - set(names):
                raise TypeError(f"{cls.__name__} has constraints, but no parameters, named {unknown}.")
            listed = {name: (SHARED | listed)[name] for name in names if name in SHARED or name in listed}
        cls._constraints = listed

    def _store(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of a constructor, its ``locals()``, under their names, as `clone` requires."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def _unchanged_on_error(
        self, errors: type[BaseException] = BaseException
    ) -> AbstractContextManager[None]:
        """Around what may be refused: after an error all attributes are as before."""
        return unchanged_on_error(self, errors)

    # ---------------------------------------------------------------------------------------------- fitted

    def __sklearn_is_fitted__(self) -> bool:
        return self._mark_of_fit in vars(self)

    def _check_fitted(self) -> None:
        """Raise if there is no model yet. scikit-learn's check costs more than a prediction of one row."""
        if not self.__sklearn_is_fitted__():
            calls = "fit or partial_fit" if hasattr(self, "partial_fit") else "fit"
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call {calls} first.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ----------------------------------------------------------------------------------------------- state

    def _check_savable(self) -> None:
        """Raise if a fitted estimator has parameters that loading would refuse."""
        if self._mark_of_fit in vars(self):
            constraints.check(self)

    def _get_state(self) -> dict[str, Any]:
        """The parameters and what was learned, as data that `persist.save` can write."""
        params = self.get_params(deep=False)
        state: dict[str, Any] = {"params": {name: self._as_data(value) for name, value in params.items()}}
        if self._mark_of_fit in vars(self):
            known = vars(self)
            state["fitted"] = {name: known[name] for name in self._fitted_attributes if name in known}
            state |= self._parts()
        return state

    @classmethod
    def _from_state(cls: type[Self], state: dict[str, Any]) -> Self:
        """The estimator that `_get_state` described; an error if parts of the state do not fit together."""
        params = checked.table("params", state["params"])
        made = cls(**{name: cls._from_data(value) for name, value in params.items()})
        if "fitted" in state:
            constraints.check(made)
            made._resume(state, checked.table("fitted", state["fitted"]))
        return made

    @classmethod
    def _as_data(cls, value: Any) -> Any:
        """A parameter as data: an estimator by its class and state, a mapping with any keys by its items."""
        if isinstance(value, Mapping):
            return {"items": [list(item) for item in value.items()]}
        return persist.describe(value) if hasattr(value, "get_params") else value

    @classmethod
    def _from_data(cls, value: Any) -> Any:
        """The parameter that `_as_data` described."""
        if not isinstance(value, dict):
            return value
        return dict(value["items"]) if "items" in value else persist.revive(value)

    def _parts(self) -> dict[str, Any]:
        """What a fitted estimator consists of beside ``_fitted_attributes``, as data."""
        return {}

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        """Take a saved state over; subclasses check the parts they rely on."""
        checked.features(fitted)
        for name in self._fitted_attributes:
            if name in fitted:
                setattr(self, name, fitted[name])


class ScoringClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier whose predictions follow from its decision values: above 0, or the largest of each row."""

    classes_: Array

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Validate rows and score them: one column for each binary problem, that is one for two classes."""
        raise NotImplementedError

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
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

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
        """Turn decision values into labels.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            From `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        if len(scores) == 1:  # the same, without arrays in between
            number = int(scores[0] > 0) if scores.ndim == 1 else int(scores.argmax())
            return self.classes_[number : number + 1].copy()
        numbers = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[numbers])


def kernel_tags(tags: Any, kernel: Any) -> Any:
    """Tags of an estimator with a kernel: a precomputed one is a square matrix, which is dense."""
    tags.input_tags.sparse = kernel != "precomputed"
    tags.input_tags.pairwise = kernel == "precomputed"
    return tags
