"""Kinds of fields: inferred from the name of a column and its values; numbers parsed."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ._dates import parse_date
from ._text import normalized, plain_digits, tokens

KINDS = ("name", "text", "email", "url", "date", "number", "category", "address")

_SAMPLE = 2000  # distinct values that are looked at
_MOST = 0.8  # of them must have the form of a kind
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_URL = re.compile(r"(https?://|www\.)\S+", re.IGNORECASE)
_CURRENCY = "usd|eur|gbp|chf|cad|aud|jpy|cny|inr|sek|pln"
_DIGITS = r"\d[\d,]*(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+"
_NUMBER = re.compile(
    rf"(?:{_CURRENCY}|[^\w.+-])?\s*([+-]?(?:{_DIGITS})(?:e[+-]?\d+)?)\s*(?:{_CURRENCY}|[^\w.])?",
    re.IGNORECASE,
)
_DURATION = re.compile(r"(?:(\d{1,2}):)?(\d{1,3}):(\d{2})")
# Words in the names of columns. A number in a column of codes is not a quantity.
_HINTS = {
    "category": "zip|postcode|postal|phone|fax|tel|ssn|soc|code|isbn|ean|sku|doi|id|gender|sex|state|country",
    "date": "date|dob|birth|born|day",
    "name": "name|names|surname|given|first|last|middle|author|authors|person|artist|director|creator",
    "address": "address|street|city|suburb|town|affiliation|location|place|addr",
}
_CODE = re.compile(r"\d{7,}")  # so many digits are a phone number or an id
_RARELY = 0.05  # of numbers that are codes have a leading zero
_FEW_VALUES, _NEARLY_ALL = 0.05, 0.9  # so few values, for each record, have nearly all records of a category
_SHORT = 2.5  # mean tokens of a value that is compared as a name


def infer_kind(name: str, values: list[str], codes: NDArray[np.intp]) -> str:
    """The kind of a field, by its values first and by the name of its column where these leave a choice."""
    # Records, not distinct values, are counted: misspellings are distinct, but rare.
    cells = [code for code in codes.tolist() if values[code]]
    sample = [values[code] for code in cells[:: max(1, len(cells) // _SAMPLE)]]
    words = re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1_\2", name).lower())
    hints = [kind for kind, hint in _HINTS.items() if any(word in hint.split("|") for word in words)]
    if not sample:
        return hints[0] if hints else "text"

    def are(parsed: object) -> bool:
        return sum(parsed(v) is not None for v in sample) >= _MOST * len(sample)  # type: ignore[operator]

    if are(_EMAIL.fullmatch):
        return "email"
    if are(_URL.match):
        return "url"
    if are(parse_date) and ("date" in hints or not are(str_digits)):
        return "date"
    if are(parse_number):
        codes_of_digits = are(_CODE.fullmatch) or sum(map(bool, map(leading_zero, sample))) > _RARELY * len(
            sample
        )
        return "category" if "category" in hints or codes_of_digits else "number"
    for kind in ("address", "name"):
        if kind in hints:
            return kind
    length = float(np.mean([len(tokens(value)) for value in sample]))
    most = np.cumsum(np.sort(np.bincount(cells))[::-1])  # records that have the most frequent values
    n_values = int(np.searchsorted(most, _NEARLY_ALL * len(cells))) + 1
    if length <= 2 * _SHORT and n_values <= _FEW_VALUES * len(cells):
        return "category"
    if length <= _SHORT:
        return "category" if "category" in hints else "name"
    return "text"


def str_digits(text: str) -> str | None:
    """The text if it has digits only."""
    return text if text.isdigit() else None


def leading_zero(text: str) -> str | None:
    """The text if it is a code such as 00123."""
    return text if len(text) > 1 and text[0] == "0" and text.isdigit() else None


def parse_number(text: str) -> float | None:
    """A number, perhaps with a currency or separators of thousands; seconds of 3:45."""
    if match := _DURATION.fullmatch(text):
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return float(3600 * hours + 60 * minutes + seconds)
    match = _NUMBER.fullmatch(normalized(text))
    if match is None:
        return None
    value = float(plain_digits(match[1]))
    return value if abs(value) < 1e300 else None
