"""The learner of a fold: how it predicts, how it is taught, and how it begins anew."""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._base.validate import Array, Rows
from ..adaptive import AdaptiveSVM
from ..errors import CoreError
from ..store.events import Ints, as_labels
from ..svm import IDSVM, LocalSVM
from ._candidates import labels_of
from ._kept import Kept

_FIRST_ROWS = 1000  # from which a learner takes what depends on features alone
# Their rows have the numbers that they have in the stream. Other learners count on their own: those in
# snapshots of older stores have done so, and to them a number of the stream could be that of another row.
_NUMBERED = (IDSVM, LocalSVM)


def judge(learner: Any, X: Rows) -> tuple[list[Any], Any]:
    """Predictions and decision values of scaled rows; None for each while there is no learner."""
    if learner is None or X.shape[0] == 0:
        return [None] * X.shape[0], None
    scores = np.asarray(learner.decision_function(X))
    return labels_of(learner, scores, X), scores


def teach(learner: Any, X: Rows, labels: list[Any], numbers: Ints, classes: Array | None = None) -> bool:
    """Let a learner learn rows; whether it could. One that fails stays as it was, and the stream goes on."""
    options: dict[str, Any] = {} if classes is None else {"classes": classes}
    if isinstance(learner, _NUMBERED):
        options["ids"] = numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a stream goes on; the scores tell
        try:
            learner.partial_fit(X, as_labels(labels), **options)
        except CoreError:
            return False
    return True


def begin(pattern: Any, rows: Kept, unlabeled: Kept, classes: list[Any], before: Any) -> Any:
    """A new learner that has learned labeled rows; None if it could not.

    What depends on features alone, such as gamma="scale", comes from unlabeled rows, too. A learner that
    weights experts keeps what it knows about them from the one before.
    """
    learner, named = clone(pattern), as_labels(classes)
    if hasattr(learner, "prepare"):
        first = Kept(rows.X, rows.numbers)
        some = Kept(unlabeled.X, unlabeled.numbers)
        some.keep_last(_FIRST_ROWS)
        first.add(some.X, some.numbers)
        learner.prepare(first.X[:_FIRST_ROWS], named)
    if isinstance(learner, AdaptiveSVM):
        return learner.retrain(rows.X, as_labels(rows.labels), before)
    return learner if teach(learner, rows.X, rows.labels, rows.numbers, named) else None
