"""The base of the semi-supervised learners: saves the classifiers they contain."""

from typing import Any

from sklearn.base import ClassifierMixin

from .._base.estimator import Estimator
from ._predictor import describe, revive


class SemiSupervised(ClassifierMixin, Estimator):  # type: ignore[misc]
    """Base of the semi-supervised learners; their classifiers may be scikit-learn's `LinearSVC`."""

    @classmethod
    def _as_data(cls, value: Any) -> Any:
        return describe(value) if hasattr(value, "fit") else super()._as_data(value)

    @classmethod
    def _from_data(cls, value: Any) -> Any:
        is_model = isinstance(value, dict) and "items" not in value
        return revive(value) if is_model else super()._from_data(value)
