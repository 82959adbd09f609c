"""An SVM whose kernel weights features by their relevance, for data with many irrelevant features.

The values of a feature are binned at their quintiles, and the bins are compared with the classes. The
relevance is the chi-square statistic minus its expectation under independence, the degrees of freedom:

    r_j = max(0, (chi2_j - df_j) / n)

Features are multiplied by w_j = sqrt(max(r_j / max_i r_i, 0.01)). gamma="scale" is computed from the weighted
rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.validate import Rows, as_block
from ._voters import Floats, LearningSet, Scale, SvmVoter, VoterParts
from .experts import Expert

_MIN_ROWS = 15  # rows needed to estimate the relevance
_NEW_FRACTION = 0.5  # the estimate is renewed after this many new rows, relative to the last estimate
_CUTS = (0.2, 0.4, 0.6, 0.8)
_MIN_WEIGHT = 0.01


def relevance(X: Floats, labels: npt.NDArray[np.int32], n_classes: int) -> Floats:
    """The relevance of each feature for the classes."""
    n, width = X.shape
    cuts = np.quantile(X, _CUTS, axis=0)
    # A cut may be a value that occurs often, so values below, at and above a cut are three bins.
    bins = sum((cut < X).astype(np.intp) + (cut <= X) for cut in cuts)
    n_bins = 2 * len(_CUTS) + 1
    places = (np.arange(width) * n_bins + bins) * n_classes + labels[:, np.newaxis]
    table = np.bincount(places.ravel(), minlength=width * n_bins * n_classes)
    table = table.reshape(width, n_bins, n_classes).astype(np.float64)
    expected = table.sum(axis=2, keepdims=True) * (np.bincount(labels, minlength=n_classes) / n)
    chi2 = np.where(expected > 0, (table - expected) ** 2 / np.where(expected > 0, expected, 1.0), 0.0)
    n_used = (table.sum(axis=2) > 0).sum(axis=1)
    freedom = (n_used - 1) * (len(np.unique(labels)) - 1)
    return np.asarray(np.maximum((chi2.sum(axis=(1, 2)) - freedom) / n, 0.0))


class RelevanceVoter(SvmVoter):
    """The SVM of its window, on features weighted by their relevance, which is re-estimated along the stream.

    Sparse rows are not weighted.
    """

    def __init__(self, expert: Expert, n_classes: int, scale: Scale, n_features: int) -> None:
        super().__init__(expert, n_classes, scale, n_features)
        self.unweighted_scale, self.n_features = scale, n_features
        self.weights: Floats | None = None  # of the features
        self.estimated_on = self.since = 0

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Learn new rows; after enough of them estimate the relevance again and retrain."""
        self.since += len(new.ids)
        window = kept.last(self.window)
        count = window.stop - window.start
        two = len(np.unique(kept.labels[window])) > 1
        if count >= _MIN_ROWS and two and self.since >= _NEW_FRACTION * self.estimated_on:
            self._estimate(kept, window)
        else:
            super().update(new, kept)

    def follow(self, kept: LearningSet) -> None:
        """Estimate the relevance from the rows kept and retrain: forgotten rows leave no trace."""
        window = kept.last(self.window)
        if window.stop - window.start >= _MIN_ROWS and len(np.unique(kept.labels[window])) > 1:
            self._estimate(kept, window)
        else:
            self.weights, self.estimated_on, self.since = None, 0, 0
            self.start(self.unweighted_scale, self.n_features)
            self.hold(kept)

    def _estimate(self, kept: LearningSet, window: slice) -> None:
        X = kept.rows(window)
        if sparse.issparse(X):
            self.hold(kept)
        else:
            found = relevance(X, kept.labels[window], self.n_classes)
            most = float(found.max())
            self.weights = np.sqrt(np.maximum(found / most, _MIN_WEIGHT)) if most > 0 else None
            self.start(Scale.of(self._weighted(X)), X.shape[1])
            self.hold(kept)
        self.estimated_on, self.since = window.stop - window.start, 0

    def probabilities(self, X: Rows) -> Floats:
        """Class probabilities: softmax of the decision values."""
        return super().probabilities(self._weighted(X))

    def parts(self) -> VoterParts:
        """`probabilities` as data."""
        return super().parts()._replace(factors=self.weights)

    def _block(self, X: Rows) -> Any:
        return as_block(self._weighted(X))

    def _weighted(self, X: Rows) -> Rows:
        if self.weights is None:
            return X
        return np.ascontiguousarray((X.toarray() if sparse.issparse(X) else X) * self.weights)

    def state(self) -> dict[str, Any]:
        """The state for `restore`."""
        own = {"weights": self.weights, "estimated_on": self.estimated_on, "since": self.since}
        return super().state() | own

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        super().restore(state)
        self.weights = None
        if state["weights"] is not None:
            self.weights = checked.floats("weights", state["weights"], (self.n_features,)).copy()
        self.estimated_on, self.since = (
            checked.integer(name, state[name]) for name in ("estimated_on", "since")
        )
