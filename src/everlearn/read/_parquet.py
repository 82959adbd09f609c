"""Parquet by record batches, never the whole file; needs pyarrow."""

import datetime
import importlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from ._formats import Block, repeated

_READ_BUFFER = 1 << 20


class ParquetReader:
    """Rows of a Parquet file; a line is the number of a row, from 1."""

    strict = True

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
        self.fields: list[str] | None = list(schema.names)
        if twice := repeated(schema.names):
            raise ValueError(f"{path} has the columns {twice} more than once: rename them.")
        types = self._arrow.types
        self.times = {f.name for f in schema if types.is_timestamp(f.type) or types.is_date(f.type)}
        self.needed: set[str] | None = None
        self.wanted: set[str] | None = None  # the fields to convert
        self.headers_skipped = 0
        self.n_rows: int = self._file.metadata.num_rows
        self.rows_read = 0
        self._batches: Iterator[Any] | None = None
        self._rest: Any = None

    def read(self, n: int) -> Block | None:
        """The next n rows; batches end where row groups do, blocks do not."""
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
        names = [name for name in table.column_names if self.wanted is None or name in self.wanted]
        columns = {name: self._cells(table.column(name), name) for name in names}
        lines = list(range(self.rows_read + 1, self.rows_read + table.num_rows + 1))
        self.rows_read += table.num_rows
        return Block(lines, JSONRows(table), columns)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _cells(self, column: Any, name: str) -> Any:
        """Numbers as an array, times as an array of seconds since 1970, all else as a list."""
        types = self._arrow.types
        if name in self.times:
            ticks = column.cast(self._arrow.timestamp("us"), safe=False).cast(self._arrow.int64())
            return ticks.cast(self._arrow.float64(), safe=False).to_numpy() / 1e6
        if types.is_floating(column.type) or (types.is_integer(column.type) and not column.null_count):
            return column.to_numpy()
        return column.to_pylist()


def iso(seconds: Any) -> list[str]:
    """Seconds since 1970 as ISO 8601, "" for NaN: how a warm-up shows that a column is a time."""
    start = datetime.datetime(1970, 1, 1)
    return [
        "" if np.isnan(value) else (start + datetime.timedelta(seconds=float(value))).isoformat()
        for value in seconds
    ]


class JSONRows(Sequence[str]):
    """The rows of a table as JSON, made only when they are looked at."""

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
