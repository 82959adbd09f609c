"""A classifier that cannot learn in parts, such as `VIRTUAL`, fitted again on all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

Rows = NDArray[np.float64]
_EVERY_LABEL = 100  # up to so many labels it is fitted after each, then when they have grown by a part of 50
_GROWTH = 50
_SUREST = 1e-6  # of a probability: its log-odds are finite


class Refitted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns in parts with a classifier that does not: it keeps the rows, and fits a copy on all of them.

    Parameters
    ----------
    learner : classifier
        A classifier with ``fit`` and ``decision_function`` or ``predict_proba``.
    """

    def __init__(self, learner: Any) -> None:
        scores = hasattr(learner, "decision_function") or hasattr(learner, "predict_proba")
        if not (scores and hasattr(learner, "fit")):
            raise TypeError(
                f"learner must be a classifier with decision_function or predict_proba, got {learner!r}."
            )
        self.learner = learner
        self.fitted: Any = None
        self._rows: list[Rows] = []
        self._labels: list[NDArray[np.int64]] = []
        self._n_fitted = 0

    def __repr__(self) -> str:
        return repr(self.learner)

    def fit(self, X: Rows, y: NDArray[np.int64]) -> Refitted:
        """Learn rows, and nothing else."""
        self._rows, self._labels, self._n_fitted, self.fitted = [], [], 0, None
        self.partial_fit(X, y)
        return self.finish()

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Refitted:
        """Learn more rows; fits again unless there are few more than at the last time."""
        if classes is not None:
            self.classes_ = np.asarray(classes)
        self._rows.append(np.asarray(X, dtype=np.float64))
        self._labels.append(np.asarray(y))
        n = sum(map(len, self._labels))
        if n <= _EVERY_LABEL or n - self._n_fitted >= n // _GROWTH:
            self.finish()
        return self

    def finish(self) -> Refitted:
        """Fit again on all rows, if there are more than at the last time and both classes are there."""
        labels = np.concatenate(self._labels)
        if len(labels) > self._n_fitted and len(np.unique(labels)) > 1:
            self.fitted = clone(self.learner).fit(np.concatenate(self._rows), labels)
            self.classes_, self._n_fitted = self.fitted.classes_, len(labels)
        return self

    def resume(self, fitted: Any, X: Rows, y: NDArray[np.int64]) -> None:
        """Continue with a classifier that was fitted on these rows."""
        self._rows, self._labels = [X], [y]
        if hasattr(fitted, "classes_"):
            self.fitted, self.classes_, self._n_fitted = fitted, fitted.classes_, len(y)

    def decision_function(self, X: Any) -> Rows:
        """Score rows: decision values, or log-odds of a classifier that has only probabilities.

        As long as all labels are of one class, every row is taken for it.
        """
        if not self._labels:
            raise NotFittedError("There are no labels yet: call fit, or partial_fit.")
        if self.fitted is None:
            one = self._labels[0][0] == self.classes_[-1]
            return np.full(len(X), 1.0 if one else -1.0)
        if hasattr(self.fitted, "decision_function"):
            return np.asarray(self.fitted.decision_function(X))
        odds = np.clip(self.fitted.predict_proba(X)[:, 1], _SUREST, 1 - _SUREST)
        return np.asarray(np.log(odds / (1 - odds)))
