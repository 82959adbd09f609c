"""What the command line says about a source, and how it is opened."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..broker import is_broker
from ..read import Schema, Source, open_source
from ..read.sources import format_by_name, is_dataset
from ._remedies import example_of
from ._run_record import SourceIdentity


@dataclass(frozen=True)
class SourceSpec:
    """The source options of a command; see `everlearn.read.open_source`."""

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
    encoding: str | None = None
    decimal: str | None = None
    time_format: str | None = None
    sql: str | None = None
    offset_reset: str | None = None
    idle: float | None = None
    repeated_ids: str = "bad"

    @property
    def is_broker(self) -> bool:
        """Whether it is a topic or a stream."""
        return is_broker(self.path)

    def open(self, stored: Schema | None, offsets: Mapping[str, Any] | None = None) -> Source:
        """Open the source with the schema of a store; without one, with the options and inferred kinds."""
        options: dict[str, Any] = {
            "offsets": offsets if self.is_broker else None,
            "offset_reset": self.offset_reset,
            "idle": self.idle,
            "format": self.format,
            "batch_size": self.batch_size,
            "unknown_fields": self.unknown_fields,
            "quarantine": self.quarantine,
            "max_row_bytes": self.max_row_bytes,
            "encoding": self.encoding,
            "sql": self.sql,
            "repeated_ids": self.repeated_ids,
        }
        if stored is not None:
            self._check_agrees(stored)
            return open_source(self.path, schema=stored, **options)
        if self.schema is not None:
            self._check_agrees(Schema.read(self.schema))
            return open_source(self.path, schema=self.schema, **options)
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
            decimal=self.decimal,
            time_format=self.time_format,
            **options,
        )

    @property
    def reading_options(self) -> dict[str, Any]:
        """The options that are needed to read the source again with the schema of its store."""
        given = {"format": self.format, "encoding": self.encoding, "sql": self.sql}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of files."""
        return os.path.isdir(self.path) and not is_dataset(self.path)

    def files(self) -> list["SourceSpec"]:
        """The sources of a folder, one for each file that has a known format, by name; otherwise this one."""
        if not self.is_folder:
            return [self]
        files = self.files_now()
        if not files:
            raise ValueError(f"The folder {self.path} has no file of a known format: give --format.")
        return files

    def files_now(self) -> list["SourceSpec"]:
        """The files of a folder that are there now."""
        names = sorted(name for name in os.listdir(self.path) if not name.startswith((".", "_")))
        paths = [os.path.join(self.path, name) for name in names]
        files = [path for path in paths if os.path.isfile(path) and (self.format or format_by_name(path))]
        return [replace(self, path=path) for path in files]

    def identity(self, source: Source) -> SourceIdentity:
        """How the open source is recognized by a later run."""
        if self.is_broker:
            return SourceIdentity(source.name, None)  # without what is secret in the address
        if self.sql is not None:
            return SourceIdentity(source.name, None, self.sql)
        local = source.identity_file
        if local is not None and local != self.path:  # an address, or a folder of a dataset
            name = os.path.realpath(self.path) if os.path.isdir(self.path) else self.path
            return SourceIdentity(name, local)
        return SourceIdentity.of_path(self.path)

    def reopen(self, schema: Schema) -> Source:
        """Open the source once more from its start, without writing bad rows to the quarantine file."""
        return replace(self, quarantine=None, schema=None).open(schema)

    def _check_agrees(self, schema: Schema) -> None:
        """Options that repeat the schema are fine; options that contradict it are an error."""
        if self.schema is not None and (given := Schema.read(self.schema)) != schema:
            raise ValueError(
                f"{self.schema} is not the schema of the store ({given!r}, not {schema!r}): "
                "leave out --schema, or create a new store."
            )
        given_kinds = dict(self.kinds) | {
            name: kind
            for kind, name in (("label", self.label), ("id", self.id), ("time", self.time))
            if name is not None
        }
        kinds = {known.name: known.kind for known in schema.fields}
        for name, kind in given_kinds.items():
            if kinds.get(name) != kind:
                raise ValueError(
                    f"Field {name!r} is {kinds.get(name, 'missing')} in the schema, not {kind}: "
                    "leave out the option, or create a new store."
                )
        for option, value, stored in (
            ("--label-type", self.label_type, schema.label_type),
            ("--n-features", self.n_features, schema.n_sparse),
            ("--time-format", self.time_format, schema.time_format),
        ):
            if value is not None and value != stored:
                raise ValueError(f"{option} is {stored} in the schema, not {value}: leave out the option.")
        numeric = [known for known in schema.fields if known.kind == "numeric"]
        if self.decimal is not None and numeric and all(known.decimal != self.decimal for known in numeric):
            raise ValueError(
                f"--decimal is {numeric[0].decimal} in the schema, not {self.decimal}: leave out the option, "
                "or create a new store."
            )


def stored_schema(state: Mapping[str, Any] | None) -> Schema | None:
    """The schema of a store; None if it has none."""
    return Schema.from_state(state) if state else None


def schema_or_none(state: Mapping[str, Any] | None) -> Schema | None:
    """The schema of a store; None if it has none, or a description of another form."""
    try:
        return stored_schema(state)
    except ValueError:
        return None


def duplicates_message(n_known: int, source: Source) -> str:
    """What to print about rows that were left out because their ids are in the store, or repeated; or ""."""
    count = n_known + source.n_repeated
    return f"{count:,} duplicate rows skipped." if count else ""


def bad_rows_message(source: Source, quarantine: Path | None) -> str:
    """What to print about bad rows; "" if there are none."""
    if not source.quarantined:
        return ""
    reasons = "; ".join(
        f"{reason}{example_of(source.bad, reason)} ({n:,})" for reason, n in list(source.reasons.items())[:3]
    )
    where = "Use --quarantine FILE to keep them."
    if quarantine is not None and quarantine.exists():
        where = f"See {quarantine}."
    elif quarantine is not None:
        where = f"Nothing was written to {quarantine}: earlier runs skipped them."
    rows = f"{source.quarantined:,} bad row{'' if source.quarantined == 1 else 's'} skipped"
    first = source.bad[0]
    at = f"at {first.place}" if first.place else f"in line {first.line}"
    return f"{rows} (first {at}): {reasons}. {where}"
