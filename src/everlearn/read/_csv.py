"""CSV as in RFC 4180, tolerant of stray quotes."""

import re

from ..errors import InputError
from . import _cells
from ._blocks import BadRow, Block, BlockReader, as_text, is_valid, printable
from ._line_reader import BLOCK_BYTES, LineReader, TruncatedLine
from .field import UNNAMED, duplicates

_DELIMITERS = ",;\t|"
_DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_QUOTED = re.compile('"[^"]*"')
_LONE_CR = re.compile("\r[^\r\n]")
_MAX_RECORD_LINES = 1000  # a quote that is open for longer is a stray quote
_MAX_LINES = 1000  # read at once; some may have to be unread


class CSVReader(BlockReader):
    """CSV with comma, semicolon, tab or bar as the delimiter, detected in the first line."""

    def __init__(self, lines: LineReader, names: list[str] | None, header: bool, unknown_fields: str) -> None:
        super().__init__(lines)
        self._unknown_fields = unknown_fields
        self._order: list[int] | None = None  # positions of the fields after a later header changed the order
        self._width: int | None = None
        self.fields = names
        self._header: list[str] = []
        first = lines.peek()
        if first is None:
            return
        if isinstance(first, TruncatedLine):
            raise InputError(
                f"The first line of {lines.name} is {lines.too_long}.",
                code="row_too_long",
                remedy="If it is CSV, increase max_row_bytes.",
            )
        self._delimiter = max(_DELIMITERS, key=re.sub(_QUOTED, "", as_text(first)).count)
        self.suggested_decimal = "," if self._delimiter == ";" else None  # as spreadsheets export it
        self.layout = f"delimiter {_DELIMITER_NAMES[self._delimiter]}" + (
            f", {lines.layout}" if lines.layout else ""
        )
        if header:
            self._read_header()
        elif names is None:
            row, reason = self._record()
            if row is None:
                raise ValueError(f"The first line of {lines.name} cannot be read: {reason}.")
            self.fields = [f"column_{n + 1}" for n in range(len(row))]
            self._lines.unread(self._last)
        self._width = len(self.fields or ())
        self._names = {name for name in self._header if not _is_number(name)}

    def read(self, n: int) -> Block | None:
        """The next n records."""
        if self._width is None:
            return None
        rows: list[list[str]] = []
        numbers: list[int] = []
        raw: list[str] = []
        bad: list[BadRow] = []
        delimiter, names = self._delimiter, self._names
        size = 0
        while len(rows) + len(bad) < n and (size < BLOCK_BYTES or not (rows or bad)):
            lines = self._lines.read(min(n - len(rows) - len(bad), _MAX_LINES))
            if not lines:
                break
            number = self._lines.number - len(lines)
            size += sum(map(len, lines))
            for at, line in enumerate(lines):
                number += 1
                text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
                truncated = isinstance(line, TruncatedLine)
                reason = self._lines.too_long if truncated else ""
                if not text.isascii() and not truncated:
                    text = text.removeprefix("\ufeff")
                    reason = "" if is_valid(text) else self._lines.invalid
                if not text:
                    continue
                quoted = '"' in text and not truncated
                row, wrong = split_quoted(text, delimiter) if quoted else (text.split(delimiter), "")
                multiline = row is None and not wrong
                if multiline:
                    self._lines.unread(lines[at:])
                    row, wrong = self._record()
                    text = "".join(map(as_text, self._last)).rstrip("\r\n")
                    size += len(text) - sum(map(len, lines[at:]))
                reason = reason or wrong
                if reason or row is None:
                    bad.append(BadRow(number, reason, printable(text)))
                elif not names.isdisjoint(row) and self._is_header(row):
                    self._use_header(row, number)
                elif len(row) != self._width:
                    bad.append(BadRow(number, "wrong number of fields", printable(text)))
                else:
                    rows.append(row if self._order is None else self._ordered(row))
                    numbers.append(number)
                    raw.append(text)
                if multiline:
                    break  # the lines after it have been unread
        if not rows and not bad:
            return None
        cells = zip(*rows, strict=True) if rows else ([] for _ in self.fields or ())
        return Block(numbers, raw, dict(zip(self.fields or (), cells, strict=True)), bad)

    def fields_of(self, raw: str) -> dict[str, str]:
        """The fields of a record, from its text; empty if a later header changed their order."""
        row: list[str] = []
        pieces: list[str] | None = None
        for line in raw.split("\n"):
            if pieces is not None:
                pieces.append("\n")
            pieces, _ = _split(line, self._delimiter, row, pieces)
        fields = self.fields or []
        return (
            {} if self._order is not None or len(row) != len(fields) else dict(zip(fields, row, strict=True))
        )

    def _record(self) -> tuple[list[str] | None, str]:
        """The next record, which may span several lines; or None and the reason why it is bad.

        A stray quote must not swallow the rows after it: if several lines together are not a valid record
        either, only the first of them is bad, and the others are unread.
        """
        lines = self._lines.read(1)
        fields: list[str] = []
        text, end = _split_line_end(lines[0])
        pieces, reason = _split(text, self._delimiter, fields, None)
        size = len(lines[0])
        while pieces is not None and not reason:
            pieces.append(end)  # a line end inside quotes is part of the field
            more = self._lines.read(1) if len(lines) < _MAX_RECORD_LINES else []
            lines += more
            size += sum(map(len, more))
            if not more or isinstance(more[0], TruncatedLine) or size > self._lines.max_bytes:
                reason = "unclosed quote"
                break
            text, end = _split_line_end(more[0])
            pieces, reason = _split(text, self._delimiter, fields, pieces)
            n_fields = len(fields) + (pieces is not None)
            if self._width is not None and (
                n_fields > self._width or (pieces is None and n_fields < self._width)
            ):
                reason = reason or "unclosed quote"
        row = None if reason else fields
        if row is None:
            self._lines.unread(lines[1:])
            lines = lines[:1]
        self._last = lines
        if not all(is_valid(as_text(line)) for line in lines):
            return None, self._lines.invalid
        return row, reason

    def _read_header(self) -> None:
        row, reason = self._record()
        if row is None:
            raise ValueError(f"The header of {self._lines.name} cannot be read: {reason}.")
        names = _header_names(row)
        if _looks_like_data(names):
            raise InputError(
                f"The first line of {self._lines.name} looks like data, not like field names.",
                code="no_header",
                remedy="Add a header, or pass header=False.",
            )
        if _LONE_CR.search(re.sub(_QUOTED, "", as_text(self._last[0]))):
            raise ValueError(
                f"The header of {self._lines.name} contains a carriage return: lines must end in LF or CRLF."
            )
        if twice := duplicates(names):
            raise ValueError(
                f"Duplicate field names {twice} in the header of {self._lines.name}: rename the fields."
            )
        self._header = row
        self.fields = names

    def _is_header(self, row: list[str]) -> bool:
        """Whether a row repeats the header.

        It does if it has the same names in any order; or if it has no numbers, and at least two and at least
        half of its cells are known names.
        """
        if row == self._header or set(row) == set(self._header):
            return len(set(row)) == len(row)
        known = len(self._names.intersection(row))
        return known >= 2 and 2 * known >= len(row) == len(set(row)) and not any(map(_is_number, row))

    def _use_header(self, row: list[str], number: int) -> None:
        """Read the following rows in the order of this header."""
        self.headers_skipped += 1
        names = _header_names(row)
        fields = self.fields or []
        known = set(fields)
        new = [name for name in names if name not in known]
        place = {name: at for at, name in enumerate(names)}
        gone = [
            name for name in fields if name not in place and (self.required is None or name in self.required)
        ]
        where = f"The header in line {number} of {self._lines.name}"
        if gone:
            raise ValueError(f"{where} lacks the required fields {gone}: the rows after it cannot be read.")
        if new and self._unknown_fields == "error":
            raise InputError(
                f"{where} has the unknown fields {new}.",
                code="unknown_fields",
                remedy='Remove them, or pass unknown_fields="ignore".',
            )
        order = [place.get(name, -1) for name in fields]
        self._order = None if order == list(range(len(names))) else order
        self._width = len(names)

    def _ordered(self, row: list[str]) -> list[str]:
        return [row[at] if at >= 0 else "" for at in self._order or ()]


