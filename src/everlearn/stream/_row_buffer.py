"""RowBuffer: rows in memory with their numbers, labeled or not."""

from typing import Any

import numpy as np
from scipy import sparse

from .._base import checked
from .._base.validate import Array, Rows
from ..store.events import Floats, Ints, as_labels

_ROOM = 64  # rows, and a quarter of those there, by which the arrays of a buffer grow


class RowBuffer:
    """Rows by number, in the order in which they were added.

    Dense rows are appended in place, to arrays with room for more. ``X`` and ``numbers`` are views of them.
    What a view shows never changes: a row that was written is not written again. ``labels`` is a list that
    grows and shrinks with the buffer; a list that was passed to the constructor stays as it is.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d), default=None
        The rows; None if there are none yet.
    numbers : ndarray of shape (n,), default=None
        Their numbers.
    labels : list, default=None
        Their labels, if they are labeled rows.
    """

    def __init__(self, X: Rows = None, numbers: Ints | None = None, labels: list[Any] | None = None) -> None:
        self.X = X
        self.numbers = np.zeros(0, dtype=np.int64) if numbers is None else numbers
        self.labels = [] if labels is None else labels
        self._own_labels: list[Any] | None = None  # the list, if this buffer may change it in place
        self._arrays: tuple[Any, Any] | None = None  # with room for more rows
        self._views: tuple[Any, Any] = None, None  # X and numbers, if they are views of these arrays
        self._end = 0  # of the rows in the arrays

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, X: Rows, numbers: Ints, labels: list[Any] | None = None) -> None:
        """Append rows."""
        if len(numbers) == 0:
            return
        if self.X is None or len(self) == 0:
            self.X, self.numbers = X.copy(), numbers.copy()
        elif sparse.issparse(self.X):
            self.X = sparse.csr_matrix(sparse.vstack([self.X, X]))
            self.numbers = np.concatenate([self.numbers, numbers])
        else:
            self._append(X.toarray() if sparse.issparse(X) else X, numbers)
        if labels:
            self._make_labels_own()
            self.labels.extend(labels)

    def _append(self, X: Array, numbers: Ints) -> None:
        end, more = self._end, len(numbers)
        if self._arrays is None or not self._shown() or end + more > len(self._arrays[1]):
            end = len(self)
            room = end + more + end // 4 + _ROOM
            self._arrays = np.zeros((room, X.shape[1])), np.zeros(room, dtype=np.int64)
            self._arrays[0][:end], self._arrays[1][:end] = self.X, self.numbers
        first, self._end = end - len(self), end + more
        self._arrays[0][end : self._end], self._arrays[1][end : self._end] = X, numbers
        self._show(first)

    def _shown(self) -> bool:
        """Whether X and numbers are views of the arrays, and were not set to others."""
        return self._arrays is not None and self.X is self._views[0] and self.numbers is self._views[1]

    def _show(self, first: int) -> None:
        assert self._arrays is not None
        rows, numbers = self._arrays
        self._views = rows[first : self._end], numbers[first : self._end]
        self.X, self.numbers = self._views

    def keep(self, places: Ints) -> None:
        """Keep only the rows at these positions, in their order."""
        places = np.sort(places)
        if len(places) == len(self):
            return
        self.X, self.numbers = self.X[places], self.numbers[places]
        self._arrays, self._views = None, (None, None)  # rows that were removed do not stay in memory
        if self.labels:
            self.labels = [self.labels[place] for place in places.tolist()]

    def drop(self, place: int) -> None:
        """Remove the row at one position."""
        self.keep(np.delete(np.arange(len(self)), place))

    def remove(self, numbers: Ints) -> None:
        """Remove rows by their numbers; numbers that are not in the buffer are ignored.

        None of their values stays in memory, even if `keep_last` has left them out of the views before.
        """
        if len(self) and len(numbers):
            if self._shown():
                self.X, self.numbers = self.X.copy(), self.numbers.copy()
            self._arrays, self._views = None, (None, None)
            self.keep(np.flatnonzero(~np.isin(self.numbers, numbers)))

    def keep_last(self, count: int) -> None:
        """Keep the newest ``count`` rows."""
        if len(self) <= count:
            return
        if count and self._shown():
            self._show(self._end - count)
            self._make_labels_own()
            del self.labels[:-count]
        else:
            self.keep(np.arange(len(self) - count, len(self)))

    def _make_labels_own(self) -> None:
        if self.labels is not self._own_labels:
            self.labels = self._own_labels = list(self.labels)

    def find(self, numbers: Ints) -> Ints:
        """The positions of rows, -1 for those that are not in the buffer."""
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
        """The rows as plain values, for `from_state`."""
        return {"X": self.X, "numbers": self.numbers, "labels": list(self.labels)}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "RowBuffer":
        """Create a buffer from its `state`."""
        numbers = checked.integers("numbers", state["numbers"], (None,))
        labels, n = checked.items("labels", state["labels"]), len(numbers)
        if len(labels) not in (0, n):
            raise ValueError(f"labels must have one entry for each of {n} rows, got {len(labels)}")
        if state["X"] is not None or n:
            checked.rows("X", state["X"], n, None)
        return cls(state["X"], numbers, labels)


def recency_keys(numbers: Ints, half_life: float, random: np.random.Generator) -> Floats:
    """Random keys: the rows with the largest ones are a sample that favors recent rows.

    A row has the weight w = 2^(number / half_life). The rows with the largest log(u) / w, u uniform, are a
    weighted sample without replacement (Efraimidis and Spirakis, 2006). The keys are log w - log(-log u),
    which has the same order and does not overflow.
    """
    u = random.random(len(numbers))
    return np.asarray(np.log(2) * numbers / half_life - np.log(-np.log(np.maximum(u, 1e-300))))
