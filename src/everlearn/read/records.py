"""Records: read a small table as it is, without a schema; encode rows that are given as mappings."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from ._batches import Batch, encode_block
from ._blocks import Block, is_valid
from ._cells import is_missing
from ._nested import flattened, outer_names
from ._open import ReaderOptions, open_reader
from .schema import Schema

_ROWS_AT_ONCE = 1000
_MAX_ROW_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Record:
    """A row of a table.

    Attributes
    ----------
    line : int
        Its line number in the file, from 1.
    cells : dict of str to str
        Its cells by the names of their fields; "" for a missing value.
    """

    line: int
    cells: dict[str, str]


def read_records(
    path: str | os.PathLike[str], *, format: str | None = None, encoding: str | None = None
) -> list[Record]:
    """Read all rows of a table with named fields, in any format of `open_source` but LIBSVM.

    Parameters
    ----------
    path : str or path-like
        The file.
    format : str, default=None
        Its format; None detects it.
    encoding : str, default=None
        Its encoding; None detects it.

    Returns
    -------
    list of Record
        The rows. A row that cannot be read is an error.
    """
    options = ReaderOptions(format, None, True, "error", _MAX_ROW_BYTES, encoding, None)
    reader, found = open_reader(os.fspath(path), options)
    rows: list[Record] = []
    try:
        if found == "libsvm":
            raise ValueError(f"{reader.name} is LIBSVM, which has no named fields.")
        while (block := reader.read(_ROWS_AT_ONCE)) is not None:
            if block.bad:
                raise ValueError(f"Line {block.bad[0].line} of {reader.name}: {block.bad[0].reason}.")
            names = [
                *(reader.fields or ()),
                *(name for name in block.columns if name not in (reader.fields or ())),
            ]
            for at, line in enumerate(block.lines):
                cells = {name: _text(block.columns[name][at]) for name in names if name in block.columns}
                rows.append(Record(line, cells))
    finally:
        reader.close()
    return rows


def _text(cell: Any) -> str:
    return "" if is_missing(cell) else str(cell).strip()


def encode_records(records: Sequence[Mapping[str, Any]], schema: Schema) -> Batch:
    """Encode rows that are given as mappings, such as JSON objects.

    Parameters
    ----------
    records : sequence of mapping of str to object
        The rows, at least one. An absent field is a missing value; an unknown one is an error.
    schema : Schema
        The schema.

    Returns
    -------
    Batch
        The rows, all of them: a bad row is an `InputError`.
    """
    if schema.n_sparse is not None:
        raise InputError("Rows with named fields need a schema of named fields.", code="no_named_fields")
    names = [field.name for field in schema.fields]
    known = outer_names(names)
    for at, record in enumerate(records):
        unknown = [name for name in record if name not in known]
        if unknown:
            raise InputError(
                f"Row {at} has the fields {unknown[:5]}, which are not in the schema.",
                code="unknown_fields",
                remedy=f"Leave them out; the fields are {names[:20]}.",
            )
    raw = [json.dumps(record, ensure_ascii=False) for record in records]
    if not all(map(is_valid, raw)):
        raise InputError("The text of a row is not valid Unicode.", code="bad_row", remedy="Send UTF-8.")
    columns: dict[str, Any] = {name: [record.get(name) for record in records] for name in known}
    for name in names:
        if not outer_names([name]) & columns.keys():
            columns[name] = [None] * len(records)
    batch, _, bad = encode_block(Block(list(range(len(records))), raw, columns), schema)
    if bad or batch is None:
        raise InputError(
            f"Row {bad[0].line}: {bad[0].reason}"
            + (f" (its value is {bad[0].value!r})." if bad[0].field else "."),
            code="bad_row",
            remedy="Correct the row; nothing was stored.",
        )
    return batch


def flat_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a record with nested objects, by the names of the fields.

    Parameters
    ----------
    record : mapping of str to object
        The record.

    Returns
    -------
    dict of str to object
        The values; one inside of a nested object is named "outer.inner".
    """
    cells = flattened({name: [value] for name, value in record.items()})
    return {name: found[0] for name, found in cells.items()}
