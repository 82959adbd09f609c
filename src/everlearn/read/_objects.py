"""Rows that are JSON objects, collected into blocks; an absent key is a missing value."""

import json
from typing import Any

from ._blocks import BadRow, Block, is_valid


class Objects:
    """The rows of a block, good and bad ones."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.bad: list[BadRow] = []
        self._numbers: list[int] = []
        self._raw: list[str] = []
        self._names: dict[str, int] = {}  # field -> the first row that has it

    def __len__(self) -> int:
        return len(self.rows) + len(self.bad)

    def add(self, number: int, row: dict[str, Any], text: str) -> None:
        """Add a row with its line number and its text."""
        names = self._names
        if not row.keys() <= names.keys():
            for name in row:
                names.setdefault(name, len(self.rows))
        self.rows.append(row)
        self._numbers.append(number)
        self._raw.append(text)

    def block(self, used: set[str] | None) -> Block | None:
        """The block, with columns for the used fields; None if there is no row.

        A column for each key would take quadratic space if every row had keys of its own.
        """
        if not len(self):
            return None
        names = [name for name in self._names if used is None or name in used]
        columns = {name: [row.get(name) for row in self.rows] for name in names}
        others = {name: first for name, first in self._names.items() if name not in columns}
        return Block(self._numbers, self._raw, columns, self.bad, others=others)


def json_object(text: str, invalid: str) -> tuple[dict[str, Any], str]:
    """The object in a text, and "", or an empty one and what is wrong with the text."""
    if not text.isascii() and not is_valid(text):
        return {}, invalid
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return {}, "invalid JSON"
    if not isinstance(row, dict):
        return {}, "not a JSON object"
    if "\\u" in text and not is_valid(json.dumps(row, ensure_ascii=False)):
        return {}, "invalid UTF-8"  # half of a surrogate pair
    return row, ""
