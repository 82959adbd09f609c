"""Numbers as people write them: decimal comma, thousands separators, currency signs, percent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _cells

DECIMALS = (".", ",")
PERCENT = "%"
_SPACES = str.maketrans({"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})
_CURRENCY = (
    r"[A-Z]{0,3}[$£¥€¢₠-⃀฿﷼]|EUR|USD|GBP|CHF|JPY|CNY|RMB|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|CAD|AUD|NZD|INR|BRL"
    r"|MXN|ARS|CLP|COP|PEN|ZAR|TRY|RUB|UAH|KRW|SGD|HKD|TWD|THB|IDR|MYR|PHP|VND|ILS|AED|SAR|EGP|NGN|KES|PKR"
    r"|kr\.?|Kč|zł|Ft|Fr\.?|Rs\.?"
)
_WRITTEN = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[+-]?)"
    rf"(?P<digits>\d[\d.,' ]*(?<! )|[.,]\d+)(?P<exponent>[eE][+-]?\d+)?"
    rf"(?:(?:(?<=[.,])|[.,])[-\u2013\u2014]{{1,2}})?"
    rf"\s*(?P<after>{_CURRENCY}|%)?(?P<minus>-?)"
)


@dataclass(frozen=True)
class NumberForm:
    """How the numbers of a field are written.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal separator.
    thousands : {"", ",", ".", " ", "'"}
        The thousands separator; "" for none.
    unit : str
        The currency of all numbers, or "%"; "" for plain numbers.
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def parse(self, cell: Any) -> float:
        """A cell as a float, NaN if it is missing; ValueError if it is not a number in this form."""
        if not isinstance(cell, str) or self == PLAIN:
            return _cells.number(cell)
        if _cells.is_missing(cell):
            return math.nan
        found = _written(cell)
        if found is None:
            raise ValueError(NOT_A_NUMBER)
        text, unit = found
        if unit != self.unit and unit:
            raise ValueError(f"a number in {unit}" + (f", not in {self.unit}" if self.unit else ""))
        digits, _, exponent = text.partition("e")
        if not _pattern(self.decimal, self.thousands).fullmatch(digits.lstrip("+-")):
            raise ValueError(NOT_A_NUMBER)
        digits = digits.replace(self.thousands, "") if self.thousands else digits
        value = _cells.number(digits.replace(self.decimal, ".") + (f"e{exponent}" if exponent else ""))
        if self.unit == PERCENT and not unit and value:
            raise ValueError("a number without a percent sign")
        return value

    def parse_column(self, cells: Any) -> tuple[NDArray[np.float64], _cells.BadCells]:
        """A column as float64, with NaN for missing and bad cells, and the reason for each bad row."""
        if self == PLAIN or isinstance(cells, np.ndarray):
            return _cells.numbers(cells)
        if self.decimal == "," and not self.unit and set(map(type, cells)) == {str}:
            text = "\n".join(cells)
            if not any(sign in text for sign in ".' _") and text.count("\n") == len(cells) - 1:
                values, bad = _cells.numbers(text.replace(",", ".").split("\n"))
                if not bad:
                    return values, bad
        found, bad = _cells.each(self.parse, cells, math.nan)
        return np.array(found, dtype=np.float64), bad

    @property
    def note(self) -> str:
        """The form in a few words; "" if it is plain."""
        parts = [f"in {self.unit}"] if self.unit and self.unit != PERCENT else []
        parts += ["percent"] if self.unit == PERCENT else []
        parts += ["decimal comma"] if self.decimal == "," else []
        parts += [f"thousands {_NAMES[self.thousands]}"] if self.thousands and self.decimal == "." else []
        return ", ".join(parts)


PLAIN = NumberForm()
NOT_A_NUMBER = "not a number"
_NAMES = {",": "comma", ".": "point", " ": "space", "'": "apostrophe"}
# In the order of preference. After a decimal comma, a point only separates thousands: it is always allowed.
_FORMS = (
    PLAIN,
    NumberForm(",", "."),
    NumberForm(".", ","),
    NumberForm(",", " "),
    NumberForm(".", " "),
    NumberForm(",", "'"),
    NumberForm(".", "'"),
)


def _written(cell: str) -> tuple[str, str] | None:
    """The number with its sign, separators and exponent, and its unit; None if the cell is something else."""
    text = cell.strip().translate(_SPACES)
    negative = text.startswith("(") and text.endswith(")")
    match = _WRITTEN.fullmatch(text[1:-1].strip() if negative else text)
    if match is None or (match["before"] and match["after"]):
        return None
    signs = match["sign"] + match["inner"] + match["minus"] + ("-" if negative else "")
    if len(signs) > 1:
        return None
    exponent = (match["exponent"] or "").lower()
    return f"{signs}{match['digits']}{exponent}", match["before"] or match["after"] or ""


