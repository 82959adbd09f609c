"""Parquet, read in record batches, never as a whole; needs pyarrow."""

import datetime
import importlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from ._blocks import Block, BlockReader
from .field import duplicates

_READ_BUFFER = 1 << 20


class ParquetReader(BlockReader):
    """Rows of a Parquet file; line numbers are row numbers, from 1."""

    def __init__(self, path: str) -> None:
        try:
            self._arrow: Any = importlib.import_module("pyarrow")
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise ImportError(
                "Parquet needs pyarrow, which is not installed: pip install everlearn[stream]."
            ) from error
        try:
            self._file = parquet.ParquetFile(path, buffer_size=_READ_BUFFER)
        except self._arrow.ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}.") from error
        schema = self._file.schema_arrow
        if twice := duplicates(schema.names):
            raise ValueError(f"Duplicate column names {twice} in {path}: rename the columns.")
        types = self._arrow.types
        self.name, self.bytes_total = path, os.path.getsize(path)
        self.fields = list(schema.names)
        self.required = self.used = None
        self.time_fields = {f.name for f in schema if types.is_timestamp(f.type) or types.is_date(f.type)}
        self.headers_skipped = 0
        self.n_rows_total = int(self._file.metadata.num_rows)
        self._rows_read = 0
        self._batches: Iterator[Any] | None = None
        self._rest: Any = None

    def read(self, n: int) -> Block | None:
        """The next n rows, across the boundaries of row groups."""
        if self._batches is None:
            self._batches = self._file.iter_batches(batch_size=n)
        table = self._rest
        while table is None or table.num_rows < n:
            batch = next(self._batches, None)
            if batch is None:
                break
            more = self._arrow.Table.from_batches([batch])
            table = more if table is None else self._arrow.concat_tables([table, more])
        if table is None or not table.num_rows:
            return None
        table, self._rest = table.slice(0, n), table.slice(n)
        names = [name for name in table.column_names if self.used is None or name in self.used]
        columns = {name: self._cells(table.column(name), name) for name in names}
        lines = list(range(self._rows_read + 1, self._rows_read + table.num_rows + 1))
        self._rows_read += table.num_rows
        return Block(lines, JSONRows(table), columns)

    @property
    def bytes_read(self) -> int:
        """An estimate from the number of rows read."""
        return int(self.bytes_total or 0) * self._rows_read // max(self.n_rows_total or 0, 1)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _cells(self, column: Any, name: str) -> Any:
        """Numbers as an array, times as an array of seconds since 1970, everything else as a list."""
        types = self._arrow.types
        if name in self.time_fields:
            ticks = column.cast(self._arrow.timestamp("us"), safe=False).cast(self._arrow.int64())
            return ticks.cast(self._arrow.float64(), safe=False).to_numpy() / 1e6
        if types.is_floating(column.type) or (types.is_integer(column.type) and not column.null_count):
            return column.to_numpy()
        return column.to_pylist()


def as_iso(seconds: Any) -> list[str]:
    """Seconds since 1970 as ISO 8601, "" for NaN; ISO strings are inferred to be times."""
    start = datetime.datetime(1970, 1, 1)
    return [
        "" if np.isnan(value) else (start + datetime.timedelta(seconds=float(value))).isoformat()
        for value in seconds
    ]


class JSONRows(Sequence[str]):
    """The rows of a table as JSON, converted on access."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def pick(self, rows: Any) -> "JSONRows":
        """Some of the rows."""
        return JSONRows(self._table.take(rows))

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "JSONRows": ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.pick(list(range(*at.indices(len(self)))))
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        row = self._table.slice(int(at) % len(self), 1).to_pylist()[0]
        return json.dumps(row, default=str, ensure_ascii=False)
