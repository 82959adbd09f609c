"""Compressed files: gzip, bzip2, xz and zstd, recognized by their first bytes."""

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from typing import Any

BUFFER = 1 << 18
MAGIC_BYTES = 8
EXTENSIONS = (".gz", ".bz2", ".xz", ".zst", ".zstd")
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, OSError)  # raised by damaged files


_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def compression_of(start: bytes) -> str | None:
    """The compression of a file that starts with these bytes; None without one."""
    if start.startswith(b"BZh") and start[4:8] == b"1AY&":
        return "bzip2"
    return next((found for magic, found in _MAGIC.items() if start.startswith(magic)), None)


def decompressed(file: Any, magic: bytes, name: str) -> Any:
    """The file without its compression, buffered; the file itself if it is not compressed."""
    found = compression_of(magic)
    if found is None:
        return file
    if found == "gzip":
        raw: Any = gzip.GzipFile(fileobj=file)
    elif found == "zstd":
        raw = _Zstd(file, name)
    else:
        raw = bz2.BZ2File(file) if found == "bzip2" else lzma.LZMAFile(file)  # noqa: SIM115
    return io.BufferedReader(raw, BUFFER)


class _Zstd(io.RawIOBase):
    """A file that was compressed with zstd; needs pyarrow."""

    def __init__(self, file: Any, name: str) -> None:
        try:
            arrow: Any = importlib.import_module("pyarrow")
        except ImportError as error:
            raise ImportError(
                f"{name} is compressed with zstd, which needs pyarrow: pip install everlearn[stream]."
            ) from error
        self._file = arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
