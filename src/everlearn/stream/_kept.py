"""Rows that are kept: a bounded number of them, by their numbers, with labels or without."""

from typing import Any

import numpy as np
from scipy import sparse

from .._base import checked
from .._base.validate import Array, Rows
from ..store.events import Floats, Ints, as_labels


class Kept:
    """Rows by number, in the order in which they were added.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), default=None
        The rows; None while there are none.
    numbers : ndarray of shape (n,), default=None
        Their numbers.
    labels : list, default=None
        Their labels, where there are any.
    """

    def __init__(self, X: Rows = None, numbers: Ints | None = None, labels: list[Any] | None = None) -> None:
        self.X = X
        self.numbers = np.zeros(0, dtype=np.int64) if numbers is None else numbers
        self.labels = [] if labels is None else labels

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, X: Rows, numbers: Ints, labels: list[Any] | None = None) -> None:
        """Add rows behind the others."""
        if len(numbers) == 0:
            return
        if self.X is None or len(self) == 0:
            self.X = X.copy()
        elif sparse.issparse(self.X):
            self.X = sparse.csr_matrix(sparse.vstack([self.X, X]))
        else:
            self.X = np.concatenate([self.X, X.toarray() if sparse.issparse(X) else X])
        self.numbers = np.concatenate([self.numbers, numbers])
        self.labels = self.labels + ([] if labels is None else list(labels))

    def keep(self, places: Ints) -> None:
        """Keep the rows at these places only, in their order."""
        places = np.sort(places)
        if len(places) == len(self):
            return
        self.X, self.numbers = self.X[places], self.numbers[places]
        if self.labels:
            self.labels = [self.labels[place] for place in places.tolist()]

    def remove(self, numbers: Ints) -> None:
        """Remove rows by their numbers; those that are not here are not missed."""
        if len(self) and len(numbers):
            self.keep(np.flatnonzero(~np.isin(self.numbers, numbers)))

    def keep_last(self, count: int) -> None:
        """Keep the newest rows, so many at most."""
        if len(self) > count:
            self.keep(np.arange(len(self) - count, len(self)))

    def find(self, numbers: Ints) -> Ints:
        """The places of rows, -1 for those that are not here."""
        order = np.argsort(self.numbers, kind="stable")
        at = np.searchsorted(self.numbers[order], numbers)
        at[at == len(order)] = 0
        found = order[at] if len(order) else np.zeros(len(numbers), dtype=np.int64)
        there = self.numbers[found] == numbers if len(order) else np.zeros(len(numbers), dtype=bool)
        return np.where(there, found, -1)

    def label_array(self) -> Array:
        """The labels as an array."""
        return as_labels(self.labels)

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        return {"X": self.X, "numbers": self.numbers, "labels": list(self.labels)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Kept":
        """The rows that `state` described."""
        numbers = checked.integers("numbers", state["numbers"], (None,))
        labels, n = checked.items("labels", state["labels"]), len(numbers)
        if len(labels) not in (0, n):
            raise ValueError(f"labels must be as many as the {n} rows, got {len(labels)}")
        if state["X"] is not None or n:
            checked.rows("X", state["X"], n, None)
        return cls(state["X"], numbers, labels)


def newer_first(numbers: Ints, half_life: float, random: np.random.Generator) -> Floats:
    """Keys by which the largest are a random sample in which a row's odds halve with every half-life of rows.

    Each row has the weight w = 2^(number / half_life), and the largest keys log(u) / w, with u uniform, are a
    sample without replacement (Efraimidis and Spirakis, 2006). In logarithms nothing overflows: keys here are
    log w - log(-log u).
    """
    u = random.random(len(numbers))
    return np.asarray(np.log(2) * numbers / half_life - np.log(-np.log(np.maximum(u, 1e-300))))
