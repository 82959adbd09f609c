"""Sources: files and standard input as a stream of batches, in constant memory; bad rows are quarantined."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ._batches import Batch, encode_block, without_first
from ._blocks import BadRow, Block, BlockReader
from ._first_blocks import infer_libsvm_schema, infer_table_schema, read_first_blocks
from ._open import open_reader
from .quarantine import Quarantine, check_path
from .schema import Schema

__all__ = ["BadRow", "Batch", "Source", "open_source"]

_FORMATS = ("csv", "jsonl", "libsvm", "parquet")
_OPTIONAL_KINDS = ("label", "time", "ignore")  # fields that a later file may lack


@dataclass(frozen=True)
class SourceOptions:
    """The parameters of `open_source`; for `infer`, see `Schema.infer`."""

    format: str
    schema: Schema | None
    batch_size: int
    infer_rows: int
    unknown_fields: str
    quarantine: str | os.PathLike[str] | None
    on_bad: str
    infer: Mapping[str, Any]


class Source(Iterator[Batch]):
    """An iterator of batches, returned by `open_source`.

    The file is read in blocks of ``batch_size`` records, or fewer if they take more than 64 MiB. A batch is
    the good rows of a block. Blocks without a good row are skipped.

    Parameters
    ----------
    reader : BlockReader
        Reads blocks.
    options : SourceOptions
        How to read.

    Attributes
    ----------
    name : str
        The file, or "standard input".
    format : str
        "csv", "jsonl", "libsvm" or "parquet".
    schema : Schema or None
        The schema; None if it was not given and there was no row to infer it from.
    n_rows : int
        Good rows so far, including skipped ones.
    n_rows_total : int or None
        Rows in the file, good and bad, if known (Parquet).
    bytes_total : int or None
        Size of the file; None for a pipe.
    """

    def __init__(self, reader: BlockReader, options: SourceOptions) -> None:
        self._reader, self._options = reader, options
        self.name, self.format, self.schema = reader.name, options.format, options.schema
        self._quarantine = Quarantine(self.name, options.quarantine, options.on_bad)
        self._closed = False
        self._blocks: deque[Block] = deque()  # read, but not returned yet
        self._pending: tuple[Batch, list[int]] | None = None  # rest of a block after skip_rows, and its lines
        self.n_rows = 0
        self.n_rows_total, self.bytes_total = reader.n_rows_total, reader.bytes_total
        if self.schema is None:
            self._blocks = read_first_blocks(reader, options.batch_size, options.infer_rows)
            self.schema = self._infer_schema()
        self._check_fields()
        if not self._blocks and (block := reader.read(options.batch_size)) is not None:
            self._blocks.append(block)
        self._is_empty = not self._blocks

    # ------------------------------------------------------------------------------------------- batches

    def __next__(self) -> Batch:
        while True:
            if self._pending is None:
                bad = self._encode_next()
                if bad is None:
                    self.close()
                    raise StopIteration
                self._quarantine.add(bad)
            if self._pending is not None:
                batch, lines = self._pending
                self._pending = None
                self.n_rows += len(lines)
                return batch

    def skip_rows(self, n: int) -> None:
        """Skip the next n good rows, because they have already been stored.

        Bad rows among them are counted, but not written to the quarantine file again. If a run stops between
        two batches and is resumed with the same ``batch_size``, no bad row is lost; those of a block without
        a good row may be written twice.

        Parameters
        ----------
        n : int
            The number of rows.
        """
        if n < 0:
            raise ValueError(f"n={n} must not be negative.")
        left = n
        while left:
            bad: list[BadRow] | None = []
            if self._pending is None and (bad := self._encode_next()) is None:
                raise ValueError(
                    f"Cannot skip {n} rows: {self.name} has only {n - left} good rows left. "
                    "Is it the same file?"
                )
            batch, lines = self._pending or (None, [])
            skipped = min(left, len(lines))
            left -= skipped
            self.n_rows += skipped
            end = lines[skipped - 1] if batch is not None and skipped < len(lines) else None
            self._quarantine.add(
                [row for row in bad or () if end is None or row.line < end], already_written=True
            )
            self._quarantine.add([row for row in bad or () if end is not None and row.line > end])
            self._pending = None
            if batch is not None and end is not None:
                rest = lines[skipped:]
                self._pending = without_first(batch, skipped, rest[0]), rest

    def close(self) -> None:
        """Close the file and the quarantine file, but not standard input."""
        self._closed = True
        self._blocks.clear()
        self._pending = None
        self._quarantine.close()
        self._reader.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------- progress

    @property
    def quarantined(self) -> int:
        """Bad rows so far."""
        return self._quarantine.reasons.total()

    @property
    def reasons(self) -> dict[str, int]:
        """The number of bad rows for each reason, most frequent first."""
        return dict(self._quarantine.reasons.most_common())

    @property
    def bad(self) -> list[BadRow]:
        """The first 20 bad rows: ``line``, ``reason``, ``raw`` (up to 1,000 characters)."""
        return list(self._quarantine.first)

    @property
    def bytes_read(self) -> int:
        """Bytes read of `bytes_total`, at most one buffer ahead of the rows; an estimate for Parquet."""
        return self._reader.bytes_read

    @property
    def headers_skipped(self) -> int:
        """Repeated headers in a CSV file, as in concatenated files."""
        return self._reader.headers_skipped

    @property
    def message(self) -> str:
        """Why there are no batches; "" if there are some, or if that is not known yet."""
        if self._is_empty:
            if self._reader.fields:
                return f"{self.name} has a header, but no rows."
            return f"{self.name} {'has no rows' if self.bytes_read else 'is empty'}."
        return f"All rows of {self.name} are bad so far." if self.quarantined and not self.n_rows else ""

    # ------------------------------------------------------------------------------------------ internals

    def _encode_next(self) -> list[BadRow] | None:
        """Make the good rows of the next block the pending batch; return its bad rows, None at the end."""
        if self._blocks:
            block: Block | None = self._blocks.popleft()
        else:
            block = None if self._closed else self._reader.read(self._options.batch_size)
        if block is None:
            return None
        assert self.schema is not None  # inferred, since there is a block
        if self.schema.n_sparse is None:
            self._add_missing_fields(block, self.schema)
        batch, lines, bad = encode_block(block, self.schema)
        self._pending = None if batch is None else (batch, lines)
        return bad

    def _infer_schema(self) -> Schema | None:
        if not any(block.lines for block in self._blocks):
            if not self._blocks:
                return None
            first = self._blocks[0].bad[0]
            raise InputError(
                f"None of the first rows of {self.name} is valid {self.format} "
                f"(line {first.line}: {first.reason}).",
                code="wrong_format",
                remedy=f"Is format={self.format!r} correct?",
            )
        options, infer_rows = dict(self._options.infer), self._options.infer_rows
        n_features = options.pop("n_features")
        if self.format == "libsvm":
            return infer_libsvm_schema(self._blocks, infer_rows, n_features, options["label_type"])
        return infer_table_schema(self._blocks, infer_rows, self._reader.time_fields, options)

    def _check_fields(self) -> None:
        """Compare the fields of the file with those of the schema."""
        schema, names = self.schema, self._reader.fields
        if schema is None or schema.n_sparse is not None:
            return
        required = {field.name for field in schema.fields if field.kind not in _OPTIONAL_KINDS}
        self._reader.required = required
        self._reader.used = {field.name for field in schema.fields if field.kind != "ignore"}
        if names is None:
            return
        there = set(names)
        gone = [field.name for field in schema.fields if field.name in required and field.name not in there]
        if gone:
            raise ValueError(f"{self.name} lacks the fields {gone} of the schema; it has {list(names)}.")
        self._check_unknown(names, "")

    def _check_unknown(self, names: Any, where: str) -> None:
        known = {field.name for field in self.schema.fields} if self.schema is not None else set()
        new = [name for name in names if name not in known]
        if new and self._options.unknown_fields == "error":
            raise InputError(
                f"{self.name} has the fields {new}{where}, which are not in the schema.",
                code="unknown_fields",
                remedy='Remove them, infer a new schema or pass unknown_fields="ignore".',
            )

    def _add_missing_fields(self, block: Block, schema: Schema) -> None:
        """JSON rows: absent fields are missing values, unknown ones are an error or ignored."""
        if self._reader.has_all_fields:
            return
        known = {field.name for field in schema.fields}
        for name, cells in block.columns.items():
            if name not in known:
                row = next((row for row, cell in enumerate(cells) if cell is not None), 0)
                self._check_unknown([name], f" in line {block.lines[row]}")
        for name, row in block.others.items():
            if name not in known:
                self._check_unknown([name], f" in line {block.lines[row]}")
        for field in schema.fields:
            block.columns.setdefault(field.name, [None] * len(block.lines))


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    schema: Schema | str | os.PathLike[str] | None = None,
    batch_size: int = 1000,
    infer_rows: int = 1000,
    unknown_fields: str = "error",
    quarantine: str | os.PathLike[str] | None = None,
    on_bad: str = "quarantine",
    header: bool = True,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    kinds: Mapping[str, str] | None = None,
    label_type: str | None = None,
    n_features: int | None = None,
    max_row_bytes: int = 64 * 2**20,
) -> Source:
    """Open a file or standard input as a stream of batches.

    A bad row neither stops the stream nor is lost: it is quarantined, with its line number and the reason.
    A row is bad if it has a wrong number of fields, an invalid number, time or label, an infinite value,
    invalid JSON or UTF-8, a NUL character, a duplicate id within its block, or too many bytes. A file that is
    read with a given schema may lack the label, the time and ignored fields.

    A CSV line that repeats the header, as in concatenated files, is not a row; the rows after it are read in
    the order of that header.

    Parameters
    ----------
    path : str or path-like
        The file; text formats may be gzipped. "-" is standard input.
    format : {"csv", "jsonl", "libsvm", "parquet"}, default=None
        The format. None detects it from the file extension (.csv, .tsv, .jsonl, .ndjson, .libsvm, .svmlight,
        .svm, .parquet, .pq) or from the first line. The CSV delimiter (comma, semicolon, tab or bar) is
        detected in the first line.
    schema : Schema, str or path-like, default=None
        The schema, or its file. None infers it from the first rows.
    batch_size : int, default=1000
        Records in a block.
    infer_rows : int, default=1000
        Rows from which the schema is inferred.
    unknown_fields : {"error", "ignore"}, default="error"
        What to do with fields that are not in the schema.
    quarantine : str or path-like, default=None
        A file to which bad rows are appended, as JSON lines with "source", "line", "reason" and "raw". None
        counts them and keeps the first 20. It must not be the source, its schema or a store.
    on_bad : {"quarantine", "error"}, default="quarantine"
        Whether a bad row is quarantined or raises a ValueError.
    header : bool, default=True
        Whether CSV starts with a header; if not, fields are named column_1, column_2 and so on. Ignored if a
        schema is given, which includes this setting.
    label : str, default=None
        The field that holds the label. For this and the next parameters, see `Schema.infer`.
    id : str, default=None
        The field that holds the row id.
    time : str, default=None
        The field that holds the time.
    kinds : mapping of str to str, default=None
        The kinds of other fields.
    label_type : {"int", "string"}, default=None
        The type of labels; None infers it from the first rows.
    n_features : int, default=None
        LIBSVM: the number of features; None takes the largest index of the first rows. A row with a larger
        index is bad.
    max_row_bytes : int, default=67108864
        The maximum length of a line, or of a CSV record with several lines, in bytes. A longer row is bad,
        and only its first bytes are kept. It is never in memory as a whole. Does not apply to Parquet.

    Returns
    -------
    Source
        The stream.

    Examples
    --------
    >>> import os, tempfile
    >>> from everlearn.read.sources import open_source
    >>> path = os.path.join(tempfile.mkdtemp(), "payments.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("amount,shop,fraud\\n3.5,A,0\\n1,B,\\nmany,A,1\\n9,B,1\\n")
    >>> source = open_source(path, label="fraud", kinds={"amount": "numeric"})
    >>> for batch in source:
    ...     print(batch.X, batch.y)
    [[3.5 1.  0.  0. ]
     [1.  0.  1.  0. ]
     [9.  0.  1.  0. ]] [0 None 1]
    >>> source.bad
    [BadRow(line=4, reason="field 'amount': not a number", raw='many,A,1')]
    """
    for option, value, words in (
        ("format", format, (None, *_FORMATS)),
        ("unknown_fields", unknown_fields, ("error", "ignore")),
        ("on_bad", on_bad, ("quarantine", "error")),
    ):
        if value not in words:
            raise ValueError(
                f"{option}={value!r} must be one of {[word for word in words if word is not None]}."
            )
    for option, number in (
        ("batch_size", batch_size),
        ("infer_rows", infer_rows),
        ("n_features", n_features),
        ("max_row_bytes", max_row_bytes),
    ):
        if number is not None and number < 1:
            raise ValueError(f"{option}={number} must be at least 1.")
    name = os.fspath(path)
    schema_file = None if schema is None or isinstance(schema, Schema) else os.fspath(schema)
    if quarantine is not None:
        check_path(os.fspath(quarantine), name, schema_file)
    if schema is not None and not isinstance(schema, Schema):
        schema = Schema.read(schema)
    given = {"label": label, "id": id, "time": time, "kinds": kinds}
    if schema is not None and any(value is not None for value in (*given.values(), label_type, n_features)):
        raise ValueError("A schema is given: do not pass label, id, time, kinds, label_type or n_features.")
    header = header if schema is None else schema.header
    reader, found = open_reader(name, format, schema, header, unknown_fields, max_row_bytes)
    try:
        if found == "libsvm" and any(value is not None for value in given.values()):
            raise ValueError("LIBSVM has no named fields: do not pass label, id, time or kinds.")
        if found != "libsvm" and n_features is not None:
            raise ValueError(f"n_features={n_features} is for LIBSVM only; {found} has named fields.")
        options = SourceOptions(
            format=found,
            schema=schema,
            batch_size=batch_size,
            infer_rows=infer_rows,
            unknown_fields=unknown_fields,
            quarantine=quarantine,
            on_bad=on_bad,
            infer={**given, "label_type": label_type, "n_features": n_features, "header": header},
        )
        return Source(reader, options)
    except BaseException:
        reader.close()
        raise
