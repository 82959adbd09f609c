"""Rows that come as dicts: a column for each name, dense while names are stable, and a bounded memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Row = tuple[NDArray[np.int32], Floats]  # the columns and the values of what is not 0

_DENSE_NAMES = 64  # rows with no more names than this are dense in any case
_DENSE_SHARE = 0.25  # more names are dense if this share of the values is not 0
_MOST_WIDENINGS = 3  # names that come in again and again make rows sparse


class Names:
    """The columns of names. It is replaced, never changed, when a name comes.

    Parameters
    ----------
    names : iterable
        The names in the order of their columns.
    limit : int
        How many columns there are at most.
    """

    def __init__(self, names: Iterable[Any], limit: int) -> None:
        self.order = list(names)
        self.column = {name: place for place, name in enumerate(self.order)}
        self.limit = limit

    def __len__(self) -> int:
        return len(self.order)

    def joined_by(self, names: Iterable[Any]) -> Names:
        """With further names, as many as fit; the names of a row join in sorted order."""
        column = self.column
        new = [name for name in names if name not in column]
        if not new or len(self) >= self.limit:
            return self
        return Names([*self.order, *sorted(new, key=str)][: self.limit], self.limit)

    def row(self, x: dict[Any, Any]) -> Row:
        """A dict as a sparse row; names without a column are left out."""
        entries = {}
        for name, given in x.items():
            value = number(name, given)
            if value != 0 and name in self.column:
                entries[self.column[name]] = value
        places = sorted(entries)
        values = np.array([entries[place] for place in places], dtype=np.float64)
        return np.array(places, dtype=np.int32), values

    def dense(self, x: dict[Any, Any], width: int) -> Floats:
        """A dict as a dense row of so many columns."""
        order = self.order
        if len(x) == width == len(order):
            try:
                row = np.array([[x[name] for name in order]], dtype=np.float64)
                if np.isfinite(row).all():
                    return row
            except (KeyError, TypeError, ValueError):
                pass  # found out below, with its name
        values = [0.0] * width
        for name, given in x.items():
            value = number(name, given)
            place = self.column.get(name, width)
            if place < width:
                values[place] = value
        return np.array([values])


def number(name: Any, given: Any) -> float:
    """The value of a feature."""
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise ValueError(
            f"The feature {name!r} is {given!r}, and must be a number: encode it, for example with "
            "river.preprocessing.OneHotEncoder."
        ) from None
    if not math.isfinite(value):
        raise ValueError(
            f"The feature {name!r} is {given!r}, NaN or infinite: leave it out, or fill it in, for example "
            "with river.preprocessing.StatImputer."
        )
    return value


class Layout:
    """How rows are handed to a learner: dense of a width, or sparse of the largest width.

    Parameters
    ----------
    width : int
        The number of columns.
    is_dense : bool
        Whether rows are dense.
    widenings : int
        How often it was widened because a name had come.
    """

    def __init__(self, width: int, is_dense: bool, widenings: int = 0) -> None:
        self.width, self.is_dense, self.widenings = width, is_dense, widenings

    @classmethod
    def choose(cls, names: Names, rows: list[Row], before: Layout | None) -> Layout:
        """The layout for these rows."""
        widenings = 0 if before is None else before.widenings + (before.width < len(names))
        share = sum(len(places) for places, _ in rows) / max(len(rows) * len(names), 1)
        few = len(names) <= _DENSE_NAMES or share >= _DENSE_SHARE
        stays = before is None or before.is_dense
        if few and stays and widenings <= _MOST_WIDENINGS:
            return cls(max(len(names), 1), True, widenings)
        return cls(names.limit, False, widenings)

    def holds(self, names: Names) -> bool:
        """Whether every name has a column."""
        return len(names) <= self.width

    def matrix(self, rows: list[Row]) -> Any:
        """Rows as a matrix."""
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        places = np.concatenate([places for places, _ in rows]) if rows else np.empty(0, dtype=np.int32)
        values = np.concatenate([values for _, values in rows]) if rows else np.empty(0)
        if not self.is_dense:
            return sparse.csr_matrix((values, places, ends), shape=(len(rows), self.width))
        dense = np.zeros((len(rows), self.width))
        dense[np.repeat(np.arange(len(rows)), np.diff(ends)), places] = values
        return dense


class Memory:
    """The last rows of each class, in all at most so many.

    Parameters
    ----------
    size : int
        How many rows are kept; each class has the same share.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[deque[tuple[int, Row]]] = []  # for each class, with the number of arrival
        self.arrived = 0

    def add(self, row: Row, code: int) -> None:
        """Keep a row; the oldest one of its class may have to go."""
        if code >= len(self.rows):
            share = max(self.size // (code + 1), 1) if self.size else 0
            more = [deque() for _ in range(code + 1 - len(self.rows))]  # type: list[deque[tuple[int, Row]]]
            self.rows = [deque(kept, maxlen=share) for kept in (*self.rows, *more)]
        self.rows[code].append((self.arrived, row))
        self.arrived += 1

    def all(self) -> tuple[list[Row], list[int]]:
        """The rows kept and their classes, in order of arrival."""
        listed = sorted(
            (arrival, code, place)
            for code, kept in enumerate(self.rows)
            for place, (arrival, _) in enumerate(kept)
        )
        return [self.rows[code][place][1] for _, code, place in listed], [code for _, code, _ in listed]
