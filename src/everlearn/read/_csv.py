"""CSV: lines in, blocks of cells out, and a way back for quotes that were never meant to open."""

import re

from . import _cells
from ._formats import BadRow, Block, as_text, is_clean, printable, repeated
from ._infer import NAMELESS
from ._lines import BLOCK_BYTES, Cut, Lines

_DELIMITERS = ",;\t|"
_QUOTED = re.compile('"[^"]*"')
_LONE_CR = re.compile("\r[^\r\n]")
_MAX_RECORD_LINES = 1000  # a quote that is open for longer was never meant to be
_MAX_TAKEN = 1000  # lines at once, of which some may have to be given back


class CSVReader:
    """Comma-separated values as in RFC 4180, with any of four delimiters."""

    strict = True

    def __init__(self, lines: Lines, names: list[str] | None, header: bool, unknown_fields: str) -> None:
        self._lines = lines
        self._unknown_fields = unknown_fields
        self._order: list[int] | None = None  # where the fields are, if a later header has moved them
        self._width: int | None = None
        self.fields: list[str] | None = names
        self.needed: set[str] | None = None
        self.wanted: set[str] | None = None
        self.headers_skipped = 0
        self._header: list[str] = []
        first = lines.first()
        if first is None:
            return
        if isinstance(first, Cut):
            raise ValueError(
                f"The first line of {lines.name} is {lines.too_long}: is it CSV? A larger max_row_bytes "
                "reads it."
            )
        self._delimiter = max(_DELIMITERS, key=re.sub(_QUOTED, "", as_text(first)).count)
        if header:
            self._read_header()
        elif names is None:
            row, reason = self._record()
            if row is None:
                raise ValueError(f"The first line of {lines.name} cannot be read: {reason}.")
            self.fields = [f"column_{n + 1}" for n in range(len(row))]
            self._lines.give_back(self._last)
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
            lines = self._lines.take(min(n - len(rows) - len(bad), _MAX_TAKEN))
            if not lines:
                break
            number = self._lines.number - len(lines)
            size += sum(map(len, lines))
            for at, line in enumerate(lines):
                number += 1
                text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
                cut = isinstance(line, Cut)
                reason = self._lines.too_long if cut else ""
                if not text.isascii() and not cut:
                    text = text.removeprefix("\ufeff")
                    reason = "" if is_clean(text) else "invalid UTF-8"
                if not text:
                    continue
                quoted = '"' in text and not cut
                row, wrong = split_quoted(text, delimiter) if quoted else (text.split(delimiter), "")
                spread = row is None and not wrong
                if spread:
                    self._lines.give_back(lines[at:])
                    row, wrong = self._record()
                    text = "".join(map(as_text, self._last)).rstrip("\r\n")
                    size += len(text) - sum(map(len, lines[at:]))
                reason = reason or wrong
                if reason or row is None:
                    bad.append(BadRow(number, reason, printable(text)))
                elif not names.isdisjoint(row) and self._is_header(row):
                    self._follow(row, number)
                elif len(row) != self._width:
                    bad.append(BadRow(number, "wrong number of fields", printable(text)))
                else:
                    rows.append(row if self._order is None else self._ordered(row))
                    numbers.append(number)
                    raw.append(text)
                if spread:
                    break  # the lines after it have been given back
        if not rows and not bad:
            return None
        cells = zip(*rows, strict=True) if rows else ([] for _ in self.fields or ())
        return Block(numbers, raw, dict(zip(self.fields or (), cells, strict=True)), bad)

    def _record(self) -> tuple[list[str] | None, str]:
        """The next record, over as many lines as its quotes need, or None and what is wrong with it.

        A quote that was never meant to open would swallow the rows after it. So if what several lines make
        together is no record either, only the first of them is bad and the others are read again.
        """
        lines = self._lines.take(1)
        fields: list[str] = []
        text, end = _without_end(lines[0])
        pieces, reason = _split(text, self._delimiter, fields, None)
        size = len(lines[0])
        while pieces is not None and not reason:
            pieces.append(end)  # of a line inside quotes, and so part of the field
            more = self._lines.take(1) if len(lines) < _MAX_RECORD_LINES else []
            lines += more
            size += sum(map(len, more))
            if not more or isinstance(more[0], Cut) or size > self._lines.max_bytes:
                reason = "a quote that is not closed"
                break
            text, end = _without_end(more[0])
            pieces, reason = _split(text, self._delimiter, fields, pieces)
            n_fields = len(fields) + (pieces is not None)
            if self._width is not None and (
                n_fields > self._width or (pieces is None and n_fields < self._width)
            ):
                reason = reason or "a quote that is not closed"
        row = None if reason else fields
        if row is None:
            self._lines.give_back(lines[1:])
            lines = lines[:1]
        self._last = lines
        if not all(is_clean(as_text(line)) for line in lines):
            return None, "invalid UTF-8"
        return row, reason

    def _read_header(self) -> None:
        row, reason = self._record()
        if row is None:
            raise ValueError(f"The header of {self._lines.name} cannot be read: {reason}.")
        names = _header_names(row)
        if _looks_like_data(names):
            raise ValueError(
                f"The first line of {self._lines.name} looks like data, not like the names of fields: "
                "put a header on top, or pass header=False."
            )
        if _LONE_CR.search(re.sub(_QUOTED, "", as_text(self._last[0]))):
            raise ValueError(
                f"The header of {self._lines.name} has a carriage return in it: lines must end in LF or CRLF."
            )
        if twice := repeated(names):
            raise ValueError(
                f"The header of {self._lines.name} has {twice} more than once: rename the fields."
            )
        self._header = row
        self.fields = names

    def _is_header(self, row: list[str]) -> bool:
        """Whether a row is a header again: the same names, or names only and half of them, and two, known."""
        if row == self._header or set(row) == set(self._header):
            return len(set(row)) == len(row)
        known = len(self._names.intersection(row))
        return known >= 2 and 2 * known >= len(row) == len(set(row)) and not any(map(_is_number, row))

    def _follow(self, row: list[str], number: int) -> None:
        """Read on with the fields where this header has them."""
        self.headers_skipped += 1
        names = _header_names(row)
        fields = self.fields or []
        known = set(fields)
        new = [name for name in names if name not in known]
        place = {name: at for at, name in enumerate(names)}
        gone = [name for name in fields if name not in place and (self.needed is None or name in self.needed)]
        where = f"The header in line {number} of {self._lines.name}"
        if gone:
            raise ValueError(f"{where} lacks the fields {gone}: the rows after it cannot be read.")
        if new and self._unknown_fields == "error":
            raise ValueError(
                f'{where} has the unknown fields {new}: remove them or pass unknown_fields="ignore".'
            )
        order = [place.get(name, -1) for name in fields]
        self._order = None if order == list(range(len(names))) else order
        self._width = len(names)

    def _ordered(self, row: list[str]) -> list[str]:
        return [row[at] if at >= 0 else "" for at in self._order or ()]


