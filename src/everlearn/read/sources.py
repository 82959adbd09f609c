"""Sources: files and standard input as a stream of batches, in constant memory; bad rows are set aside."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._batches import Batch, judge, without_first
from ._formats import BadRow, Block
from ._lines import Lines
from ._open import open_reader
from ._quarantine import Quarantine, refuse_inputs
from ._warm_up import libsvm_schema, read_ahead, table_schema
from .schema import Schema

__all__ = ["BadRow", "Batch", "Source", "open_source"]

_FORMATS = ("csv", "jsonl", "libsvm", "parquet")
_OPTIONAL = ("label", "time", "ignore")  # kinds of fields that a later file may lack


@dataclass(frozen=True)
class Settings:
    """What `open_source` was asked for, and found."""

    name: str
    format: str
    schema: Schema | None
    batch_size: int
    infer_rows: int
    unknown_fields: str
    quarantine: str | os.PathLike[str] | None
    on_bad: str
    hints: Mapping[str, Any]


class Source(Iterator[Batch]):
    """An iterator of batches; made by `open_source`.

    A block is ``batch_size`` records of the file, or fewer if they take up more than 64 MiB; a batch is what
    is good of a block. A block without a good row is passed over.

    Parameters
    ----------
    reader : object
        What reads blocks.
    lines : Lines or None
        What the reader reads from; None if it has a file of its own.
    settings : Settings
        How to read.

    Attributes
    ----------
    name : str
        The file, or "standard input".
    format : str
        "csv", "jsonl", "libsvm" or "parquet".
    schema : Schema or None
        What the fields mean; None if it was not given and there was no row to infer it from.
    n_rows : int
        Rows accepted so far, those skipped included.
    n_rows_total : int or None
        Rows in the file, good and bad, if it says so (Parquet).
    bytes_total : int or None
        Size of the file; None for a pipe.
    """

    def __init__(self, reader: Any, lines: Lines | None, settings: Settings) -> None:
        self._reader, self._lines, self._settings = reader, lines, settings
        self._quarantine = Quarantine(settings.name, settings.quarantine, settings.on_bad)
        self._closed = False
        self._ahead: deque[Block] = deque()  # read already, not handed out yet
        self._pending: tuple[Batch, list[int]] | None = None  # what skip_rows left of a block, and its lines
        self.name, self.format, self.schema = settings.name, settings.format, settings.schema
        self.n_rows = 0
        self.n_rows_total: int | None = getattr(reader, "n_rows", None)
        self.bytes_total = lines.bytes_total if lines is not None else os.path.getsize(self.name)
        if self.schema is None:
            self._ahead = read_ahead(reader, settings.batch_size, settings.infer_rows)
            self.schema = self._inferred(settings.infer_rows, settings.hints)
        self._check_fields()
        if not self._ahead and (block := reader.read(settings.batch_size)) is not None:
            self._ahead.append(block)
        self._is_empty = not self._ahead

    # ------------------------------------------------------------------------------------------- batches

    def __next__(self) -> Batch:
        while True:
            if self._pending is None:
                bad = self._judge_next()
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
        """Pass over the next n good rows, because they have been stored already.

        Bad rows among them are counted again but not written to the quarantine again. Where a run was stopped
        between two batches and goes on with the same ``batch_size``, no bad row is lost, and only those of a
        block without a good row may be written twice.

        Parameters
        ----------
        n : int
            How many rows.
        """
        if n < 0:
            raise ValueError(f"n={n} must not be negative.")
        left = n
        while left:
            bad: list[BadRow] | None = []
            if self._pending is None and (bad := self._judge_next()) is None:
                raise ValueError(
                    f"{self.name} has only {n - left} good rows left, {n} cannot be skipped: "
                    "is it the same file?"
                )
            batch, lines = self._pending or (None, [])
            skipped = min(left, len(lines))
            left -= skipped
            self.n_rows += skipped
            end = lines[skipped - 1] if batch is not None and skipped < len(lines) else None
            self._quarantine.add([row for row in bad or () if end is None or row.line < end], again=True)
            self._quarantine.add([row for row in bad or () if end is not None and row.line > end])
            self._pending = None
            if batch is not None and end is not None:
                rest = lines[skipped:]
                self._pending = without_first(batch, skipped, rest[0]), rest

    def close(self) -> None:
        """Close the file and the quarantine; standard input stays open."""
        self._closed = True
        self._ahead.clear()
        self._pending = None
        self._quarantine.close()
        (self._reader if self._lines is None else self._lines).close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------- how far it is

    @property
    def quarantined(self) -> int:
        """Bad rows so far."""
        return self._quarantine.reasons.total()

    @property
    def reasons(self) -> dict[str, int]:
        """How many rows were bad for which reason, the most frequent first."""
        return dict(self._quarantine.reasons.most_common())

    @property
    def bad(self) -> list[BadRow]:
        """The first 20 bad rows: ``line``, ``reason``, ``raw`` (up to 1,000 characters)."""
        return list(self._quarantine.first)

    @property
    def bytes_read(self) -> int:
        """Bytes read of `bytes_total`, at most a buffer ahead of the rows; of Parquet an estimate."""
        if self._lines is not None:
            return self._lines.bytes_read
        return int((self.bytes_total or 0) * self._reader.rows_read // max(self._reader.n_rows, 1))

    @property
    def headers_skipped(self) -> int:
        """Headers found again further down in a CSV file, as in files put one after the other."""
        return int(self._reader.headers_skipped)

    @property
    def message(self) -> str:
        """Why there are no batches; "" if there are, or may be."""
        if self._is_empty:
            if self._reader.fields:
                return f"{self.name} has a header and no rows."
            return f"{self.name} {'has no rows' if self.bytes_read else 'is empty'}."
        return f"No row of {self.name} is good so far." if self.quarantined and not self.n_rows else ""

    # ------------------------------------------------------------------------------------------ the inside

    def _next_block(self) -> Block | None:
        if self._ahead:
            return self._ahead.popleft()
        block: Block | None = None if self._closed else self._reader.read(self._settings.batch_size)
        return block

    def _judge_next(self) -> list[BadRow] | None:
        """Make the next block the pending batch, if it has good rows; its bad rows, None at the end."""
        block = self._next_block()
        if block is None:
            return None
        assert self.schema is not None  # there is a block, so there was a warm-up
        if self.schema.n_sparse is None:
            self._complete(block, self.schema)
        batch, lines, bad = judge(block, self.schema)
        self._pending = None if batch is None else (batch, lines)
        return bad

    def _inferred(self, infer_rows: int, hints: Mapping[str, Any]) -> Schema | None:
        if not any(block.lines for block in self._ahead):
            if not self._ahead:
                return None
            first = self._ahead[0].bad[0]
            raise ValueError(
                f"No row at the beginning of {self.name} can be read as {self.format} "
                f"(line {first.line}: {first.reason}): is format={self.format!r} right?"
            )
        options = dict(hints)
        n_features = options.pop("n_features")
        if self.format == "libsvm":
            return libsvm_schema(self._ahead, infer_rows, n_features, options["label_type"])
        return table_schema(self._ahead, infer_rows, getattr(self._reader, "times", ()), options)

    def _check_fields(self) -> None:
        """Compare what the file says it has with what the schema needs."""
        schema, names = self.schema, self._reader.fields
        if schema is None or schema.n_sparse is not None:
            return
        needed = {field.name for field in schema.fields if field.kind not in _OPTIONAL}
        self._reader.needed = needed
        self._reader.wanted = {field.name for field in schema.fields if field.kind != "ignore"}
        if names is None:
            return
        there = set(names)
        gone = [field.name for field in schema.fields if field.name in needed and field.name not in there]
        if gone:
            raise ValueError(f"{self.name} lacks the fields {gone} of the schema; it has {list(names)}.")
        self._refuse_unknown(names, "")

    def _refuse_unknown(self, names: Any, where: str) -> None:
        known = {field.name for field in self.schema.fields} if self.schema is not None else set()
        new = [name for name in names if name not in known]
        if new and self._settings.unknown_fields == "error":
            raise ValueError(
                f"{self.name} has the fields {new}{where}, which the schema does not know: "
                'remove them, infer a new schema or pass unknown_fields="ignore".'
            )

    def _complete(self, block: Block, schema: Schema) -> None:
        """Fields that JSON leaves out are missing values; those that it adds are refused or ignored."""
        if self._reader.strict:
            return
        known = {field.name for field in schema.fields}
        for name, cells in block.columns.items():
            if name not in known:
                row = next((row for row, cell in enumerate(cells) if cell is not None), 0)
                self._refuse_unknown([name], f" in line {block.lines[row]}")
        for name, row in block.others.items():
            if name not in known:
                self._refuse_unknown([name], f" in line {block.lines[row]}")
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
    """Open a file, or standard input, as a stream of batches.

    A bad row (a wrong number of fields, no number where one is expected, an infinite value, broken JSON,
    bytes that are no UTF-8, a NUL character, an id for the second time in its block, a malformed label or
    time, too many bytes) is set aside with its line and the reason; it neither stops the stream nor vanishes.
    A file read with a given schema may lack the label, the time and the fields that are ignored.

    A line of CSV that consists of the names of the fields is a header again, as where files were put one
    after the other: it is no row, and the rows after it are read in the order that it says.

    Parameters
    ----------
    path : str or path-like
        The file; text formats may be gzipped. "-" is standard input.
    format : {"csv", "jsonl", "libsvm", "parquet"}, default=None
        What it is. None goes by the ending of the name (.csv, .tsv, .jsonl, .ndjson, .libsvm, .svmlight,
        .svm, .parquet, .pq), else by the first line. The delimiter of CSV is found in the first line, among
        comma, semicolon, tab and bar.
    schema : Schema, str or path-like, default=None
        What the fields mean, or the file that it was written to. None infers it from the warm-up.
    batch_size : int, default=1000
        Records in a block.
    infer_rows : int, default=1000
        Rows that the schema is inferred from.
    unknown_fields : {"error", "ignore"}, default="error"
        What to do about fields that the schema does not know.
    quarantine : str or path-like, default=None
        File to which bad rows are appended, as JSON lines with "source", "line", "reason" and "raw". None
        counts them and keeps the first 20. The source itself, its schema and a store are refused.
    on_bad : {"quarantine", "error"}, default="quarantine"
        Whether a bad row is set aside or is a ValueError.
    header : bool, default=True
        Whether CSV has the names of its fields on top; else they are called column_1, column_2 and so on. A
        given schema knows it.
    label : str, default=None
        The field that is the label; for this and what follows see `Schema.infer`.
    id : str, default=None
        The field that names the row.
    time : str, default=None
        The field that says when it happened.
    kinds : mapping of str to str, default=None
        The kinds of other fields.
    label_type : {"int", "string"}, default=None
        What labels are converted to; None looks at those of the warm-up.
    n_features : int, default=None
        Columns of LIBSVM; None takes the largest index of the warm-up. A larger index is a bad row.
    max_row_bytes : int, default=67108864
        The longest line, or record of CSV over several lines, in bytes. A longer one is a bad row, of which
        only the beginning is kept. It is never in memory as a whole. Parquet has no lines and no such limit.

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
        refuse_inputs(os.fspath(quarantine), name, schema_file)
    if schema is not None and not isinstance(schema, Schema):
        schema = Schema.read(schema)
    hints = {"label": label, "id": id, "time": time, "kinds": kinds}
    if schema is not None and any(hint is not None for hint in (*hints.values(), label_type, n_features)):
        raise ValueError(
            "A schema is given, so label, id, time, kinds, label_type and n_features must not be."
        )
    header = header if schema is None else schema.header
    reader, lines, found = open_reader(name, format, schema, header, unknown_fields, max_row_bytes)
    try:
        if found == "libsvm" and any(hint is not None for hint in hints.values()):
            raise ValueError(
                "LIBSVM has a label and no other fields: label, id, time and kinds must not be given."
            )
        if found != "libsvm" and n_features is not None:
            raise ValueError(
                f"n_features={n_features} is for LIBSVM; the columns of {found} come from its fields."
            )
        settings = Settings(
            name=name if lines is None else lines.name,
            format=found,
            schema=schema,
            batch_size=batch_size,
            infer_rows=infer_rows,
            unknown_fields=unknown_fields,
            quarantine=quarantine,
            on_bad=on_bad,
            hints={**hints, "label_type": label_type, "n_features": n_features, "header": header},
        )
        return Source(reader, lines, settings)
    except BaseException:
        (reader if lines is None else lines).close()
        raise
