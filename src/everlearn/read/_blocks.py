"""Blocks: what the readers of all formats return, and the base class of these readers."""

import dataclasses
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..broker import Message
from ._line_reader import LineReader
from ._nested import flattened


@dataclass(frozen=True)
class BadRow:
    """A row that could not be read.

    Attributes
    ----------
    line : int
        Its line number in the file, from 1.
    reason : str
        What is wrong with it.
    raw : str
        The row as it is in the file.
    field : str, default=""
        The field whose value is wrong; "" if it is the whole row.
    value : str, default=""
        That value.
    place : str, default=""
        Where the message is on its broker: partition and offset, or the id of the entry.
    """

    line: int
    reason: str
    raw: str
    field: str = ""
    value: str = ""
    place: str = dataclasses.field(default="", repr=False)


@dataclass
class Block:
    """Consecutive records of a source: the cells of each field, and the records that could not be parsed."""

    lines: list[int]
    raw: Sequence[str]
    columns: dict[str, Any]
    bad: list[BadRow] = field(default_factory=list)
    rows: Any = None  # LIBSVM: the features, column j for index j
    others: dict[str, int] = field(default_factory=dict)  # unused field -> the first row that has it
    messages: Sequence[Message] = ()  # of a broker: those of the block, bad rows included
    first: int = 1  # the line number of the first message
    offsets: dict[str, Any] | None = None  # of a broker: where the message behind the block is

    def message(self, line: int) -> Message:
        """The message that is the row with a line number."""
        return self.messages[line - self.first]


class BlockReader:
    """Base class of the readers, one for each format. What a cell means is up to the schema.

    Parameters
    ----------
    lines : LineReader
        The source.

    Attributes
    ----------
    has_all_fields : bool
        Whether every row has every field.
    time_fields : collection of str
        The fields that are times according to the file.
    suggested_decimal : {".", ","} or None
        The decimal separator that the form of the file suggests.
    layout : str
        How the file is laid out, in a few words, such as its encoding.
    encoding : str or None
        The encoding of a text file that is not Unicode.
    identity_file : str or None
        The file by whose first bytes the source is recognized.
    temporary : str or None
        A file to delete once the source is closed.
    n_rows_total : int or None
        The number of rows in the file, if it is known.
    fields : list of str or None
        The names of all fields, if the file states them at its start.
    required : set of str or None
        The fields that must not be missing later in the file. Set by the source.
    used : set of str or None
        The fields whose cells are needed; None for all. Set by the source.
    headers_skipped : int
        Repeated headers.
    is_live : bool
        Whether rows arrive while it is read.
    """

    has_all_fields = True
    time_fields: Collection[str] = ()
    n_rows_total: int | None = None
    suggested_decimal: str | None = None
    encoding: str | None = None
    layout = ""
    identity_file: str | None = None
    temporary: str | None = None
    is_live = False

    def __init__(self, lines: LineReader) -> None:
        self._lines = lines
        self.name, self.bytes_total = lines.name, lines.bytes_total
        self.layout, self.encoding = lines.layout, lines.eight_bit_encoding
        self.fields: list[str] | None = None
        self.required: set[str] | None = None
        self.used: set[str] | None = None
        self.headers_skipped = 0

    def read(self, n: int) -> Block | None:
        """The next n records, good and bad ones; fewer only at the end, None after it.

        Block boundaries therefore do not depend on which records are bad.
        """
        raise NotImplementedError

    def read_first(self, n: int) -> Block | None:
        """As `read`, for the rows from which the schema is inferred."""
        return self.read(n)

    def fields_of(self, raw: str) -> dict[str, Any]:
        """The fields of a row, from its text in `Block.raw`; empty if it has no named fields."""
        found = json.loads(raw)
        return {name: cells[0] for name, cells in flattened({k: [v] for k, v in found.items()}).items()}

    @property
    def bytes_read(self) -> int:
        """Bytes read of `bytes_total`, at most one buffer ahead of the records."""
        return self._lines.bytes_read

    def close(self) -> None:
        """Close the file, but not standard input."""
        self._lines.close()


def printable(text: str) -> str:
    """The text with invalid UTF-8 bytes escaped, so that it can be stored anywhere."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def as_text(line: bytes) -> str:
    """The line as text; invalid UTF-8 bytes become surrogates."""
    return line.decode("utf-8", "surrogateescape")


def is_valid(text: str) -> bool:
    """Whether the text has no surrogates, that is, came from valid UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
