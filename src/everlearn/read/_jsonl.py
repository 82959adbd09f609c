"""JSON lines: one object per line."""

import json
from typing import Any

from ._blocks import BadRow, Block, BlockReader, as_text, is_valid, printable
from ._line_reader import BLOCK_BYTES, TruncatedLine


class JSONLinesReader(BlockReader):
    """JSON lines: one object per line. An absent key is a missing value."""

    has_all_fields = False

    def read(self, n: int) -> Block | None:
        """The next n records."""
        rows: list[dict[str, Any]] = []
        numbers: list[int] = []
        raw: list[str] = []
        bad: list[BadRow] = []
        names: dict[str, int] = {}  # field -> the first row that has it
        size = 0
        while len(rows) + len(bad) < n and (size < BLOCK_BYTES or not (rows or bad)):
            lines = self._lines.read(n - len(rows) - len(bad))
            if not lines:
                break
            size += sum(map(len, lines))
            for number, line in enumerate(lines, self._lines.number - len(lines) + 1):
                text = as_text(line).strip().removeprefix("\ufeff")
                if not text:
                    continue
                row, reason = (
                    ({}, self._lines.too_long)
                    if isinstance(line, TruncatedLine)
                    else _json_object(text, self._lines.invalid)
                )
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
        # Columns for used fields only: a column for each key would take quadratic space if every row had keys
        # of its own.
        used = [name for name in names if self.used is None or name in self.used]
        columns = {name: [row.get(name) for row in rows] for name in used}
        others = {name: first for name, first in names.items() if name not in columns}
        return Block(numbers, raw, columns, bad, others=others)


def _json_object(text: str, invalid: str) -> tuple[dict[str, Any], str]:
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
