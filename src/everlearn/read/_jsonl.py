"""JSON lines: one object per line."""

from ._blocks import BadRow, Block, BlockReader, as_text, printable
from ._line_reader import BLOCK_BYTES, TruncatedLine
from ._objects import Objects, json_object


class JSONLinesReader(BlockReader):
    """JSON lines: one object per line. An absent key is a missing value."""

    has_all_fields = False

    def read(self, n: int) -> Block | None:
        """The next n records."""
        found = Objects()
        size = 0
        while len(found) < n and (size < BLOCK_BYTES or not len(found)):
            lines = self._lines.read(n - len(found))
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
                    else json_object(text, self._lines.invalid)
                )
                if reason:
                    found.bad.append(BadRow(number, reason, printable(text)))
                else:
                    found.add(number, row, text)
        return found.block(self.used)
