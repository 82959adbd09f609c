"""Figures in words, for checks: differences over data sets, counts, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from statistics import fmean
from typing import Any

from .verdict import Check


def num(value: float, digits: int = 3) -> str:
    """`digits` significant digits, thousands with commas."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.{digits - 1}g}" if "e+" in text else text


def pct(value: float, digits: int = 2) -> str:
    """A share in percent."""
    return f"{100 * value:.{digits}f} %"


def points(value: float, digits: int = 2) -> str:
    """A difference of shares in percentage points."""
    return f"{100 * value:+.{digits}f} points"


def listed(names: Iterable[Any]) -> str:
    """Names with commas and an "and"."""
    found = [str(name) for name in names]
    return " and ".join([", ".join(found[:-1]), found[-1]]) if len(found) > 1 else "".join(found)


def common(*tables: Mapping[Any, float]) -> list[Any]:
    """Keys that all have, in the order of the first."""
    return [key for key in tables[0] if all(key in table for table in tables)]


def count(
    text: str,
    conditions: Mapping[Any, bool],
    least: float = 1.0,
    detail: Callable[[Any], str] | None = None,
) -> Check:
    """ "TEXT on 5 of 6 (not on X)": holds if at least a share `least` of the conditions does."""
    fails = [key for key, good in conditions.items() if not good]
    named = listed(f"{key} {detail(key)}" if detail else key for key in fails[:4])
    more = f" and {len(fails) - 4} others" if len(fails) > 4 else ""
    exceptions = f" (not on {named}{more})" if fails else ""
    good = (len(conditions) - len(fails)) / len(conditions)
    shown = f"{text} on {len(conditions) - len(fails)} of {len(conditions)}{exceptions}."
    return Check(shown, good >= least, nearly=least > good >= max(0.6, 0.6 * least))


def ahead(
    text: str, ours: Mapping[Any, float], theirs: Mapping[Any, float], least: float = 0.5, slack: float = 0.0
) -> Check:
    """On how many keys `ours` is above `theirs` less `slack`; holds from a share `least` on."""
    keys = common(ours, theirs)
    found = count(text, {key: ours[key] >= theirs[key] - slack for key in keys}, least)
    return Check(found.text, found.holds)


def mean(table: Mapping[Any, float]) -> float:
    """The mean over the keys."""
    return fmean(table.values())
