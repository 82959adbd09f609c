"""A model and its pool: scoring and learning by row number, with the rows validated once."""

from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base.forget import ForgettingLearner
from .._base.learner import KernelLearner
from .._base.online import OnlineLearner, StreamLearner
from ..svm import LASVM
from ._rows import FIRST_ROWS, Places, take
from ._scores import Scores, ScoresNotFinite, class_scores, has_learned

# Bytes up to which a pool that must be converted is converted as a whole; a larger one is row by row.
_MAX_CONVERTED = 256 * 2**20


class PoolModel:
    """A model and the pool that it learns from.

    Problem: validating one row costs more than learning it. everlearn's learners have methods that take
    validated rows; for them the pool is validated once, after the model has seen its first label. Every other
    model is called through its public methods.

    ``version`` changes whenever the model does: scores are valid as long as it stays the same.
    """

    def __init__(self, model: Any, X: Any, classes: npt.NDArray[Any]) -> None:
        self.model, self.X, self.classes = model, X, classes
        self.version = 0
        self.finishes = isinstance(model, LASVM)
        if self.finishes:
            model.keep_all_rows()
        self.ready = has_learned(model)
        self.rows = X
        self.validated = self.ready and self._validate()

    def scores(self, rows: Any) -> Scores:
        """Scores of rows of the pool, given as ``self.rows`` has them."""
        if not self.validated:
            return class_scores(self.model, rows)
        found = self.model.score_validated(rows)
        if not np.isfinite(found).all():
            raise ScoresNotFinite(f"The scores of {type(self.model).__name__} contain NaN or infinity.")
        return found  # type: ignore[no-any-return]

    def scores_at(self, numbers: Places) -> Scores:
        """Scores of rows by their numbers."""
        return self.scores(take(self.rows, numbers))

    def learn(self, row: int, label: Any, weight: float = 1.0) -> int | None:
        """Learn a label; returns the id by which the model can forget it, None if it cannot forget."""
        self.version += 1
        labels = np.asarray([label], self.classes.dtype)
        weights = None if weight == 1.0 else np.array([weight])
        if not self.ready and isinstance(self.model, OnlineLearner):
            self.model.prepare(take(self.X, slice(0, FIRST_ROWS)), self.classes)
        if not self.validated and has_learned(self.model):
            self.validated = self._validate()
        if self.validated:
            ids = self.model.learn_validated(self.rows[row : row + 1], labels, weights)
            self.ready = True
            return int(ids[0])
        options = {} if self.ready else {"classes": self.classes}
        if weights is not None and "sample_weight" in signature(self.model.partial_fit).parameters:
            options["sample_weight"] = weights
        self.model.partial_fit(take(self.X, np.array([row])), labels, **options)
        self.ready = True
        return self.model.last_id if isinstance(self.model, StreamLearner) else None

    def forget(self, row_id: int | None) -> bool:
        """Let the model forget a row; returns whether it could."""
        model = self.model
        if row_id is None or not isinstance(model, ForgettingLearner):
            return False
        if len(model.missing_ids(np.array([row_id]))):  # dropped by a window or a budget
            return False
        self.version += 1
        model.forget([row_id])
        return True

    def finish(self) -> None:
        """Optimize the model on the rows that it keeps."""
        self.version += 1
        self.model.finish()

    def n_support(self) -> int | None:
        """The number of support vectors; None if the model has no such attribute."""
        support = getattr(self.model, "support_", None)
        return None if support is None else len(support)

    def free_margin(self) -> float | None:
        """The largest |f| over the free support vectors; None if there are none."""
        return self.model.free_margin() if isinstance(self.model, KernelLearner) else None

    def _validate(self) -> bool:
        """Validate the pool, if the model takes validated rows and the pool is not too large to convert."""
        if not (isinstance(self.model, StreamLearner) and self.model.takes_validated_rows()):
            return False
        ready = isinstance(self.X, np.ndarray) or sparse.issparse(self.X)
        ready = ready and self.X.dtype in (np.float32, np.float64)
        if not ready and 8 * self.X.shape[0] * self.X.shape[1] > _MAX_CONVERTED:
            return False
        self.rows = self.model.validate_rows(self.X)
        return True