def split_quoted(text: str, delimiter: str) -> tuple[list[str] | None, str]:
    """The fields of a record that has quotes; None and no reason if a quote is still open at its end."""
    row: list[str] = []
    pieces, reason = _split(text, delimiter, row, None)
    return (None, reason) if reason or pieces is not None else (row, "")


def _without_end(line: bytes) -> tuple[str, str]:
    """A line as text, and its end."""
    text = as_text(line)
    bare = text.rstrip("\r\n")
    return bare, text[len(bare) :]


def _split(
    text: str, delimiter: str, row: list[str], pieces: list[str] | None
) -> tuple[list[str] | None, str]:
    """Add the fields of a line to a row.

    ``pieces`` are what earlier lines have of a quoted field that is still open. Returned are those of the
    field that is open at the end of this line, else None, and what is wrong.
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
    return [name.strip() or f"{NAMELESS}{at + 1}" for at, name in enumerate(row)]


def _looks_like_data(names: list[str]) -> bool:
    """Whether names are numbers: one is a fraction, or all are and they do not count 0, 1, 2 or 1, 2, 3."""
    try:
        numbers = [_cells.number(name) for name in names]
    except ValueError:
        return any("." in name and _is_number(name) for name in names)
    return not any(numbers == list(range(first, first + len(names))) for first in (0, 1))


def _is_number(name: str) -> bool:
    """Whether a cell is a number, or nothing."""
    return _cells.attempt(_cells.number, name, 0.0)[1] in ("", _cells.INFINITE)
