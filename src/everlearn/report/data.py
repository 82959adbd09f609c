"""Checks the data of a report, whose types are in `everlearn.evaluate.report_data`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..evaluate.report_data import (
    Audit,
    Confusion,
    Curves,
    DriftAlarm,
    FieldInfluence,
    Influence,
    Peer,
    QuestionEntry,
    RandomRows,
    ReportData,
    RowInfluence,
    Totals,
)
from . import _text

__all__ = ["MEASURES", "ReportData", "check"]

MEASURES = ("accuracy", "g_means", "mcc", "auc")
"""The scores in the order in which a report prefers them: the first that is known is the headline."""


def check(data: Mapping[str, Any]) -> None:
    """Raise an error for unknown entries, columns of unequal length and matrices that are not square."""
    if not isinstance(data, Mapping):
        raise TypeError(
            f"data must be a mapping such as everlearn.report.ReportData, got {type(data).__name__}"
        )
    if not isinstance(data.get("title"), str) or not data["title"].strip():
        raise ValueError(f"data['title'] must be a string, got {data.get('title')!r}")
    _known("data", data, ReportData)
    _known("data['totals']", data.get("totals") or {}, Totals)
    for part, kind in (("drift", DriftAlarm), ("questions", QuestionEntry), ("confusion", Confusion)):
        for place, item in enumerate(_text.items(data.get(part))):
            _known(f"data['{part}'][{place}]", item, kind)
    _columns("data['curves']", data.get("curves"), Curves)
    _columns("data['audit']", data.get("audit"), Audit)
    for place, peer in enumerate(_text.items(data.get("peers"))):
        _columns(f"data['peers'][{place}]", peer, Peer)
    _known("data['random_rows']", data.get("random_rows") or {}, RandomRows)
    influence = data.get("influence") or {}
    _known("data['influence']", influence, Influence)
    measured: tuple[tuple[str, Any], ...] = (("fields", FieldInfluence), ("rows", RowInfluence))
    for part, entry in measured:
        for place, item in enumerate(_text.items(influence.get(part))):
            _known(f"data['influence']['{part}'][{place}]", item, entry)
    classes = data.get("classes")
    sizes = set() if classes is None or not len(_text.items(data.get("confusion"))) else {len(classes)}
    for place, period in enumerate(_text.items(data.get("confusion"))):
        matrix = period["matrix"]
        sizes |= {len(matrix), *map(len, matrix)}
        if len(sizes) > 1:
            raise ValueError(
                f"data['confusion'][{place}]['matrix'] must have a row and a column for each "
                f"class, as many in every period as there are classes; got lengths {sorted(sizes)}"
            )


def _known(where: str, part: Mapping[str, Any], kind: Any) -> None:
    if unknown := sorted(map(str, set(part) - set(kind.__annotations__))):
        known = ", ".join(sorted(kind.__annotations__))
        raise ValueError(f"{where} has the unknown entry {unknown[0]!r}; known entries: {known}")


def _columns(where: str, part: Mapping[str, Any] | None, kind: Any) -> None:
    if not part:
        return
    _known(where, part, kind)
    columns = {key: values for key, values in part.items() if key not in ("name", "confidence")}
    if columns and "rows" not in columns:
        raise ValueError(f"{where} must have the column 'rows', the time axis of the others")
    for key, values in columns.items():
        if len(values) != len(columns["rows"]):
            raise ValueError(
                f"{where}[{key!r}] must be as long as its column 'rows', got {len(values)} and "
                f"{len(columns['rows'])}; put None where a value is not known"
            )
