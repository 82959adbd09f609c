"""A schema as JSON-compatible values, and as a table to print."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .field import Field

if TYPE_CHECKING:
    from .schema import Schema

_VERSION = 1
_OPTIONS = ("label_type", "header", "n_sparse", "zero_based", "encoding")


def as_values(schema: Schema) -> dict[str, Any]:
    """The schema as JSON-compatible values."""
    fields = [dataclasses.asdict(field) for field in schema.fields]
    for field in fields:
        field["categories"] = None if field["categories"] is None else list(field["categories"])
    options = {name: getattr(schema, name) for name in _OPTIONS}
    return {"version": _VERSION, "fields": fields, **options}


def from_values(values: Mapping[str, Any]) -> tuple[list[Field], dict[str, Any]]:
    """The fields and the other parameters of a `Schema`, from `as_values`."""
    known = {"version", "fields", *_OPTIONS}
    if not isinstance(values, Mapping) or not {"version", "fields"} <= set(values) <= known:
        raise ValueError("This is not a saved schema.")
    if values["version"] != _VERSION:
        raise ValueError(
            f"The schema has format version {values['version']!r}; this version of everlearn reads "
            f"{_VERSION}: use the version of everlearn that wrote it."
        )
    fields = []
    for field in values["fields"]:
        attributes = dict(field)
        if attributes.get("categories") is not None:
            attributes["categories"] = tuple(attributes["categories"])
        try:
            fields.append(Field(**attributes))
        except TypeError as error:
            raise ValueError(f"This is not a saved schema: {error}.") from None
    return fields, {name: values[name] for name in _OPTIONS if name in values}


def table(schema: Schema) -> str:
    """The schema as lines of text, one for each field."""
    lines = [("field", "kind", "columns", "note")]
    for field in schema.fields:
        kind = f"{field.kind} (inferred)" if field.inferred else field.kind
        lines.append((field.name, kind, str(field.n_columns or "-"), schema.note_on(field)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {columns:>{widths[2]}}  {note}".rstrip()
        for name, kind, columns, note in lines
    ]
    first = "" if schema.n_sparse is None else f", indices from {0 if schema.zero_based else 1}"
    layout = "sparse" if schema.is_sparse else "dense"
    return "\n".join([*rows, f"{schema.n_features} columns, {layout}{first}."])


def note(field: Field, label_type: str) -> str:
    """How a field is encoded, in a few words."""
    how = ""
    if field.kind == "label":
        how = label_type
    elif field.kind == "numeric" and field.missing:
        how = f"missing values become {field.median:.6g}"
    elif field.kind == "time":
        how = field.time_format
    elif field.kind == "text":
        how = "words and 4-grams, TF-IDF" if field.frequencies else "words and 4-grams"
    elif field.unit_length:
        how = "unit length"
    elif field.is_hashed:
        how = "hashed"
    elif field.kind == "categorical":
        n = len(field.categories or ())
        how = f"{n} {'category' if n == 1 else 'categories'}"
    return "; ".join(filter(None, (how, field.note)))
