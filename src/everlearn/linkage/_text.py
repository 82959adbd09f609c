"""Text of records: normal forms, tokens, number tokens, phonetic codes."""

from __future__ import annotations

import re
import unicodedata

_SPACES = re.compile(r"\s+")
_ASCII_TOKEN = re.compile(r"[a-z0-9]+")
# A number with its decimal point, or a run of letters of any script: "cs3" and "cs 3" have equal tokens.
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_LATIN_MARKS = re.compile("[\u0300-\u036f]")


def normalized(text: str) -> str:
    """Compatible forms made equal, case and Latin accents removed, white space collapsed."""
    if text.isascii():
        return _SPACES.sub(" ", text.casefold()).strip()
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFC", _LATIN_MARKS.sub("", text))
    return _SPACES.sub(" ", text).strip()


def ascii_tokens(text: str) -> list[str]:
    """Maximal runs of a-z and 0-9 in lower case."""
    return _ASCII_TOKEN.findall(text.lower())


def tokens(text: str) -> list[str]:
    """Runs of letters of any script, and numbers."""
    return _TOKEN.findall(normalized(text))


def plain_digits(number: str) -> str:
    """A number with a point and no separators: 1,234.5 and 1.234,5 are 1234.5, and 9,99 is 9.99."""
    whole, _, last = number.rpartition(",")
    if whole and "." not in last and ("." in whole or ("," not in whole and len(last) < 3)):
        return f"{whole.replace('.', '').replace(',', '')}.{last}"
    return number.replace(",", "")


def number_form(token: str) -> list[str]:
    """A number in a form where 7, 7.0 and 007 are equal; nothing for a token that is none."""
    if not token[0].isdigit():
        return []
    digits = plain_digits(token)
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    return [digits.lstrip("0") or "0"]


def token_grams(token: str, size: int = 3) -> list[str]:
    """Character n-grams of a token, with its ends marked."""
    padded = f"^{token}$"
    return [padded[i : i + size] for i in range(max(1, len(padded) - size + 1))]


def first_letter(token: str) -> list[str]:
    """The first letter of a token."""
    return [token[0]]


_SOUNDS = {
    letter: code
    for code, letters in {"1": "bfpv", "2": "cgjkqsxz", "3": "dt", "4": "l", "5": "mn", "6": "r"}.items()
    for letter in letters
}


def soundex(token: str) -> str:
    """American Soundex; a token that does not start with a Latin letter is its own code."""
    word = normalized(token)
    if not word or not ("a" <= word[0] <= "z"):
        return word
    code, last = word[0], _SOUNDS.get(word[0], "")
    for letter in word[1:]:
        sound = _SOUNDS.get(letter, "")
        if sound and sound != last:
            code += sound
        if letter not in "hw":  # these do not separate equal sounds; vowels do
            last = sound
    return (code + "000")[:4]
