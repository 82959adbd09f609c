"""Lines of a file, of a gzip file or of standard input, numbered from 1 and counted in bytes.

However long a line is, at most ``max_bytes`` of it are in memory: what is longer is read to its end and
handed out as `Cut`, with its beginning only. Lines that end in a carriage return alone, as on a classic Mac,
are translated if the file begins with them.
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

BLOCK_BYTES = 1 << 26  # lines in memory at a time; a single one may have more
_BUFFER = 1 << 18
_CUT_BYTES = 1000  # what is kept of a line that is too long
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BOM = b"\xef\xbb\xbf"
_LONE_CR = re.compile(rb"\r[^\n]")
_NOT_TEXT = {
    b"\xff\xfe": "UTF-16: convert it to UTF-8",
    b"\xfe\xff": "UTF-16: convert it to UTF-8",
    b"PK\x03\x04": "a zip archive or an Excel workbook: unpack it, or save it as CSV",
    b"\xfd7zXZ": "compressed with xz: unpack it, or compress it with gzip",
    b"BZh91AY&SY": "compressed with bzip2: unpack it, or compress it with gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unpack it, or compress it with gzip",
    b"SQLite format 3\0": "an SQLite database, or a store: export its rows as CSV",
}


class Cut(bytes):
    """The beginning of a line that is too long."""


class _Counted(io.RawIOBase):
    """The bytes that have been read so far, before they are decompressed."""

    def __init__(self, file: Any) -> None:
        self._read = file.readinto1 if hasattr(file, "readinto1") else file.readinto
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._read(buffer) or 0
        self.count += n
        return int(n)


class _ReturnsToFeeds(io.RawIOBase):
    """A file whose lines end in carriage returns, with line feeds instead."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data.replace(b"\r", b"\n")
        return len(data)


class Lines:
    """Hands out lines of bytes and takes them back; ``number`` is that of the last line handed out.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    max_bytes : int
        Length of a line, without its end, beyond which it is cut.
    """

    def __init__(self, path: str, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.name = "standard input" if path == "-" else path
        self.number = 0
        self.bytes_total: int | None = None
        self._back: deque[bytes] = deque()
        self._broken: Exception | None = None
        if path == "-":
            self._own = None
            self._counted = _Counted(sys.stdin.buffer)
        else:
            self._own = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by close
            self._counted = _Counted(self._own)
            self.bytes_total = os.path.getsize(path) if os.path.isfile(path) else None
        buffered = io.BufferedReader(self._counted, _BUFFER)
        self.magic = buffered.peek(4)[:4]
        self._file: Any = buffered
        if self.magic.startswith(_GZIP):
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=buffered), _BUFFER)
        try:
            self._look()
        except BaseException:
            self.close()
            raise
        # Lines, but of one that is too long only a first piece.
        self._pieces = iter(partial(self._file.readline, max_bytes + 1), b"")

    def _look(self) -> None:
        """Refuse what is no text, and find out how lines end, by what can be seen of the beginning."""
        try:
            seen = self._file.peek(_BUFFER)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return  # said when the lines before the damage have been read
        if seen.startswith(_PARQUET):
            return
        for magic, words in _NOT_TEXT.items():
            if seen.startswith(magic):
                raise ValueError(f"{self.name} is {words}.")
        first = seen.removeprefix(_BOM).lstrip().partition(b"\n")[0]
        if b"\0" in first:
            raise ValueError(
                f"{self.name} has NUL bytes in its first line: it is UTF-16 or UTF-32, or no text at all. "
                "Convert it to UTF-8."
            )
        if b"\n" not in seen and _LONE_CR.search(seen):
            self._file = io.BufferedReader(_ReturnsToFeeds(self._file), _BUFFER)

    @property
    def bytes_read(self) -> int:
        """Bytes read from the file, at most a buffer ahead of the lines."""
        return self._counted.count

    def take(self, n: int) -> list[bytes]:
        """The next n lines with their ends; fewer at the end of the file, or where they are very long."""
        lines = [self._back.popleft() for _ in range(min(n, len(self._back)))]
        if len(lines) < n and self._broken is None:
            size = sum(map(len, lines))
            try:
                for line in islice(self._pieces, n - len(lines)):
                    length = len(line)
                    if length > self.max_bytes and not line.endswith(b"\n"):
                        line = self._cut(line)
                    lines.append(line)  # keeps what came before an error
                    size += length
                    if size > BLOCK_BYTES:
                        break
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                self._broken = error
        if not lines and self._broken is not None:
            raise OSError(
                f"{self.name} is damaged after line {self.number}: {self._broken}. "
                "The rows before it have been read."
            ) from self._broken
        if self.number == 0 and lines:  # a line given back has lost it already
            lines[0] = type(lines[0])(lines[0].removeprefix(_BOM))
        self.number += len(lines)
        return lines

    def _cut(self, line: bytes) -> Cut:
        """The beginning of a line whose rest is read and forgotten."""
        beginning = Cut(line[:_CUT_BYTES])
        while line and not line.endswith(b"\n"):
            line = self._file.readline(_BUFFER)
        return beginning

    @property
    def too_long(self) -> str:
        """What is wrong with a line that was cut."""
        return f"longer than {self.max_bytes:,} bytes"

    def give_back(self, lines: list[bytes]) -> None:
        """Hand these lines, the last that were taken, out again."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)

    def first(self) -> bytes | None:
        """The next line that is not empty; it is not used up, the empty ones are."""
        while lines := self.take(1):
            if lines[0].strip():
                self.give_back(lines)
                return lines[0]
        return None

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self._own is not None:
            self._own.close()
