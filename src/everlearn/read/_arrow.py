"""Parquet, Arrow and folders of Hugging Face `datasets`, read in record batches; needs pyarrow."""

import datetime
import importlib
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from ._blocks import Block, BlockReader
from .field import duplicates

_READ_BUFFER = 1 << 20


class TableReader(BlockReader):
    """Rows of an Arrow table, in record batches; line numbers are row numbers, from 1.

    Subclasses open the files and set ``_batches``, an iterator of record batches.

    Parameters
    ----------
    name : str
        The name of the source.
    schema : pyarrow.Schema
        The fields of the table.
    n_rows : int or None
        The number of rows, if it is known.
    bytes_total : int
        The size of the files.
    """

    _batches: Iterator[Any]

    def __init__(self, name: str, schema: Any, n_rows: int | None, bytes_total: int) -> None:
        self._arrow = pyarrow_module()
        if twice := duplicates(schema.names):
            raise ValueError(f"Duplicate column names {twice} in {name}: rename the columns.")
        types = self._arrow.types
        self.name, self.bytes_total = name, bytes_total
        self.fields = list(schema.names)
        self.required = self.used = None
        self.time_fields = {f.name for f in schema if types.is_timestamp(f.type) or types.is_date(f.type)}
        self.headers_skipped = 0
        self.n_rows_total = n_rows
        self._class_names = _class_names(schema)
        self._rows_read = 0
        self._rest: Any = None

    def read(self, n: int) -> Block | None:
        """The next n rows, across the boundaries of record batches."""
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
        return int(self.bytes_total or 0) * self._rows_read // max(self.n_rows_total or self._rows_read, 1)

    def close(self) -> None:
        """Close the files."""

    def _cells(self, column: Any, name: str) -> Any:
        """Numbers as an array, times as an array of seconds since 1970, everything else as a list."""
        types = self._arrow.types
        kind = column.type
        if name in self.time_fields:
            ticks = column.cast(self._arrow.timestamp("us"), safe=False).cast(self._arrow.int64())
            return ticks.cast(self._arrow.float64(), safe=False).to_numpy() / 1e6
        if name in self._class_names:
            names = self._class_names[name]
            return [
                names[code] if code is not None and 0 <= code < len(names) else None
                for code in column.to_pylist()
            ]
        if types.is_dictionary(kind):
            return self._cells(column.cast(kind.value_type), name)
        if types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
            return column.to_numpy()
        if types.is_decimal(kind):
            return column.cast(self._arrow.float64(), safe=False).to_numpy()
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            return _lists(column)
        return column.to_pylist()


def pyarrow_module() -> Any:
    """The module pyarrow."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError(
            "Parquet and Arrow need pyarrow, which is not installed: pip install everlearn[stream]."
        ) from error


class ParquetReader(TableReader):
    """Rows of a Parquet file."""

    def __init__(self, path: str, name: str) -> None:
        arrow = pyarrow_module()
        parquet = importlib.import_module("pyarrow.parquet")
        try:
            self._file = parquet.ParquetFile(path, buffer_size=_READ_BUFFER)
        except arrow.ArrowInvalid as error:
            raise ValueError(f"{name} is not a Parquet file: {error}.") from error
        n_rows = int(self._file.metadata.num_rows)
        super().__init__(name, self._file.schema_arrow, n_rows, os.path.getsize(path))
        self._started = False

    def read(self, n: int) -> Block | None:
        """The next n rows, across the boundaries of row groups."""
        if not self._started:
            self._batches, self._started = self._file.iter_batches(batch_size=n), True
        return super().read(n)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArrowReader(TableReader):
    """Rows of Arrow files (also called Feather) or streams, one after another, all with the same fields."""

    def __init__(self, paths: Sequence[str], name: str) -> None:
        self._arrow = pyarrow_module()
        self._open_files: list[Any] = []
        try:
            readers = [self._open(path) for path in paths]
            schemas = [reader.schema for reader in readers]
            if not all(schema.equals(schemas[0]) for schema in schemas):
                raise ValueError(f"The files of {name} have different fields: read them one by one.")
        except BaseException:
            self.close()
            raise
        self._batches = itertools.chain.from_iterable(map(_record_batches, readers))
        super().__init__(name, schemas[0], None, sum(map(os.path.getsize, paths)))

    def _open(self, path: str) -> Any:
        file = self._arrow.memory_map(path)
        self._open_files.append(file)
        ipc = importlib.import_module("pyarrow.ipc")
        try:
            with open(path, "rb") as start:
                is_file = start.read(6) == b"ARROW1"
            return ipc.open_file(file) if is_file else ipc.open_stream(file)
        except self._arrow.ArrowInvalid as error:
            raise ValueError(f"{path} is not an Arrow file: {error}.") from error

    @property
    def bytes_read(self) -> int:
        """Bytes of the files before the position of each."""
        return int(sum(file.tell() for file in self._open_files if not file.closed))

    def close(self) -> None:
        """Close the files."""
        for file in self._open_files:
            file.close()


def _record_batches(reader: Any) -> Iterator[Any]:
    """The record batches of a file, which are accessed by number, or of a stream."""
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def is_dataset(folder: str) -> bool:
    """Whether Hugging Face `datasets` has saved this folder."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in ("state.json", "dataset_dict.json"))


def dataset_files(folder: str) -> list[str] | None:
    """The Arrow files of a folder that Hugging Face `datasets` has saved; None if it is another folder."""
    if os.path.isfile(os.path.join(folder, "dataset_dict.json")):
        with open(os.path.join(folder, "dataset_dict.json"), encoding="utf-8") as file:
            splits = json.load(file).get("splits", [])
        first = os.path.join(folder, (splits or ["train"])[0])
        raise ValueError(f"{folder} has several splits: choose one, such as {first}.")
    state = os.path.join(folder, "state.json")
    if not os.path.isfile(state):
        return None
    with open(state, encoding="utf-8") as file:
        parts = json.load(file).get("_data_files") or []
    return [os.path.join(folder, part["filename"]) for part in parts]


def _class_names(schema: Any) -> dict[str, list[str]]:
    """The names of the classes of fields that hold their numbers, as `datasets` notes them."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
        return {
            name: list(map(str, feature["names"]))
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and feature.get("names")
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return {}


def _lists(column: Any) -> Any:
    """Lists as a matrix, if they are numbers of one length and none is missing; otherwise as lists."""
    combined = column.combine_chunks()
    if not column.null_count and len(column):
        values = combined.flatten()
        length, rest = divmod(len(values), len(column))
        numeric = values.type.bit_width in (16, 32, 64) if _is_number(values.type) else False
        if numeric and not rest and length and not values.null_count:
            lengths = set(combined.value_lengths().to_pylist())
            if lengths == {length}:
                return values.to_numpy(zero_copy_only=False).reshape(len(column), length)
    return column.to_pylist()


def _is_number(kind: Any) -> bool:
    types = pyarrow_module().types
    return bool(types.is_floating(kind) or types.is_integer(kind))


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
