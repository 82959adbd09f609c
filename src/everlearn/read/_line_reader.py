"""LineReader: the lines of a file or standard input as UTF-8, with line numbers and byte counts.

The file may be compressed and in any encoding; see `_compression` and `_encoding`.

At most ``max_bytes`` of a line are in memory: a longer line becomes a `TruncatedLine` with its first bytes
only. Lines that end in a lone carriage return (classic Mac) are supported if the file starts with them.
"""

import io
import os
import re
import sys
from collections import deque
from functools import partial
from itertools import islice
from typing import Any

from ._compression import BUFFER, DAMAGED, MAGIC_BYTES, compression_of, decompressed
from ._encoding import UTF8, Recoded, encoding_of

BLOCK_BYTES = 1 << 26  # size of the lines of a block; a single line may be longer
_TRUNCATED_BYTES = 1000  # kept of a line that is too long
BINARY_MAGIC = {  # formats that are not text
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream of record batches
    b"\x93NUMPY": "npy",
}
_BOM = b"\xef\xbb\xbf"
_ZIP = b"PK\x03\x04"
_LONE_CR = re.compile(rb"\r[^\n]")
_NOT_TEXT_MAGIC = {
    b"PK\x03\x04": "a zip archive or an Excel workbook: unzip it, or save it as CSV",
    b"FEA1": "Feather version 1: write it again as version 2",
    b"SQLite format 3\0": "an SQLite database or a store: read its rows with a query (--sql)",
}


class TruncatedLine(bytes):
    """The first bytes of a line that is too long."""


class _CountingFile(io.RawIOBase):
    """A file that counts the bytes read from it, before decompression."""

    def __init__(self, file: Any) -> None:
        self._read = file.readinto1 if hasattr(file, "readinto1") else file.readinto
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._read(buffer) or 0
        self.count += n
        return int(n)


