"""Sources and what a store remembers of them: the schema, which files were read, and how far.

A store keeps, beside the state of its schema, under "run"::

    sources     a list of {"name", "beginning", "first_row"}, in the order in which they were begun
    settings    what was said on the command line when the store was made
    quarantines the files to which bad rows went, so that rows can be erased from them

The rows of a source are those from its first row up to that of the next one. So how far a file has been read
needs no book of its own: the rows in the store tell, whatever it was that ended the run.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..read import Schema, Source, open_source

_BEGINNING = 1 << 16  # bytes by which a file is known again
_OURS = "run"


@dataclass(frozen=True)
class Reading:
    """What the command line says about a source."""

    path: str
    format: str | None = None
    schema: Path | None = None
    header: bool = True
    label: str | None = None
    id: str | None = None
    time: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    label_type: str | None = None
    n_features: int | None = None
    batch_size: int = 1000
    infer_rows: int = 1000
    unknown_fields: str = "error"
    quarantine: Path | None = None
    max_row_bytes: int = 64 * 2**20

    def open(self, stored: Schema | None) -> Source:
        """The source, read by the schema of a store if there is one, else by what was said and guessed."""
        how: dict[str, Any] = {
            "format": self.format,
            "batch_size": self.batch_size,
            "unknown_fields": self.unknown_fields,
            "quarantine": self.quarantine,
            "max_row_bytes": self.max_row_bytes,
        }
        if stored is not None:
            self._agrees(stored)
            return open_source(self.path, schema=stored, **how)
        if self.schema is not None:
            self._agrees(Schema.read(self.schema))
            return open_source(self.path, schema=self.schema, **how)
        return open_source(
            self.path,
            label=self.label,
            id=self.id,
            time=self.time,
            kinds=dict(self.kinds) or None,
            label_type=self.label_type,
            n_features=self.n_features,
            header=self.header,
            infer_rows=self.infer_rows,
            **how,
        )

    def again(self, schema: Schema) -> Source:
        """The same source from its beginning, to look only: bad rows are not kept another time."""
        return replace(self, quarantine=None, schema=None).open(schema)

    def _agrees(self, schema: Schema) -> None:
        """Whoever says the same again may; whoever says something else must not be ignored."""
        if self.schema is not None and (given := Schema.read(self.schema)) != schema:
            raise ValueError(
                f"{self.schema} is not the schema that the store was made with ({given!r}, not {schema!r}): "
                "leave --schema out, or begin a new store."
            )
        said = dict(self.kinds) | {
            name: kind
            for kind, name in (("label", self.label), ("id", self.id), ("time", self.time))
            if name is not None
        }
        kinds = {known.name: known.kind for known in schema.fields}
        for name, kind in said.items():
            if kinds.get(name) != kind:
                raise ValueError(
                    f"Field {name!r} is {kinds.get(name, 'not there')} in the schema, not {kind}: "
                    "leave the option out, or begin a new store."
                )
        for option, value, stored in (
            ("--label-type", self.label_type, schema.label_type),
            ("--n-features", self.n_features, schema.n_sparse),
        ):
            if value is not None and value != stored:
                raise ValueError(f"{option} is {stored} in the schema, not {value}: leave it out.")


# --------------------------------------------------------------------------------- what a store remembers


def stored_schema(description: Mapping[str, Any] | None) -> Schema | None:
    """The schema in what a store says of its columns; None if it says nothing."""
    if not description:
        return None
    return Schema.from_state({key: value for key, value in description.items() if key != _OURS})


def schema_or_none(description: Mapping[str, Any] | None) -> Schema | None:
    """The same, for whoever can do without: a store may describe its columns in words of its own."""
    try:
        return stored_schema(description)
    except ValueError:
        return None


def stored_run(description: Mapping[str, Any] | None) -> dict[str, Any]:
    """What else the command line keeps in a store."""
    found = (description or {}).get(_OURS) or {}
    return {
        "sources": list(found.get("sources", ())),
        "settings": dict(found.get("settings", {})),
        "quarantines": list(found.get("quarantines", ())),
    }


def description_of(schema: Schema, run: Mapping[str, Any]) -> dict[str, Any]:
    """All of it, for `NeverEndingLearner.describe`."""
    return schema.state() | {_OURS: dict(run)}


def identity(path: str) -> dict[str, Any]:
    """By what a source is known again: its place and its first bytes; a pipe by nothing."""
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else path, "beginning": None}
    return {"name": os.path.realpath(path), "beginning": _digest(path, _BEGINNING)}


def _digest(path: str, count: int) -> list[Any]:
    with open(path, "rb") as file:
        beginning = file.read(count)
    return [len(beginning), hashlib.sha256(beginning).hexdigest()]


def rows_of_source(run: Mapping[str, Any], path: str, n_rows: int) -> list[tuple[int, int]]:
    """Which rows of a store, from and to, are from this file; a file may have grown meanwhile."""
    sources = run["sources"]
    starts = [entry["first_row"] for entry in sources]
    spans = zip(starts, [*starts, n_rows][1:], strict=True)
    return [span for entry, span in zip(sources, spans, strict=True) if is_same(entry, path)]


def is_same(entry: Mapping[str, Any], path: str) -> bool:
    """Whether this file is the one that was read, or that one with more at its end."""
    beginning = entry["beginning"]
    if beginning is None or not os.path.isfile(path) or os.path.realpath(path) != entry["name"]:
        return False
    return bool(_digest(path, beginning[0]) == list(beginning))


def is_namesake(run: Mapping[str, Any], path: str) -> bool:
    """Whether a file of this name was read, but with another beginning."""
    name = os.path.realpath(path)
    return os.path.isfile(path) and any(entry["name"] == name for entry in run["sources"])
