"""Read a small table as it is: rows of text cells, without a schema."""

import os
from dataclasses import dataclass
from typing import Any

from ._cells import is_missing
from ._open import ReaderOptions, open_reader

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
