"""Compare a row with the rows in memory: how usual its values are, and which labeled rows are similar."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._base.validate import Rows
from ..store.events import Floats
from ._learner_state import LearnerState
from ._row_buffer import RowBuffer

_SAME = 1e-9  # relative difference of values that are equal but for rounding


@dataclass(frozen=True)
class FeatureRanks:
    """How the values of a row compare with the rows in memory.

    Attributes
    ----------
    n_rows : int
        The number of rows in memory.
    below : ndarray of shape (n_columns,)
        The fraction of them that have a smaller value.
    equal : ndarray of shape (n_columns,)
        The fraction of them that have the same value.
    """

    n_rows: int
    below: Floats
    equal: Floats


@dataclass(frozen=True)
class SimilarRow:
    """A labeled row that is similar to another row.

    Attributes
    ----------
    number : int
        Its number in the stream.
    label : label
        Its label.
    distance : float
        The Euclidean distance of the scaled rows.
    id : int or str, default=None
        Its id.
    """

    number: int
    label: Any
    distance: float
    id: Any = None


def feature_ranks(state: LearnerState, row: Rows, columns: Any) -> FeatureRanks:
    """Compare some features of a scaled row with all rows in memory."""
    kept = [buffer.X for buffer in (state.pool, state.labeled) if len(buffer)]
    n_rows = sum(rows.shape[0] for rows in kept)
    values = _dense(row[:, columns])
    below, equal = np.zeros(len(columns)), np.zeros(len(columns))
    for rows in kept:
        others = _dense(rows[:, columns])
        same = np.abs(others - values) <= _SAME * np.maximum(1.0, np.abs(values))
        below += ((others < values) & ~same).sum(axis=0)
        equal += same.sum(axis=0)
    return FeatureRanks(n_rows, below / max(n_rows, 1), equal / max(n_rows, 1))


def similar_labeled(state: LearnerState, row: Rows, n: int) -> list[SimilarRow]:
    """The labeled rows in memory that are nearest to a scaled row, nearest first."""
    kept: RowBuffer = state.labeled
    if not len(kept):
        return []
    X = kept.X
    if sparse.issparse(X):
        row = sparse.csr_matrix(row)
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() + float(row.multiply(row).sum())
        distances = np.sqrt(np.maximum(squares - 2 * _dense(X @ row.T).ravel(), 0.0))
    else:
        distances = np.sqrt(np.square(X - _dense(row)).sum(axis=1))
    order = np.argsort(distances, kind="stable")[:n]
    return [SimilarRow(int(kept.numbers[at]), kept.labels[at], float(distances[at])) for at in order]


def _dense(rows: Rows) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
