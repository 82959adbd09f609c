"""What to do about bad rows, at the command line."""

from collections.abc import Iterable

from ..read import Schema, Source
from ..read.sources import BadRow, suggest_time_format

_MAX_SHOWN = 60
_BY_REASON = {  # by how the reason starts
    "invalid UTF-8": "If the file has another encoding, name it: --encoding cp1252, for example.",
    "invalid JSON": "If the file is not JSON lines, name its format: --format csv, for example.",
    "invalid": "If the file has another encoding, name it with --encoding.",
    "wrong number of fields": "Check the delimiter and the quotes in that line.",
    "longer than": "Increase --max-row-bytes.",
    "index outside": "Increase --n-features.",
}


def example_of(bad: Iterable[BadRow], reason: str) -> str:
    """The first value that is bad for this reason, to append to the reason; "" without one."""
    row = next((row for row in bad if row.reason == reason and row.value), None)
    return "" if row is None else f", for example {_shortened(row.value)!r}"


def too_many_bad(source: Source, bad: list[BadRow], n_bad: int, n_rows: int, limit: float) -> str:
    """The error for too many bad rows: how many, one of them, and what to do."""
    reasons = [row.reason for row in bad]
    row = next(row for row in bad if row.reason == max(reasons, key=reasons.count))
    value = f": {_shortened(row.value)!r}" if row.value else ""
    return (
        f"{n_bad:,} of the {n_rows:,} rows of {source.name} so far are bad, which is more than "
        f"--max-bad-fraction {limit:g}. Line {row.line}: {row.reason}{value}. "
        f"{remedy_for(row, source.schema)}"
    )


def remedy_for(row: BadRow, schema: Schema | None) -> str:
    """What to do about a bad row."""
    reason = row.reason.partition(f"field {row.field!r}: ")[2] if row.field else row.reason
    for start, remedy in _BY_REASON.items():
        if reason.startswith(start):
            return remedy
    field = next((field for field in schema.fields if field.name == row.field), None) if schema else None
    if field is None:
        return "Correct the file, or allow more bad rows."
    name = field.name
    if field.kind == "time":
        found = suggest_time_format(row.value)
        example = f"--time-format {found!r}" if found else "--time-format, for example '%d.%m.%Y %H:%M'"
        return f"Say how times are written with {example}, or ignore the field with --kind {name}=ignore."
    if field.kind == "numeric":
        other = "." if field.decimal == "," else ","
        if other in row.value:
            return (
                f"If that is a decimal separator, use --decimal {other}; if not, --kind {name}=categorical."
            )
        return f"If the field is not a number, use --kind {name}=categorical, or --kind {name}=ignore."
    if field.kind == "label":
        return "Use --label-type string, or --label to name another field."
    if field.kind == "id":
        return f"Use --id to name another field, or --kind {name}=ignore."
    if field.kind == "vector":
        return f"All vectors must have {field.length} numbers; --kind {name}=ignore leaves them out."
    return f"Use --kind {name}=ignore to leave the field out."


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
