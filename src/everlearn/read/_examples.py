"""Example values of fields, and how they are read, to show in a schema. They are never stored."""

import datetime
from typing import Any

from . import _cells, _nested, _times
from ._blocks import Block, printable
from ._numbers import PLAIN
from .field import Field
from .schema import Schema

_LOOKED_AT = 50  # cells of a field
_MAX_LENGTH = 40  # characters of an example
_EPOCH = datetime.datetime(1970, 1, 1)


def examples(block: Block, schema: Schema) -> dict[str, str]:
    """For each field an example from a block, followed by its reading where that is not obvious."""
    found = {}
    for field in schema.fields:
        cells = _nested.find(block.columns, field.name)
        cells = [] if cells is None else [cell for cell in cells[:_LOOKED_AT] if not _cells.is_missing(cell)]
        if cells:
            found[field.name] = _example(field, cells)
    return found


def _example(field: Field, cells: list[Any]) -> str:
    if field.kind == "vector":
        values = ", ".join(f"{float(value):.3g}" for value in cells[0][:3])
        return f"[{values}, ...]" if len(cells[0]) > 3 else f"[{values}]"
    cell = cells[0]
    if field.kind == "numeric" and field.number_form != PLAIN:
        good = [cell for cell in cells if not _cells.try_convert(field.number_form.parse, cell, 0.0)[1]]
        if good:
            cell = max(good, key=lambda cell: len(str(cell)))
            value = field.number_form.parse(cell)
            return _shortened(cell) if str(cell) == f"{value:.15g}" else f"{_shortened(cell)} → {value:.15g}"
    if field.kind == "time":
        seconds, wrong = _cells.try_convert(lambda cell: _times.seconds(cell, field.time_format), cell, 0.0)
        if not wrong:
            time = _EPOCH + datetime.timedelta(seconds=seconds) if abs(seconds) < 1e11 else None
            shown = "" if time is None else time.isoformat(sep=" ", timespec="minutes").removesuffix(" 00:00")
            text = _shortened(cell)
            return text if text.startswith(shown) or not shown else f"{text} → {shown}"
    return _shortened(cell)


def _shortened(cell: Any) -> str:
    text = " ".join(printable(str(cell).lower() if isinstance(cell, bool) else str(cell)).split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."
