"""Readers of text formats: lines in, blocks of cells out. What a cell means is the schema's business.

A reader has ``read(n)``, which returns a block of n records, good and bad ones together (fewer only at the
end, None when there is nothing left), so that blocks begin at the same records however they turn out;
``fields``, the names if the file says them at its beginning, else None; ``needed``, the fields that must not
vanish further down, ``wanted``, those that will be looked at; and ``strict``, whether every row has every
field.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ._cells import INFINITE, LARGEST
from ._lines import BLOCK_BYTES, Cut, Lines

_LIBSVM_PAIR = re.compile(rb"\d{1,9}:[^:_]+")
_LIBSVM_FIRST = re.compile(r"\s*[^\s:]+(?:\s+qid:\S+)?(?:\s+\d+:[^\s:]+)+\s*(?:#.*)?", re.ASCII)


@dataclass(frozen=True)
class BadRow:
    """A row that could not be taken.

    Attributes
    ----------
    line : int
        Its line in the file, from 1.
    reason : str
        What is wrong with it.
    raw : str
        What is written there.
    """

    line: int
    reason: str
    raw: str


@dataclass
class Block:
    """Records that travel together: the cells by field, and the records that are none."""

    lines: list[int]
    raw: Sequence[str]
    columns: dict[str, Any]
    bad: list[BadRow] = field(default_factory=list)
    rows: Any = None  # LIBSVM: the features, column j for the index j
    others: dict[str, int] = field(default_factory=dict)  # fields without cells, and where they came first


def repeated(names: Iterable[str]) -> list[str]:
    """The names that are there more than once, in order."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def sniff(first: bytes) -> str:
    """The text format of a file with this first line."""
    text = first.decode("utf-8", "replace").strip()
    if text.startswith("{"):
        return "jsonl"
    return "libsvm" if _LIBSVM_FIRST.fullmatch(text) else "csv"


class JSONReader:
    """JSON lines: an object a line. A key that is not there is a missing value."""

    strict = False

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.fields: list[str] | None = None
        self.needed: set[str] | None = None
        self.wanted: set[str] | None = None
        self.headers_skipped = 0

    def read(self, n: int) -> Block | None:
        rows: list[dict[str, Any]] = []
        numbers: list[int] = []
        raw: list[str] = []
        bad: list[BadRow] = []
        names: dict[str, int] = {}  # and the first row that has it
        size = 0
        while len(rows) + len(bad) < n and (size < BLOCK_BYTES or not (rows or bad)):
            lines = self._lines.take(n - len(rows) - len(bad))
            if not lines:
                break
            size += sum(map(len, lines))
            for number, line in enumerate(lines, self._lines.number - len(lines) + 1):
                text = as_text(line).strip().removeprefix("\ufeff")
                if not text:
                    continue
                row, reason = ({}, self._lines.too_long) if isinstance(line, Cut) else _json_object(text)
                if reason:
                    bad.append(BadRow(number, reason, printable(text)))
                    continue
                if not row.keys() <= names.keys():
                    for name in row:
                        names.setdefault(name, len(rows))
                rows.append(row)
                numbers.append(number)
                raw.append(text)
        if not rows and not bad:
            return None
        # A cell for each row only where it will be looked at: rows that all have other keys would need the
        # square of their size.
        used = [name for name in names if self.wanted is None or name in self.wanted]
        columns = {name: [row.get(name) for row in rows] for name in used}
        others = {name: first for name, first in names.items() if name not in columns}
        return Block(numbers, raw, columns, bad, others=others)


class LIBSVMReader:
    """LIBSVM or svmlight text: ``label index:value index:value ... # comment``."""

    strict = False

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.fields: list[str] | None = None
        self.needed: set[str] | None = None
        self.wanted: set[str] | None = None
        self.headers_skipped = 0

    def read(self, n: int) -> Block | None:
        labels: list[str | None] = []
        numbers: list[int] = []
        raw: list[str] = []
        bad: list[BadRow] = []
        starts, indices, values = [0], [], []
        size = 0
        while len(labels) + len(bad) < n and (size < BLOCK_BYTES or not (labels or bad)):
            lines = self._lines.take(n - len(labels) - len(bad))
            if not lines:
                break
            size += sum(map(len, lines))
            for number, line in enumerate(lines, self._lines.number - len(lines) + 1):
                text = as_text(line).rstrip("\r\n")
                if not text.partition("#")[0].strip():
                    continue
                if isinstance(line, Cut):
                    bad.append(BadRow(number, self._lines.too_long, printable(text)))
                    continue
                label, row_indices, row_values, reason = _libsvm_row(text)
                if reason:
                    bad.append(BadRow(number, reason, printable(text)))
                    continue
                labels.append(label)
                numbers.append(number)
                raw.append(text)
                indices += row_indices
                values += row_values
                starts.append(len(indices))
        if not labels and not bad:
            return None
        width = max(indices, default=0) + 1
        rows = sparse.csr_matrix(
            (np.array(values), indices, starts), shape=(len(labels), width), dtype=np.float64
        )
        rows.sort_indices()
        return Block(numbers, raw, {"label": labels}, bad, rows)


def printable(text: str) -> str:
    """The text with bytes that are no UTF-8 written out, so that it can be stored anywhere."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def as_text(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _json_object(text: str) -> tuple[dict[str, Any], str]:
    if not text.isascii() and not is_clean(text):
        return {}, "invalid UTF-8"
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "invalid JSON"
    if not isinstance(row, dict):
        return {}, "not a JSON object"
    if "\\u" in text and not is_clean(json.dumps(row, ensure_ascii=False)):
        return {}, "invalid UTF-8"  # half of a surrogate pair
    return row, ""


def _libsvm_row(text: str) -> tuple[str | None, list[int], list[float], str]:
    if not text.isascii() and not is_clean(text):
        return None, [], [], "invalid UTF-8"
    pairs = text.partition("#")[0].encode().split()  # bytes: ASCII blanks only
    label = pairs.pop(0).decode() if b":" not in pairs[0] else None
    if pairs and pairs[0].startswith(b"qid:"):
        pairs.pop(0)
    if not all(map(_LIBSVM_PAIR.fullmatch, pairs)):
        return None, [], [], "not label index:value ..."
    parts = b" ".join(pairs).replace(b":", b" ").split()
    try:
        values = list(map(float, parts[1::2]))
    except ValueError:
        return None, [], [], "not a number"
    if not all(abs(value) <= LARGEST for value in values):
        return None, [], [], "not a number" if any(map(math.isnan, values)) else INFINITE
    indices = list(map(int, parts[::2]))
    if len(set(indices)) < len(indices):
        return None, [], [], "an index twice"
    return label, indices, values, ""