def split_quoted(text: str, delimiter: str) -> tuple[list[str] | None, str]:
    """The fields of a line with quotes; None without a reason if a quote is still open at its end."""
    row: list[str] = []
    pieces, reason = _split(text, delimiter, row, None)
    return (None, reason) if reason or pieces is not None else (row, "")


def _split_line_end(line: bytes) -> tuple[str, str]:
    """The text of a line, and its line end."""
    text = as_text(line)
    bare = text.rstrip("\r\n")
    return bare, text[len(bare) :]


def _split(
    text: str, delimiter: str, row: list[str], pieces: list[str] | None
) -> tuple[list[str] | None, str]:
    """Append the fields of a line to a row.

    ``pieces`` are the parts, from earlier lines, of a quoted field that is still open. Returns the parts of
    the field that is open at the end of this line (None if there is none) and the reason why the line is bad.
    """
    at = 0
    while True:
        if pieces is not None or text.startswith('"', at):
            if pieces is None:
                pieces = []
                at += 1
            end = text.find('"', at)
            while end >= 0 and text.startswith('"', end + 1):
                end = text.find('"', end + 2)
            if end < 0:
                pieces.append(text[at:])
                return pieces, ""
            pieces.append(text[at:end])
            row.append("".join(pieces).replace('""', '"'))
            pieces = None
            end += 1
            if end < len(text) and text[end] != delimiter:
                return None, "text after a closing quote"
        else:
            end = text.find(delimiter, at)
            end = len(text) if end < 0 else end
            row.append(text[at:end])
        if end >= len(text):
            return None, ""
        at = end + 1


def _header_names(row: list[str]) -> list[str]:
    return [name.strip() or f"{UNNAMED}{at + 1}" for at, name in enumerate(row)]


def _looks_like_data(names: list[str]) -> bool:
    """Whether names are data: one is fractional, or all are numbers other than 0, 1, 2... or 1, 2, 3..."""
    try:
        numbers = [_cells.number(name) for name in names]
    except ValueError:
        return any("." in name and _is_number(name) for name in names)
    return not any(numbers == list(range(first, first + len(names))) for first in (0, 1))


def _is_number(name: str) -> bool:
    """Whether a cell is a number or missing."""
    return _cells.try_convert(_cells.number, name, 0.0)[1] in ("", _cells.INFINITE)
