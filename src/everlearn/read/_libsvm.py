"""LIBSVM and svmlight text."""

import math
import re

import numpy as np
from scipy import sparse

from ._blocks import BadRow, Block, BlockReader, as_text, is_valid, printable
from ._cells import INFINITE, LARGEST
from ._line_reader import BLOCK_BYTES, TruncatedLine

_PAIR = re.compile(rb"\d{1,9}:[^:_]+")


class LIBSVMReader(BlockReader):
    """LIBSVM or svmlight text: ``label index:value index:value ... # comment``."""

    has_all_fields = False

    def fields_of(self, raw: str) -> dict[str, str]:
        """Nothing: the features have no names."""
        return {}

    def read(self, n: int) -> Block | None:
        """The next n records."""
        labels: list[str | None] = []
        numbers: list[int] = []
        raw: list[str] = []
        bad: list[BadRow] = []
        starts, indices, values = [0], [], []
        size = 0
        while len(labels) + len(bad) < n and (size < BLOCK_BYTES or not (labels or bad)):
            lines = self._lines.read(n - len(labels) - len(bad))
            if not lines:
                break
            size += sum(map(len, lines))
            for number, line in enumerate(lines, self._lines.number - len(lines) + 1):
                text = as_text(line).rstrip("\r\n")
                if not text.partition("#")[0].strip():
                    continue
                if isinstance(line, TruncatedLine):
                    bad.append(BadRow(number, self._lines.too_long, printable(text)))
                    continue
                label, row_indices, row_values, reason = _parse(text)
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


def _parse(text: str) -> tuple[str | None, list[int], list[float], str]:
    if not text.isascii() and not is_valid(text):
        return None, [], [], "invalid UTF-8"
    pairs = text.partition("#")[0].encode().split()  # bytes: ASCII blanks only
    label = pairs.pop(0).decode() if b":" not in pairs[0] else None
    if pairs and pairs[0].startswith(b"qid:"):
        pairs.pop(0)
    if not all(map(_PAIR.fullmatch, pairs)):
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
