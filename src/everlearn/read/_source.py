"""Source: an iterator of batches; bad rows are quarantined."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..broker import Message
from ..errors import InputError
from ._batches import REPEATED, Batch, encode_block, without_first
from ._blocks import BadRow, Block, BlockReader
from ._broker import MessageReader
from ._examples import examples
from ._first_blocks import infer_libsvm_schema, infer_table_schema, read_first_blocks
from ._nested import outer_names
from ._url import remove
from .quarantine import Quarantine
from .schema import Schema

OFFSETS_NOTE = "offsets"  # the name of the offsets among the notes of a store
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
    repeated_ids: str
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
        "csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz", "sql" or "messages".
    layout : str
        How the file is laid out, in a few words, such as its delimiter and its encoding; may be empty.
    identity_file : str or None
        The file by whose first bytes the source is recognized; None for a pipe or a query.
    examples : dict of str to str
        An example value of each field, followed by its reading where that is not obvious.
    schema : Schema or None
        The schema; None if it was not given and there was no row to infer it from.
    n_rows : int
        Good rows so far, including skipped ones.
    n_repeated : int
        Rows left out because an earlier row of their block has their id; see ``repeated_ids``.
    n_rows_total : int or None
        Rows in the file, good and bad, if known (Parquet, NumPy).
    bytes_total : int or None
        Size of the file; None for a pipe and for a broker.
    offsets : dict or None
        Of a broker: where the message behind the rows returned so far is. Store it in the transaction of
        these rows, as in ``learner.step(batch.X, batch.y, notes=source.notes)``.
    """

    def __init__(self, reader: BlockReader, options: SourceOptions) -> None:
        self._reader, self._options = reader, options
        self.name, self.format, self.schema = reader.name, options.format, options.schema
        self._quarantine = Quarantine(self.name, options.quarantine, options.on_bad)
        self._closed = False
        self._blocks: deque[Block] = deque()  # read, but not returned yet
        self._pending: tuple[Batch, list[int]] | None = None  # rest of a block after skip_rows, and its lines
        self.n_rows = self.n_repeated = 0
        self.offsets: dict[str, Any] | None = None
        self.n_rows_total, self.bytes_total = reader.n_rows_total, reader.bytes_total
        self.layout, self.identity_file = reader.layout, reader.identity_file
        if self.schema is None:
            self._blocks = read_first_blocks(reader, options.batch_size, options.infer_rows)
            self.schema = self._infer_schema()
        self._check_fields()
        if not self._blocks and not reader.is_live and (block := reader.read(options.batch_size)) is not None:
            self._blocks.append(block)
        self._is_empty = not self._blocks and (self.schema is None or not reader.is_live)
        first = next((block for block in self._blocks if block.lines), None)
        self.examples: dict[str, str] = {}
        if first is not None and self.schema is not None:
            self.examples = examples(first, self.schema)

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

    def preview(self) -> tuple[int, list[BadRow]]:
        """The number of good rows, and the bad rows, among the first rows; they are not consumed.

        Returns
        -------
        tuple of (int, list of BadRow)
            About the rows from which the schema was inferred or, with a given schema, about the first block.
        """
        n_good, bad = 0, []
        for block in self._blocks:
            assert self.schema is not None  # inferred, since there is a block
            batch, _, wrong, _ = self._encode(block, self.schema)
            n_good += 0 if batch is None else len(batch)
            bad += wrong
        return n_good, bad

    def fields_of(self, raw: str) -> dict[str, Any]:
        """The values of all fields of a row as they are in the source, to show them.

        Parameters
        ----------
        raw : str
            An entry of `Batch.raw` from this source.

        Returns
        -------
        dict of str to object
            The values by name, including those of ignored fields; empty for LIBSVM.
        """
        return self._reader.fields_of(raw)

    def close(self) -> None:
        """Close the file and the quarantine file, but not standard input."""
        self._closed = True
        self._blocks.clear()
        self._pending = None
        self._quarantine.close()
        self._reader.close()
        if self._reader.temporary is not None:
            remove(self._reader.temporary)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -------------------------------------------------------------------------------------------- brokers

    @property
    def is_live(self) -> bool:
        """Whether it is a topic or a stream: rows arrive while it is read."""
        return self._reader.is_live

    @property
    def notes(self) -> dict[str, Any]:
        """`offsets` as the notes of a store; empty if the source is no broker."""
        return {} if self.offsets is None else {OFFSETS_NOTE: self.offsets}

    def notes_beyond(self, offsets: Mapping[str, Any] | None) -> dict[str, Any]:
        """`notes` for a store that may have read further than this source.

        Several stores that share a source begin where the first of them stopped, and its messages come in
        another order than before: without this, the offsets of the others would go back.

        Parameters
        ----------
        offsets : mapping or None
            What the store has in its notes; None if it has read nothing.

        Returns
        -------
        dict
            The notes, in no partition before these offsets.
        """
        if self.offsets is None:
            return {}
        assert isinstance(self._reader, MessageReader)
        return {OFFSETS_NOTE: self._reader.consumer.furthest(self.offsets, offsets)}

    def on_wait(self, call: Callable[[], None]) -> None:
        """While no message arrives, call a function four times a second.

        Parameters
        ----------
        call : callable
            The function, without arguments.
        """
        if isinstance(self._reader, MessageReader):
            self._reader.on_wait = call

    def reject(self, batch: Batch, rows: Iterable[int], reason: str) -> None:
        """Quarantine rows of a batch that turn out to be bad after it was read.

        Parameters
        ----------
        batch : Batch
            A batch of messages.
        rows : iterable of int
            Their positions in it.
        reason : str
            What is wrong with them.
        """
        at = [(batch.raw[row], batch.messages[row].place) for row in rows]
        self._quarantine.add([BadRow(batch.first_line, reason, raw, place=place) for raw, place in at])

    def is_after(self, message: Message, offsets: Mapping[str, Any] | None) -> bool:
        """Whether a message was not yet read when these offsets were stored.

        Parameters
        ----------
        message : Message
            A message of this source; see `Batch.messages`.
        offsets : mapping or None
            Stored `offsets`; None if nothing was read.

        Returns
        -------
        bool
            Whether it was not read.
        """
        assert isinstance(self._reader, MessageReader)
        return self._reader.consumer.is_after(message, offsets)

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
        """Bytes read of `bytes_total`, at most one buffer ahead of the rows; an estimate for tables."""
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
        batch, lines, bad, n_repeated = self._encode(block, self.schema)
        self.n_repeated += n_repeated
        self._pending = None if batch is None else (batch, lines)
        self.offsets = block.offsets or self.offsets
        return bad

    def _encode(self, block: Block, schema: Schema) -> tuple[Batch | None, list[int], list[BadRow], int]:
        """The good rows of a block, their lines, the bad rows, and the number of repeated rows left out."""
        self._add_missing_fields(block, schema)
        batch, lines, bad = encode_block(block, schema)
        if self._options.repeated_ids == "bad":
            return batch, lines, bad, 0
        kept = [row for row in bad if not row.reason.endswith(REPEATED)]
        return batch, lines, kept, len(bad) - len(kept)

    def _infer_schema(self) -> Schema | None:
        if not any(block.lines for block in self._blocks):
            if not self._blocks:
                return None
            first = self._blocks[0].bad[0]
            if isinstance(self._reader, MessageReader):
                raise InputError(
                    f"None of the first messages of {self.name} is a row "
                    f"(message {self._blocks[0].message(first.line).place}: {first.reason}).",
                    code="no_rows",
                    remedy="A message is a JSON object; or, in Redis, an entry with the fields of the row.",
                )
            raise InputError(
                f"None of the first rows of {self.name} is valid {self.format} "
                f"(line {first.line}: {first.reason})."
                + (" Are there lines above the header? Remove them." if self.format == "csv" else ""),
                code="wrong_format",
                remedy=f"Is format={self.format!r} correct?",
            )
        options, infer_rows = dict(self._options.infer), self._options.infer_rows
        n_features = options.pop("n_features")
        if self.format == "libsvm":
            return infer_libsvm_schema(self._blocks, infer_rows, n_features, options["label_type"])
        options |= {"suggested_decimal": self._reader.suggested_decimal, "encoding": self._reader.encoding}
        return infer_table_schema(self._blocks, infer_rows, self._reader.time_fields, options)

    def _check_fields(self) -> None:
        """Compare the fields of the file with those of the schema."""
        schema, names = self.schema, self._reader.fields
        if schema is None or schema.n_sparse is not None:
            return
        required = {field.name for field in schema.fields if field.kind not in _OPTIONAL_KINDS}
        self._reader.required = required
        self._reader.used = outer_names(field.name for field in schema.fields if field.kind != "ignore")
        if isinstance(self._reader, MessageReader) and self._options.unknown_fields == "error":
            self._reader.known = outer_names(_in_order(schema))  # one message must not stop all others
        if names is None:
            return
        there = set(names)
        gone = [name for name in _in_order(schema) if name in required and not outer_names([name]) & there]
        if gone:
            raise ValueError(f"{self.name} lacks the fields {gone} of the schema; it has {list(names)}.")
        self._check_unknown(names, "")

    def _check_unknown(self, names: Any, where: str) -> None:
        known = outer_names(_in_order(self.schema)) if self.schema is not None else set()
        new = [name for name in names if name not in known]
        if new and self._options.unknown_fields == "error":
            raise InputError(
                f"{self.name} has the fields {new}{where}, which are not in the schema.",
                code="unknown_fields",
                remedy='Remove them, infer a new schema or pass unknown_fields="ignore".',
            )

    def _add_missing_fields(self, block: Block, schema: Schema) -> None:
        """JSON rows: absent fields are missing values, unknown ones are an error or ignored."""
        if self._reader.has_all_fields or schema.n_sparse is not None:
            return
        known = outer_names(_in_order(schema))
        for name, cells in block.columns.items():
            if name not in known:
                row = next((row for row, cell in enumerate(cells) if cell is not None), 0)
                self._check_unknown([name], f" in line {block.lines[row]}")
        for name, row in block.others.items():
            if name not in known:
                self._check_unknown([name], f" in line {block.lines[row]}")
        for name in _in_order(schema):
            if not outer_names([name]) & block.columns.keys():
                block.columns[name] = [None] * len(block.lines)


def _in_order(schema: Schema) -> list[str]:
    return [field.name for field in schema.fields]
