"""Batches: the good rows of a block as arrays, the bad ones with what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _cells
from ._formats import BadRow, Block, printable
from ._parquet import JSONRows
from .schema import Schema


@dataclass(frozen=True)
class Batch:
    """Rows that arrived together.

    Attributes
    ----------
    ids : ndarray of str objects, or None
        What the rows are called; None if the stream has no ids.
    X : ndarray or csr_matrix of shape (n_rows, n_features), float64
        The rows.
    y : ndarray of objects, or None
        Labels, int or str, None where the label is unknown; None if the stream has no labels.
    time : ndarray of float64
        Seconds since 1970, NaN where the stream does not say.
    first_line : int
        The line of the first row in its file (in Parquet the number of the row), from 1.
    raw : sequence of str
        The rows as they were written; those of Parquet as JSON.
    """

    ids: NDArray[np.object_] | None
    X: Any
    y: NDArray[np.object_] | None
    time: NDArray[np.float64]
    first_line: int
    raw: Sequence[str]

    def __len__(self) -> int:
        return int(self.X.shape[0])


def without_first(batch: Batch, n: int, first_line: int) -> Batch:
    """The batch without its first n rows; the line is that of the row which is then the first."""
    return Batch(
        ids=None if batch.ids is None else batch.ids[n:],
        X=batch.X[n:],
        y=None if batch.y is None else batch.y[n:],
        time=batch.time[n:],
        first_line=first_line,
        raw=batch.raw[n:],
    )


def judge(block: Block, schema: Schema) -> tuple[Batch | None, list[int], list[BadRow]]:
    """The good rows of a block (None if there are none), their lines, and the bad rows by line."""
    n_rows = len(block.lines)
    if not n_rows:
        return None, [], block.bad
    X, bad = _features(block, schema)
    columns: dict[str, Any] = {}
    for kind in ("label", "time", "id"):
        name = schema.name_of(kind)
        cells = None if name is None else block.columns.get(name)
        if cells is None:
            continue
        if kind == "label":
            columns[kind], wrong = _cells.labels(cells, schema.label_type)
        elif kind == "time":
            columns[kind], wrong = _cells.times(cells)
        else:
            columns[kind], wrong = _ids(cells, bad)
        for row, reason in wrong.items():
            bad.setdefault(row, f"field {name!r}: {reason}")
    rows = [BadRow(block.lines[row], reason, printable(block.raw[row])) for row, reason in bad.items()]
    bad_rows = sorted([*block.bad, *rows], key=lambda row: row.line)
    if len(bad) == n_rows:
        return None, [], bad_rows
    time = columns.get("time", np.full(n_rows, np.nan))
    ids, y, lines, raw = columns.get("id"), columns.get("label"), block.lines, block.raw
    if bad:
        keep = np.array([row for row in range(n_rows) if row not in bad])
        X, time = X[keep], time[keep]
        ids = None if ids is None else ids[keep]
        y = None if y is None else y[keep]
        lines, raw = [lines[row] for row in keep], _picked(raw, keep)
    return Batch(ids, X, y, time, lines[0], raw), lines, bad_rows


def _features(block: Block, schema: Schema) -> tuple[Any, _cells.Bad]:
    if schema.n_sparse is None:
        return schema.encode(block.columns, len(block.lines))
    first = 0 if schema.zero_based else 1
    rows, last = block.rows, first + schema.n_sparse
    outside = (rows.indices < first) | (rows.indices >= last)
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    reason = f"an index outside {first} to {last - 1}"
    bad = dict.fromkeys(np.unique(row_of[outside]).tolist(), reason)
    if rows.shape[1] < last:
        rows.resize(rows.shape[0], last)
    rows = rows[:, first:last]
    rows.eliminate_zeros()
    return rows, bad


def _picked(raw: Sequence[str], keep: NDArray[np.intp]) -> Sequence[str]:
    return raw.pick(keep) if isinstance(raw, JSONRows) else [raw[row] for row in keep]


def _ids(cells: Any, bad: _cells.Bad) -> tuple[NDArray[np.object_], _cells.Bad]:
    """Ids as strings. An id that another row of the block has is bad, unless that row is bad anyway."""
    texts, wrong = _cells.strings(cells)
    seen: set[str] = set()
    for row, text in enumerate(texts):
        if row in bad or row in wrong:
            continue
        if not text:
            wrong[row] = "missing"
        elif text in seen:
            wrong[row] = "repeated within the block"
        seen.add(text)
    ids = np.empty(len(texts), dtype=object)
    ids[:] = texts
    return ids, wrong
