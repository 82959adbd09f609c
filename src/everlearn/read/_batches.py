"""Batches: the good rows of a block as arrays, and its bad rows with the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..broker import Message
from . import _cells, _nested, _times
from ._arrow import JSONRows
from ._blocks import BadRow, Block, printable
from ._numpy import ArrayRows
from .schema import Schema

_MAX_VALUE = 200  # characters of a bad value
REPEATED = "duplicate id within the block"


@dataclass(frozen=True)
class Batch:
    """The good rows of a block.

    Attributes
    ----------
    ids : ndarray of str objects, or None
        Row ids; None if the stream has no ids.
    X : ndarray or csr_matrix of shape (n_rows, n_features), float64
        The rows.
    y : ndarray of objects, or None
        Labels, int or str, None for unlabeled rows; None if the stream has no labels.
    time : ndarray of float64
        Seconds since 1970, NaN where the time is missing.
    first_line : int
        The line number of the first row (Parquet: its row number), from 1.
    raw : sequence of str
        The rows as they are in the source; Parquet rows as JSON.
    messages : sequence of Message, default=()
        The messages of the rows, if they come from a broker.
    """

    ids: NDArray[np.object_] | None
    X: Any
    y: NDArray[np.object_] | None
    time: NDArray[np.float64]
    first_line: int
    raw: Sequence[str]
    messages: Sequence[Message] = ()

    def __len__(self) -> int:
        return int(self.X.shape[0])


def without_first(batch: Batch, n: int, first_line: int) -> Batch:
    """The batch without its first n rows; `first_line` is the line number of the next row."""
    return Batch(
        ids=None if batch.ids is None else batch.ids[n:],
        X=batch.X[n:],
        y=None if batch.y is None else batch.y[n:],
        time=batch.time[n:],
        first_line=first_line,
        raw=batch.raw[n:],
        messages=batch.messages[n:],
    )


def encode_block(block: Block, schema: Schema) -> tuple[Batch | None, list[int], list[BadRow]]:
    """The good rows of a block (None if there are none), their line numbers, and the bad rows."""
    n_rows = len(block.lines)
    if not n_rows:
        return None, [], _placed(block, block.bad)
    X, bad, field_of = _features(block, schema)
    columns: dict[str, Any] = {}
    for kind in ("label", "time", "id"):
        name = schema.name_of(kind)
        cells = None if name is None else _nested.find(block.columns, name)
        if name is None or cells is None:
            continue
        if kind == "label":
            columns[kind], wrong = _cells.labels(cells, schema.label_type)
        elif kind == "time":
            columns[kind], wrong = _times.times(cells, schema.time_format)
        else:
            columns[kind], wrong = _ids(cells, bad)
        for row, reason in wrong.items():
            if row not in bad:
                bad[row], field_of[row] = f"field {name!r}: {reason}", name
    cells_of: dict[str, Any] = {name: _nested.find(block.columns, name) for name in set(field_of.values())}
    rows = []
    for row, reason in bad.items():
        name = field_of.get(row, "")
        value = _value(cells_of[name][row]) if name else ""
        rows.append(BadRow(block.lines[row], reason, printable(block.raw[row]), name, value))
    bad_rows = _placed(block, sorted([*block.bad, *rows], key=lambda row: row.line))
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
    messages = [block.message(line) for line in lines] if block.messages else ()
    return Batch(ids, X, y, time, lines[0], raw, messages), lines, bad_rows


def _placed(block: Block, bad: list[BadRow]) -> list[BadRow]:
    """Bad rows with their places on the broker, if they come from one."""
    return [replace(row, place=block.message(row.line).place) for row in bad] if block.messages else bad


def _value(cell: Any) -> str:
    text = printable("" if cell is None else str(cell))
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}..."


def _features(block: Block, schema: Schema) -> tuple[Any, _cells.BadCells, dict[int, str]]:
    """The features, the reason for each bad row, and the field that is bad."""
    if schema.n_sparse is None:
        X, found = schema.encode(block.columns, len(block.lines))
        return (
            X,
            {row: reason for row, (_, reason) in found.items()},
            {row: name for row, (name, _) in found.items()},
        )
    first = 0 if schema.zero_based else 1
    rows, last = block.rows, first + schema.n_sparse
    outside = (rows.indices < first) | (rows.indices >= last)
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    reason = f"index outside {first} to {last - 1}"
    bad = dict.fromkeys(np.unique(row_of[outside]).tolist(), reason)
    if rows.shape[1] < last:
        rows.resize(rows.shape[0], last)
    rows = rows[:, first:last]
    rows.eliminate_zeros()
    return rows, bad, {}


def _picked(raw: Sequence[str], keep: NDArray[np.intp]) -> Sequence[str]:
    return raw.pick(keep) if isinstance(raw, JSONRows | ArrayRows) else [raw[row] for row in keep]


def _ids(cells: Any, bad: _cells.BadCells) -> tuple[NDArray[np.object_], _cells.BadCells]:
    """Ids as strings. An id that an earlier good row of the block has is bad."""
    texts, wrong = _cells.strings(cells)
    seen: set[str] = set()
    for row, text in enumerate(texts):
        if row in bad or row in wrong:
            continue
        if not text:
            wrong[row] = "missing"
        elif text in seen:
            wrong[row] = REPEATED
        seen.add(text)
    ids = np.empty(len(texts), dtype=object)
    ids[:] = texts
    return ids, wrong
