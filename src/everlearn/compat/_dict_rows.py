"""Rows as dicts: feature names as columns, the choice of dense or sparse rows, and a bounded row memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Row = tuple[NDArray[np.int32], Floats]  # columns and values of the nonzero features

_DENSE_NAMES = 64  # rows with at most this many feature names are dense
_DENSE_FRACTION = 0.25  # with more names, rows are dense if at least this fraction of the values is nonzero
_MAX_WIDENINGS = 3  # dense rows become sparse when they have been widened more often than this


class Names:
    """The columns of feature names. Immutable: a new name makes a new object.

    Parameters
    ----------
    names : iterable
        The names in the order of their columns.
    limit : int
        Maximum number of columns.
    """

    def __init__(self, names: Iterable[Any], limit: int) -> None:
        self.order = list(names)
        self.column = {name: column for column, name in enumerate(self.order)}
        self.limit = limit

    def __len__(self) -> int:
        return len(self.order)

    def extended(self, names: Iterable[Any]) -> Names:
        """Add new names in sorted order, up to the limit; the same object if there are none."""
        column = self.column
        new = [name for name in names if name not in column]
        if not new or len(self) >= self.limit:
            return self
        return Names([*self.order, *sorted(new, key=str)][: self.limit], self.limit)

    def row(self, x: dict[Any, Any]) -> Row:
        """A dict as a sparse row; names without a column are ignored."""
        entries = {}
        for name, given in x.items():
            value = number(name, given)
            if value != 0 and name in self.column:
                entries[self.column[name]] = value
        places = sorted(entries)
        values = np.array([entries[place] for place in places], dtype=np.float64)
        return np.array(places, dtype=np.int32), values

    def complete(self, x: dict[Any, Any], width: int) -> Floats | None:
        """A dict with exactly these names, `width` of them, as a matrix of one dense row; else None."""
        if not len(x) == width == len(self.order):
            return None
        try:
            values = [x[name] for name in self.order]
            if not math.isfinite(sum(values)):
                return None
            row = np.array([values], dtype=np.float64)
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        return row if row.ndim == 2 else None

    def dense(self, x: dict[Any, Any], width: int) -> Floats:
        """A dict as a dense row with `width` columns."""
        row = self.complete(x, width)
        if row is not None:
            return row
        values = [0.0] * width
        for name, given in x.items():
            value = number(name, given)
            place = self.column.get(name, width)
            if place < width:
                values[place] = value
        return np.array([values])


def sparse_row(row: Row | Floats) -> Row:
    """The nonzero features of a row that may be dense, in one dimension."""
    if isinstance(row, tuple):
        return row
    places = np.flatnonzero(row)
    return places.astype(np.int32), row[places]


def number(name: Any, given: Any) -> float:
    """The value of a feature as a float; ValueError if it is not a finite number."""
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise ValueError(
            f"The feature {name!r} is {given!r}, but must be a number: encode it, for example with "
            "river.preprocessing.OneHotEncoder."
        ) from None
    if not math.isfinite(value):
        raise ValueError(
            f"The feature {name!r} is {given!r}, but NaN and infinite values are not supported: omit it, or "
            "impute it, for example with river.preprocessing.StatImputer."
        )
    return value


class Layout:
    """The format of the rows that a learner gets: dense, or sparse with the maximum number of columns.

    Parameters
    ----------
    width : int
        Number of columns.
    is_dense : bool
        Whether rows are dense.
    widenings : int
        Number of times that columns were added for new names.
    """

    def __init__(self, width: int, is_dense: bool, widenings: int = 0) -> None:
        self.width, self.is_dense, self.widenings = width, is_dense, widenings

    @classmethod
    def choose(cls, names: Names, rows: list[Row], before: Layout | None) -> Layout:
        """Choose the layout for rows, given the previous layout."""
        widenings = 0 if before is None else before.widenings + (before.width < len(names))
        nonzero = sum(len(places) for places, _ in rows) / max(len(rows) * len(names), 1)
        suits_dense = len(names) <= _DENSE_NAMES or nonzero >= _DENSE_FRACTION
        was_dense = before is None or before.is_dense
        if suits_dense and was_dense and widenings <= _MAX_WIDENINGS:
            return cls(max(len(names), 1), True, widenings)
        return cls(names.limit, False, widenings)

    def holds(self, names: Names) -> bool:
        """Whether there is a column for every name."""
        return len(names) <= self.width

    def matrix(self, rows: list[Row]) -> Any:
        """Rows as a dense array or a CSR matrix."""
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        places = np.concatenate([places for places, _ in rows]) if rows else np.empty(0, dtype=np.int32)
        values = np.concatenate([values for _, values in rows]) if rows else np.empty(0)
        if not self.is_dense:
            return sparse.csr_matrix((values, places, ends), shape=(len(rows), self.width))
        dense = np.zeros((len(rows), self.width))
        dense[np.repeat(np.arange(len(rows)), np.diff(ends)), places] = values
        return dense


class Memory:
    """The most recent rows of each class.

    Parameters
    ----------
    size : int
        Maximum number of rows, divided equally among the classes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[deque[tuple[int, Row | Floats]]] = []  # for each class, with the arrival number
        self.arrived = 0

    def add(self, row: Row | Floats, code: int) -> None:
        """Add a row, sparse or dense; if its class is full, the oldest row of the class is dropped."""
        if code >= len(self.rows):
            per_class = max(self.size // (code + 1), 1) if self.size else 0
            more: list[deque[tuple[int, Row | Floats]]] = [deque() for _ in range(code + 1 - len(self.rows))]
            self.rows = [deque(kept, maxlen=per_class) for kept in (*self.rows, *more)]
        self.rows[code].append((self.arrived, row))
        self.arrived += 1

    def all(self) -> tuple[list[Row], list[int]]:
        """The stored rows and their classes, in order of arrival."""
        listed = sorted(
            (arrival, code, place)
            for code, kept in enumerate(self.rows)
            for place, (arrival, _) in enumerate(kept)
        )
        rows = [sparse_row(self.rows[code][place][1]) for _, code, place in listed]
        return rows, [code for _, code, _ in listed]
