"""LineReader: the lines of a file, a gzip file or standard input, with line numbers and byte counts.

At most ``max_bytes`` of a line are in memory: a longer line becomes a `TruncatedLine` with its first bytes
only. Lines that end in a lone carriage return (classic Mac) are supported if the file starts with them.
"""

import gzip
import io
import os
import re
import sys
import zlib
from collections import deque
from functools import partial
from itertools import islice
from typing import Any

BLOCK_BYTES = 1 << 26  # size of the lines of a block; a single line may be longer
_BUFFER = 1 << 18
_TRUNCATED_BYTES = 1000  # kept of a line that is too long
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BOM = b"\xef\xbb\xbf"
_LONE_CR = re.compile(rb"\r[^\n]")
_NOT_TEXT_MAGIC = {
    b"\xff\xfe": "UTF-16: convert it to UTF-8",
    b"\xfe\xff": "UTF-16: convert it to UTF-8",
    b"PK\x03\x04": "a zip archive or an Excel workbook: unzip it, or save it as CSV",
    b"\xfd7zXZ": "compressed with xz: decompress it, or compress it with gzip",
    b"BZh91AY&SY": "compressed with bzip2: decompress it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it, or compress it with gzip",
    b"SQLite format 3\0": "an SQLite database or a store: export its rows as CSV",
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
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.name = "standard input" if path == "-" else path
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
        buffered = io.BufferedReader(self._counted, _BUFFER)
        self.magic = buffered.peek(4)[:4]
        self._file: Any = buffered
        if self.magic.startswith(_GZIP):
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=buffered), _BUFFER)
        try:
            self._inspect_start()
        except BaseException:
            self.close()
            raise
        # Whole lines, or the first piece of a line that is too long.
        self._pieces = iter(partial(self._file.readline, max_bytes + 1), b"")

    def _inspect_start(self) -> None:
        """Raise an error if the file is not text, and detect the line ends, from the first bytes."""
        try:
            seen = self._file.peek(_BUFFER)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return  # reported after the lines before the damage have been read
        if seen.startswith(_PARQUET):
            return
        for magic, words in _NOT_TEXT_MAGIC.items():
            if seen.startswith(magic):
                raise ValueError(f"{self.name} is {words}.")
        first = seen.removeprefix(_BOM).lstrip().partition(b"\n")[0]
        if b"\0" in first:
            raise ValueError(
                f"{self.name} has NUL bytes in its first line: it is UTF-16, UTF-32 or not text. "
                "Convert it to UTF-8."
            )
        if b"\n" not in seen and _LONE_CR.search(seen):
            self._file = io.BufferedReader(_MacLineEnds(self._file), _BUFFER)

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
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
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
            line = self._file.readline(_BUFFER)
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
