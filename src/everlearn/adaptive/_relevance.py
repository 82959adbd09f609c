"""An SVM whose kernel weights columns by their relevance: for problems in which many columns mean nothing.

Relevance of a column: its values are cut at their quintiles, and the bins are compared with the classes. Of
the chi-square statistic, what chance alone would give (the degrees of freedom) is taken away:

    r_j = max(0, (chi2_j - df_j) / n)

Columns are multiplied by w_j = sqrt(max(r_j / max_i r_i, 0.01)), and the kernel is as wide as "scale" makes
it for the weighted rows.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.validate import Rows, as_block
from ._voters import Floats, LearningSet, Scale, SvmVoter, VoterParts
from .experts import Expert

_LEAST_ROWS = 15  # from which relevance is estimated
_NEW = 0.5  # of the rows of the last estimate: after so many new ones there is another
_CUTS = (0.2, 0.4, 0.6, 0.8)
_LEAST_WEIGHT = 0.01


def relevance(X: Floats, labels: npt.NDArray[np.int32], n_classes: int) -> Floats:
    """The relevance of each column for the classes."""
    n, width = X.shape
    cuts = np.quantile(X, _CUTS, axis=0)
    # Of many equal values a cut may be one: values below, at and above it are three bins.
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
    """The SVM of its window on columns weighted by their relevance, which is estimated as rows come in.

    Sparse rows are not weighted.
    """

    def __init__(self, expert: Expert, n_classes: int, scale: Scale, n_features: int) -> None:
        super().__init__(expert, n_classes, scale, n_features)
        self.plain, self.n_features = scale, n_features  # without weights
        self.weights: Floats | None = None  # of the columns
        self.estimated_on = self.since = 0

    def update(self, new: LearningSet, kept: LearningSet) -> None:
        """Learn new rows; after enough of them estimate the relevance of columns, and learn all anew."""
        self.since += len(new.ids)
        window = kept.last(self.window)
        count = window.stop - window.start
        two = len(np.unique(kept.labels[window])) > 1
        if count >= _LEAST_ROWS and two and self.since >= _NEW * self.estimated_on:
            self._estimate(kept, window)
        else:
            super().update(new, kept)

    def follow(self, kept: LearningSet) -> None:
        """Estimate relevance by the rows kept and learn them: nothing remains of a forgotten row."""
        window = kept.last(self.window)
        if window.stop - window.start >= _LEAST_ROWS and len(np.unique(kept.labels[window])) > 1:
            self._estimate(kept, window)
        else:
            self.weights, self.estimated_on, self.since = None, 0, 0
            self.start(self.plain, self.n_features)
            self.hold(kept)

    def _estimate(self, kept: LearningSet, window: slice) -> None:
        X = kept.rows(window)
        if sparse.issparse(X):
            self.hold(kept)
        else:
            found = relevance(X, kept.labels[window], self.n_classes)
            most = float(found.max())
            self.weights = np.sqrt(np.maximum(found / most, _LEAST_WEIGHT)) if most > 0 else None
            self.start(Scale.of(self._weighted(X)), X.shape[1])
            self.hold(kept)
        self.estimated_on, self.since = window.stop - window.start, 0

    def probabilities(self, X: Rows) -> Floats:
        """What it says of rows: decision values as logits."""
        return super().probabilities(self._weighted(X))

    def parts(self) -> VoterParts:
        """What `probabilities` computes."""
        return super().parts()._replace(factors=self.weights)

    def _block(self, X: Rows) -> Any:
        return as_block(self._weighted(X))

    def _weighted(self, X: Rows) -> Rows:
        if self.weights is None:
            return X
        return np.ascontiguousarray((X.toarray() if sparse.issparse(X) else X) * self.weights)

    def state(self) -> dict[str, Any]:
        """What `restore` takes."""
        own = {"weights": self.weights, "estimated_on": self.estimated_on, "since": self.since}
        return super().state() | own

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where another one stood."""
        super().restore(state)
        self.weights = None
        if state["weights"] is not None:
            self.weights = checked.floats("weights", state["weights"], (self.n_features,)).copy()
        self.estimated_on, self.since = (
            checked.integer(name, state[name]) for name in ("estimated_on", "since")
        )