class _MacLineEnds(io.RawIOBase):
    """A file with carriage returns translated to line feeds."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data.replace(b"\r", b"\n")
        return len(data)


class LineReader:
    """Reads lines of bytes, which can be unread; ``number`` is the line number of the last line read.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    max_bytes : int
        Longer lines, not counting the line end, are truncated.
    encoding : str, default=None
        The encoding; None detects it.
    stored_encoding : str, default=None
        The encoding of earlier files of the same stream, if they were not Unicode.
    name : str, default=None
        The name for messages, if it is not the path.

    Attributes
    ----------
    binary : str or None
        The format of a file that is not text.
    is_compressed : bool
        Whether the file is compressed.
    encoding : str
        The encoding of a text file.
    layout : str
        Encoding and line ends in a few words; "" for UTF-8 with line feeds.
    """

    def __init__(
        self,
        path: str,
        max_bytes: int,
        encoding: str | None = None,
        stored_encoding: str | None = None,
        name: str | None = None,
    ) -> None:
        self.max_bytes = max_bytes
        self.name = name or ("standard input" if path == "-" else path)
        self.encoding, self._encodings = UTF8, (encoding, stored_encoding)
        self.binary: str | None = None
        self._mac = False
        self.number = 0
        self.bytes_total: int | None = None
        self._unread: deque[bytes] = deque()
        self._broken: Exception | None = None
        if path == "-":
            self._own = None
            self._counted = _CountingFile(sys.stdin.buffer)
        else:
            self._own = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
            self._counted = _CountingFile(self._own)
            self.bytes_total = os.path.getsize(path) if os.path.isfile(path) else None
        buffered = io.BufferedReader(self._counted, BUFFER)
        try:
            self._file: Any = decompressed(buffered, buffered.peek(MAGIC_BYTES)[:MAGIC_BYTES], self.name)
            self.is_compressed = self._file is not buffered
            self._inspect_start()
        except BaseException:
            self.close()
            raise
        # Whole lines, or the first piece of a line that is too long.
        self._pieces = iter(partial(self._file.readline, max_bytes + 1), b"")

    def _inspect_start(self) -> None:
        """Raise an error if the file is not text, and detect the line ends, from the first bytes."""
        try:
            seen = self._file.peek(BUFFER)
        except DAMAGED:
            return  # reported after the lines before the damage have been read
        self.binary = next((found for magic, found in BINARY_MAGIC.items() if seen.startswith(magic)), None)
        if self.binary is not None or (seen.startswith(_ZIP) and self.name.lower().endswith(".npz")):
            self.binary = self.binary or "npz"
            return
        if self.is_compressed and (twice := compression_of(seen)) is not None:
            raise ValueError(
                f"{self.name} is compressed twice, the second time with {twice}: decompress it once."
            )
        for magic, words in _NOT_TEXT_MAGIC.items():
            if seen.startswith(magic):
                raise ValueError(f"{self.name} is {words}.")
        self.encoding, mark = encoding_of(seen, self.name, *self._encodings)
        if self.encoding != UTF8:
            self._file.read(mark)
            self._file = io.BufferedReader(Recoded(self._file, self.encoding), BUFFER)
            seen = self._file.peek(BUFFER)
        first = seen.removeprefix(_BOM).lstrip().partition(b"\n")[0]
        if b"\0" in first:
            raise ValueError(
                f"{self.name} has NUL bytes in its first line: it is not text, or in another encoding than "
                f"{self.encoding} (--encoding)."
            )
        if b"\n" not in seen and _LONE_CR.search(seen):
            self._mac = True
            self._file = io.BufferedReader(_MacLineEnds(self._file), BUFFER)

    @property
    def layout(self) -> str:
        """Encoding and line ends in a few words; "" for UTF-8 with line feeds."""
        parts = [] if self.encoding == UTF8 else [self.encoding]
        return ", ".join([*parts, "lines end in CR"] if self._mac else parts)

    @property
    def eight_bit_encoding(self) -> str | None:
        """The encoding, if it is not Unicode: later files of the stream have no mark that tells it."""
        return None if self.encoding.startswith("utf") else self.encoding

    @property
    def invalid(self) -> str:
        """The reason why a line with invalid bytes is bad."""
        return f"invalid {'UTF-8' if self.encoding == UTF8 else self.encoding}"

    @property
    def bytes_read(self) -> int:
        """Bytes read from the file, at most one buffer ahead of the lines."""
        return self._counted.count

    def read(self, n: int) -> list[bytes]:
        """The next n lines with their line ends; fewer at the end of the file or if they are very long."""
        lines = [self._unread.popleft() for _ in range(min(n, len(self._unread)))]
        if len(lines) < n and self._broken is None:
            size = sum(map(len, lines))
            try:
                for line in islice(self._pieces, n - len(lines)):
                    length = len(line)
                    if length > self.max_bytes and not line.endswith(b"\n"):
                        line = self._truncate(line)
                    lines.append(line)  # so that lines before an error are kept
                    size += length
                    if size > BLOCK_BYTES:
                        break
            except DAMAGED as error:
                self._broken = error
        if not lines and self._broken is not None:
            raise OSError(
                f"{self.name} is damaged after line {self.number}: {self._broken}. "
                "All rows before that line were read."
            ) from self._broken
        if self.number == 0 and lines:  # an unread line has lost it already
            lines[0] = type(lines[0])(lines[0].removeprefix(_BOM))
        self.number += len(lines)
        return lines

    def _truncate(self, line: bytes) -> TruncatedLine:
        """Read a line to its end, but keep only its first bytes."""
        beginning = TruncatedLine(line[:_TRUNCATED_BYTES])
        while line and not line.endswith(b"\n"):
            line = self._file.readline(BUFFER)
        return beginning

    @property
    def too_long(self) -> str:
        """The reason why a truncated line is bad."""
        return f"longer than {self.max_bytes:,} bytes"

    def unread(self, lines: list[bytes]) -> None:
        """Undo the reading of these lines, which must be the last ones read."""
        self._unread.extendleft(reversed(lines))
        self.number -= len(lines)

    def peek(self) -> bytes | None:
        """The next nonempty line, without reading it; empty lines before it are dropped."""
        while lines := self.read(1):
            if lines[0].strip():
                self.unread(lines)
                return lines[0]
        return None

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._own is not None:
            self._own.close()
