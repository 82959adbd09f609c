"""The result of `IDSVM.leave_one_out`."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._base.validate import Array, Ints


@dataclass(frozen=True)
class LeaveOneOut:
    """Scores of rows by models that were trained without them.

    Parameters
    ----------
    ids : ndarray of shape (n_kept,)
        The ids of the rows, in order of arrival.
    labels : ndarray of shape (n_kept,)
        Their true labels.
    scores : ndarray of shape (n_kept,) or (n_kept, n_classes)
        The decision values, each by the model trained on all other rows.
    predictions : ndarray of shape (n_kept,)
        The labels predicted from them.
    """

    ids: Ints
    labels: Array
    scores: npt.NDArray[np.float64]
    predictions: Array

    @property
    def error(self) -> float:
        """The fraction of rows predicted wrongly: an almost unbiased estimate of the error on new rows."""
        return float(np.mean(self.predictions != self.labels)) if len(self.labels) else float("nan")
