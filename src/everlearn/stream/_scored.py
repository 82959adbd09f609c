"""A model together with its scores of some rows, so that a query strategy does not score them again."""

from typing import Any

import numpy as np

from .._base.validate import Array, Rows


def labels_of(model: Any, scores: Any, X: Rows) -> list[Any]:
    """The labels that a model predicts for rows whose decision values are known."""
    if hasattr(model, "labels_of"):
        return list(model.labels_of(scores).tolist())
    return list(model.predict(X).tolist())


class Scored:
    """Stands for a model toward strategies that look at decision values only.

    For its own rows, the very array, scores are computed once or were known before; for all others, and in
    every other respect, it is the model.
    """

    def __init__(self, model: Any, X: Rows, scores: Any = None) -> None:
        self.model, self.X, self._scores = model, X, scores

    @property
    def scores(self) -> Array:
        """The decision values of its rows."""
        if self._scores is None:
            self._scores = np.asarray(self.model.decision_function(self.X))
        return np.asarray(self._scores)

    def decision_function(self, X: Any) -> Any:
        """Score rows."""
        return self.scores if X is self.X else self.model.decision_function(X)

    def at(self, places: Any) -> "Scored":
        """The same for some of its rows."""
        return Scored(self.model, self.X[places], self.scores[places])

    def predictions(self) -> list[Any]:
        """What the model predicts for its rows."""
        return labels_of(self.model, self.scores, self.X)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)
