"""Dates in the forms in which people and programs write them; names of months are English."""

from __future__ import annotations

import re
from datetime import date

_MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
]
_CENTURY = 30  # years of two digits up to this one are after 2000
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[ ,.]+)?"
_DAY, _MONTH, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", "(?P<month>[a-z]{3,9})", r"(?P<year>\d{4}|'?\d\d)"
_TIME = r"(?:,?[t ]+\d.*)?"
_FORMS = [
    re.compile(form + _TIME)
    for form in (
        r"(?P<year>\d{4})[-/.]?(?P<month>\d{1,2})[-/.]?(?P<day>\d{1,2})",
        r"(?P<day>\d{1,2})(?P<mark>[-/.])(?P<month>\d{1,2})[-/.](?P<year>\d{4})",
        r"(?P<day>\d{1,2})(?P<mark>[/.])(?P<month>\d{1,2})(?P=mark)(?P<year>\d\d)",
        rf"{_WEEKDAY}{_DAY}[ .-]*(?:of )?{_MONTH}[ .,-]*{_YEAR}",
        rf"{_WEEKDAY}{_MONTH}[ .-]*{_DAY}[ ,-]+{_YEAR}",
    )
]


def parse_date(text: str) -> int | None:
    """The number of the day, None if it is no date; of numbers the day is before the month, if possible."""
    lowered = text.lower()
    match = next((match for form in _FORMS if (match := form.fullmatch(lowered))), None)
    if match is None:
        return None
    found = match.groupdict()
    year, day = int(found["year"].lstrip("'")), int(found["day"])
    if len(found["year"]) < 4:
        year += 2000 if year <= _CENTURY else 1900
    if found["month"].isdigit():
        month = int(found["month"])
        if month > 12 and "mark" in found:
            day, month = month, day
    else:
        month = _month(found["month"])
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None


def date_form(text: str) -> str | None:
    """The same eight digits for a date in any form; None if it is no date."""
    day = parse_date(text)
    return None if day is None else date.fromordinal(day).isoformat().replace("-", "")


def _month(name: str) -> int:
    """The number of a month by its name or an abbreviation; 0 if it is none."""
    short = "sep" if name == "sept" else name
    return next((number for number, month in enumerate(_MONTHS, 1) if month.startswith(short)), 0)
