"""The store of labeled rows: features, class codes, weights and ids, oldest first."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._base import checked
from .._base.validate import Rows
from ._voters import Floats, Ints

Codes = npt.NDArray[np.int32]


class LabeledRows:
    """A bounded store of labeled rows.

    Old rows are dropped in chunks of a tenth, so that the amortized cost per row is constant.
    """

    def __init__(self, X: Rows = None) -> None:
        self.X = X
        self.labels: Codes = np.zeros(0, dtype=np.int32)
        self.weights: Floats = np.zeros(0)
        self.ids: Ints = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, X: Rows, labels: Codes, weights: Floats, ids: Ints) -> None:
        """Append rows; all are stored sparse if the first ones are sparse."""
        if self.X is None or len(self) == 0:
            self.X = X.copy()
        elif sparse.issparse(self.X):
            self.X = sparse.csr_matrix(sparse.vstack([self.X, X]))
        else:
            self.X = np.vstack([self.X, X.toarray() if sparse.issparse(X) else X])
        self.labels = np.concatenate([self.labels, labels])
        self.weights = np.concatenate([self.weights, weights])
        self.ids = np.concatenate([self.ids, ids])

    def trim(self, most: int) -> None:
        """Drop the oldest rows when the store is a tenth too large."""
        if len(self) > most + max(most // 10, 1):
            self.keep(np.arange(len(self) - most, len(self)))

    def keep(self, places: npt.NDArray[np.intp]) -> None:
        """Keep the rows at these positions and drop the others."""
        self.X, self.labels = self.X[places], self.labels[places]
        self.weights, self.ids = self.weights[places], self.ids[places]

    def state(self) -> dict[str, Any]:
        """The state for `from_state`."""
        return {"X": self.X, "labels": self.labels, "weights": self.weights, "ids": self.ids}

    @classmethod
    def from_state(cls, state: dict[str, Any], n_classes: int, width: int) -> "LabeledRows":
        """Restore the rows from a state, checked against the numbers of classes and features."""
        rows = cls(state["X"])
        rows.ids = checked.array("ids", state["ids"], np.int64, (None,))
        n = len(rows)
        if len(np.unique(rows.ids)) < n:
            raise ValueError("ids must be unique")
        rows.labels = checked.integers("labels", state["labels"], (n,), most=n_classes - 1, dtype=np.int32)
        rows.weights = checked.floats("weights", state["weights"], (n,), least=0.0)
        if rows.X is not None or n:
            checked.rows("X", rows.X, n, width)
        return rows