@lru_cache(maxsize=32)
def _pattern(decimal: str, thousands: str) -> re.Pattern[str]:
    whole = r"\d+"
    if thousands:
        t = re.escape(thousands)
        whole = rf"\d+|[1-9]\d{{0,2}}(?:{t}\d{{3}})+"
        whole += r"|[1-9]\d?(?:,\d\d)*,\d{3}" if thousands == "," else ""  # 12,34,567 as in India
    d = re.escape(decimal)
    return re.compile(rf"(?:{whole})(?:{d}\d*)?|{d}\d+", re.ASCII)


# ------------------------------------------------------------------------------------------------ detection


def detect_forms(
    columns: Mapping[str, Sequence[Any]], decimal: str | None, hint: str | None, min_fraction: float
) -> dict[str, tuple[NumberForm, str]]:
    """The form of each field of numbers, and a note if it could be read otherwise.

    A form is chosen by the field alone if its cells leave one choice. "1,234" and "1.234" alone do not: then
    the decimal separator of the other fields decides.

    Parameters
    ----------
    columns : mapping of str to sequence
        The cells of each field.
    decimal : {".", ","} or None
        The decimal separator that the user names. It decides wherever cells leave a choice.
    hint : {".", ","} or None
        The decimal separator that the file suggests, if no field shows another one.
    min_fraction : float
        The fraction of the cells of a field that must be numbers.

    Returns
    -------
    dict of str to tuple of (NumberForm, str)
        Only for fields of numbers.
    """
    fitting = {name: _fitting(cells, min_fraction) for name, cells in columns.items()}
    votes = {
        next(iter(found))
        for forms, uses in fitting.values()
        if uses and len(found := {form.decimal for form in forms}) == 1
    }
    votes &= set(DECIMALS)
    of_file = decimal or (next(iter(votes)) if len(votes) == 1 else None)
    chosen = {}
    for name, (forms, uses) in fitting.items():
        if not forms:
            continue
        wanted = of_file or (hint if uses and not votes else None)
        form = next((form for form in forms if form.decimal == wanted), forms[0])
        note = form.note if uses or form.unit else ""
        if uses and wanted is None and len({other.decimal for other in forms}) > 1:
            form = min(forms, key=lambda other: other.decimal == ",")
            note = "" if form == PLAIN else f"{form.note} (assumed; --decimal , reads {uses!r} otherwise)"
        chosen[name] = form, note
    return chosen


def several_units(cells: Iterable[Any]) -> list[str]:
    """The currencies of a field of amounts, if it has more than one."""
    found = [_written(cell) for cell in cells if isinstance(cell, str) and not _cells.is_missing(cell)]
    units = {parts[1] for parts in found if parts is not None and parts[1]}
    return sorted(units) if len(units) > 1 and None not in found else []


def _fitting(cells: Sequence[Any], min_fraction: float) -> tuple[list[NumberForm], str]:
    """The forms that fit a field, best first, and an example of a separator in it ("" without one)."""
    values = [cell for cell in cells if not _cells.is_missing(cell)]
    n_needed = min_fraction * len(values)
    if not values:
        return [], ""
    texts = [cell for cell in values if isinstance(cell, str)]
    n_plain = _count(_cells.number, values)
    if not texts:
        return ([PLAIN] if n_plain >= n_needed else []), ""
    written = [_written(cell) for cell in texts]
    if len(values) - written.count(None) < n_needed:
        return ([PLAIN] if n_plain >= n_needed else []), ""
    numbers = [parts for parts in written if parts is not None]
    if all(text.strip().startswith("(") for text in texts):
        return [], ""  # negative numbers of an accountant, but not all of them
    units = {unit for _, unit in numbers if unit}
    if len(units) > 1:
        return ([PLAIN] if n_plain >= n_needed else []), ""
    unit = next(iter(units), "")
    counts = {form: _count(form.parse, values) for form in (_with_unit(form, unit) for form in _FORMS)}
    most = max(counts.values())
    if most < n_needed:
        return [], ""
    forms = [form for form, count in counts.items() if count == most and not _are_codes(form, numbers)]
    return forms, next((text for text, _ in numbers if "," in text or "." in text), "")


def _with_unit(form: NumberForm, unit: str) -> NumberForm:
    return NumberForm(form.decimal, form.thousands, unit)


def _are_codes(form: NumberForm, numbers: list[tuple[str, str]]) -> bool:
    """Whether grouped digits, all of one length and without decimals, are codes such as phone numbers."""
    if form.thousands not in (" ", ".") or form.unit:
        return False
    texts = {text.lstrip("+-") for text, _ in numbers}
    grouped = any(form.thousands in text for text in texts)
    return (
        grouped
        and len(texts) > 1
        and not any(form.decimal in text for text in texts)
        and len(lengths := {sum(map(str.isdigit, text)) for text in texts}) == 1
        and lengths.pop() >= 7
    )


def _count(convert: Callable[[Any], float], values: list[Any]) -> int:
    """The number of cells that are numbers; an infinite value is one."""
    reasons = _cells.each(convert, values, math.nan)[1]
    return len(values) - sum(reason != _cells.INFINITE for reason in reasons.values())
