"""CSV files for people: written as a whole or not at all, and safe to open in a spreadsheet."""

import io
import re
import sys
from collections.abc import Callable
from typing import Any, TextIO

from .. import _atomic
from .._visible import visible

_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four: full-width = + - @
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

Cell = Callable[[Any], Any]


def write_csv(out: str, raw: bool, put: Callable[[TextIO, Cell], int]) -> int:
    """Write a file, or standard output for "-"; return what ``put(file, cell)`` returns.

    ``cell`` makes a value safe for spreadsheets, unless ``raw`` is true; at a terminal, safe to show.
    """
    cell: Cell = (lambda value: value) if raw else for_spreadsheet
    if out == "-":
        return put(sys.stdout, visible if sys.stdout.isatty() else cell)
    n_rows = 0

    def write(file: Any) -> None:
        nonlocal n_rows
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        n_rows = put(text, cell)
        text.detach()

    _atomic.write(out, write)
    return n_rows


def for_spreadsheet(value: Any) -> Any:
    """A cell that no spreadsheet runs as a formula.

    Spreadsheets evaluate cells that start with certain characters, even if they are quoted. Such text is
    prefixed with an apostrophe, and so is text that starts with apostrophes followed by such a character:
    `from_spreadsheet` restores the original. Numbers are unchanged.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def from_spreadsheet(text: str) -> str:
    """The text that `for_spreadsheet` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
