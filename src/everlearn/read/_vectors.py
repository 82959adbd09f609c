"""Vectors: lists of numbers of one length, such as embeddings."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _cells

_TOLERANCE = 1e-3  # of the length of a vector that counts as 1: embeddings are often stored as float16


def is_vector(cell: Any) -> bool:
    """Whether a cell is a list or an array of numbers."""
    if isinstance(cell, np.ndarray):
        return cell.ndim == 1 and cell.dtype.kind in "fiu"
    return isinstance(cell, list | tuple) and all(type(value) in (int, float) for value in cell)


def vectors(cells: Any, length: int) -> tuple[NDArray[np.float64], _cells.BadCells]:
    """A column of vectors as a matrix, and the reason for each bad row."""
    if isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.shape[1] == length:
        rows = cells.astype(np.float64)
    else:
        rows = np.zeros((len(cells), length))
        bad: _cells.BadCells = {}
        for row, cell in enumerate(cells):
            if not is_vector(cell) or len(cell) != length:
                bad[row] = _why(cell, length)
            else:
                rows[row] = cell
        if bad:
            return rows, bad | _not_finite(rows, bad)
    return rows, _not_finite(rows, {})


def _not_finite(rows: NDArray[np.float64], known: _cells.BadCells) -> _cells.BadCells:
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(np.abs(rows) <= _cells.LARGEST).all(axis=1))
    found = {int(row): "a vector with NaN or an infinite value" for row in wrong if int(row) not in known}
    rows[list(found)] = 0.0
    return found


def _why(cell: Any, length: int) -> str:
    if cell is None:
        return "no vector"
    if is_vector(cell):
        return f"a vector of {len(cell)} numbers instead of {length}"
    return "not a list of numbers"


def length_of(cells: Sequence[Any]) -> int:
    """The common length of the vectors of a field; 0 if they are not vectors, or differ in length."""
    lengths = {len(cell) if is_vector(cell) else 0 for cell in cells if cell is not None}
    return lengths.pop() if len(lengths) == 1 else 0


def have_unit_length(cells: Sequence[Any]) -> bool:
    """Whether all vectors of a field have length 1."""
    rows = np.array([cell for cell in cells if cell is not None], dtype=np.float64)
    return bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1.0) < _TOLERANCE)) and rows.shape[1] > 1
