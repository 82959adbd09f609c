"""Lines of a file, of a gzip file or of standard input, numbered from 1 and counted in bytes."""

import gzip
import io
import os
import sys
import zlib
from collections import deque
from itertools import islice
from typing import Any

_BUFFER = 1 << 18
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


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


class Lines:
    """Hands out lines of bytes and takes them back; ``number`` is that of the last line handed out."""

    def __init__(self, path: str) -> None:
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
        if self.magic.startswith(_UTF16):
            self.close()
            raise ValueError(f"{self.name} is UTF-16: convert it to UTF-8.")
        self._file: Any = buffered
        if self.magic.startswith(_GZIP):
            self._file = io.BufferedReader(gzip.GzipFile(fileobj=buffered), _BUFFER)

    @property
    def bytes_read(self) -> int:
        """Bytes read from the file, at most a buffer ahead of the lines."""
        return self._counted.count

    def take(self, n: int) -> list[bytes]:
        """The next n lines with their ends, fewer only at the end of the file."""
        lines = [self._back.popleft() for _ in range(min(n, len(self._back)))]
        if len(lines) < n and self._broken is None:
            try:
                lines.extend(islice(self._file, n - len(lines)))  # keeps what came before an error
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                self._broken = error
        if not lines and self._broken is not None:
            raise OSError(
                f"{self.name} is damaged after line {self.number}: {self._broken}. "
                "The rows before it have been read."
            ) from self._broken
        if self.number == 0 and lines:  # a line given back has lost it already
            lines[0] = lines[0].removeprefix(_BOM)
        self.number += len(lines)
        return lines

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
