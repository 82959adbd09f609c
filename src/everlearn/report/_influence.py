"""What drives the predictions: the fields of a row, and the labeled rows that matter most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _text
from ._parts import Html, card, cards, table, with_bar

FIELDS = 20


def influence_section(data: Mapping[str, Any]) -> str:
    """The section; "" if nothing was measured."""
    found = data.get("influence") or {}
    sample = _text.real(found.get("sample"))
    on = f" Measured on {_text.plural(sample, 'recent row')}." if sample else ""
    return cards(_field_card(found, on), _row_card(found, on))


def _field_card(found: Mapping[str, Any], on: str) -> str:
    fields = list(_text.items(found.get("fields")))
    if not fields:
        return ""
    directed = any(_text.is_known(field.get("toward")) for field in fields)
    heads = ["field", "influence", "predictions that change", "higher values speak for"]
    rows: list[list[Any]] = []
    for field in fields[:FIELDS]:
        change, toward = _text.real(field.get("change")) or 0.0, field.get("toward")
        cells: list[Any] = [_text.clipped(field.get("field"), 40)]
        cells += [
            with_bar(_text.score(change, 2), min(1.0, change), "c1"),
            _text.percent(_text.real(field.get("flips")) or 0.0, 1),
        ]
        cells.append(_text.clipped(toward, 30) if _text.is_known(toward) else "")
        rows.append(cells if directed else cells[:-1])
    heads = heads if directed else heads[:-1]
    caption = (
        "How far the decision moves if the values of the field are shuffled between rows: 0 for a field that "
        f"is not used, about 1 for one that decides alone.{on}"
    )
    if len(fields) > FIELDS:
        caption += f" The first {FIELDS} of {len(fields):,} fields."
    return card("Fields", caption, table(heads, rows, numbers="tnnt"[: len(heads)]), wide=True)


def _row_card(found: Mapping[str, Any], on: str) -> str:
    entries = list(_text.items(found.get("rows")))
    if not entries:
        return ""
    rows: list[list[Any]] = []
    for entry in entries:
        label, predicted = entry.get("label"), entry.get("predicted")
        doubt = _text.is_known(predicted) and predicted != label
        change = _text.real(entry.get("change")) or 0.0
        rows.append(
            [
                _text.clipped(entry.get("id"), 40),
                _text.clipped(label, 30),
                _predicted(predicted, doubt),
                _text.score(change, 3),
                _text.percent(_text.real(entry.get("flips")) or 0.0, 1),
            ]
        )
    heads = ["id", "label", "predicted now", "influence", "predictions that change"]
    caption = (
        "Labeled rows without which the decision would move most, among those that agree least with the "
        "model. A wrong label here does the most damage."
    )
    return card("Rows that matter most", caption + on, table(heads, rows, numbers="tttnn"), wide=True)


def _predicted(predicted: Any, doubt: bool) -> str:
    if not _text.is_known(predicted):
        return _text.UNKNOWN
    name = _text.clipped(predicted, 30)
    return Html(f'{_text.escaped(name)} <span class="no">check the label</span>') if doubt else name
