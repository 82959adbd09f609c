"""The encoding of a text file, from its first bytes; everything is read as UTF-8 from there on."""

import codecs
import io
import re
from typing import Any

UTF8 = "utf-8"
_BOMS = (  # UTF-32 first: its mark starts with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, UTF8),
)
_WESTERN = "cp1252"  # Latin-1 with printable characters in place of control codes
_UNDEFINED = frozenset(b"\x81\x8d\x8f\x90\x9d")  # in cp1252
_HIGH = re.compile(rb"[\x80-\xff]")
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}", re.DOTALL
)
_UNREADABLE = "everlearn-unreadable"


def encoding_of(start: bytes, name: str, given: str | None, stored: str | None) -> tuple[str, int]:
    """The encoding of a file that starts with these bytes, and the length of its byte-order mark.

    Parameters
    ----------
    start : bytes
        The first bytes of the file.
    name : str
        The name of the file, for errors.
    given : str or None
        The encoding that the user names; it always wins.
    stored : str or None
        The encoding of earlier files of the same stream. It is used if the bytes are not UTF-8.

    Returns
    -------
    tuple of (str, int)
        A name known to `codecs`, and a number of bytes to skip.
    """
    marked = next(((found, len(mark)) for mark, found in _BOMS if start.startswith(mark)), None)
    if given is not None:
        known = check_encoding(given)
        return marked if marked is not None and marked[0].startswith(known) else (known, 0)
    if marked is not None:
        return marked
    if wide := _without_mark(start):
        return wide, 0
    if _is_mostly_utf8(start):
        return UTF8, 0
    if stored is not None:
        return check_encoding(stored), 0
    n_high, n_ascii = len(_HIGH.findall(start)), len(_ASCII_LETTER.findall(start))
    if n_high > n_ascii:
        raise ValueError(
            f"{name} is not UTF-8, and most of its letters are not Latin, so its encoding cannot be guessed: "
            "give encoding (--encoding), for example cp1251, cp1253, shift_jis, gb18030 or euc_kr."
        )
    return ("latin-1" if _UNDEFINED.intersection(start) else _WESTERN), 0


def check_encoding(given: str) -> str:
    """The normalized name of an encoding; ValueError if Python does not know it."""
    try:
        info = codecs.lookup(given)
        "".encode(info.name)  # not for codecs such as base64
    except LookupError:
        raise ValueError(
            f"encoding={given!r} is not known: use a name such as utf-8, cp1252, latin-1, utf-16 or cp1251."
        ) from None
    return {"utf-8-sig": UTF8, "iso8859-1": "latin-1"}.get(info.name, info.name)


def _without_mark(start: bytes) -> str | None:
    """UTF-16 without a byte-order mark: half of the bytes of Western text are NUL, all on one side."""
    pairs = len(start) // 2
    even, odd = start[0 : 2 * pairs : 2].count(0), start[1 : 2 * pairs : 2].count(0)
    if pairs >= 2 and odd > 0.7 * pairs and even < 0.1 * pairs:
        return "utf-16-le"
    return "utf-16-be" if pairs >= 2 and even > 0.7 * pairs and odd < 0.1 * pairs else None


def _is_mostly_utf8(start: bytes) -> bool:
    """Whether damaged rows are better explained by damage than by another encoding."""
    decoder = codecs.getincrementaldecoder(UTF8)()
    try:
        decoder.decode(start)  # not final: the last character may be cut
        return True
    except UnicodeDecodeError:
        n_good = sum(len(found) for found in _MULTIBYTE.findall(start))
        return 2 * n_good > len(_HIGH.findall(start))


def _unreadable(error: UnicodeError) -> tuple[str, int]:
    """Replace what cannot be decoded by an invalid character, so that its row is bad."""
    assert isinstance(error, UnicodeDecodeError)
    return "\udcff", error.end


codecs.register_error(_UNREADABLE, _unreadable)


class Recoded(io.RawIOBase):
    """A file in another encoding, as UTF-8; invalid bytes become an invalid byte of UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)(_UNREADABLE)
        self._left = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and not self._ended:
            data = self._file.read1(len(buffer))
            self._ended = not data
            self._left = self._decoder.decode(data, self._ended).encode(UTF8, "surrogateescape")
        n = min(len(buffer), len(self._left))
        buffer[:n], self._left = self._left[:n], self._left[n:]
        return n
