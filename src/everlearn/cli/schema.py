"""`everlearn schema`: how the fields of a source are read."""

from pathlib import Path
from typing import Annotated

import typer

from . import _options as option
from ._app import command
from ._arguments import parse_pairs
from ._console import console
from ._outputs import check_outputs
from ._source_spec import SourceSpec
from ._tables import print_schema


@command("everlearn schema payments.csv --label is_fraud --out payments.json")
def schema(
    source: option.Source,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Write the schema as JSON, to edit and use with `everlearn run --schema`.",
        ),
    ] = None,
    format: option.Format = None,
    header: option.Header = True,
    label: option.Label = None,
    id: option.Id = None,
    time: option.Time = None,
    kind: option.Kinds = None,
    label_type: option.LabelType = None,
    n_features: option.Features = None,
    encoding: option.Encoding = None,
    decimal: option.Decimal = None,
    time_format: option.TimeFormat = None,
    sql: option.Sql = None,
    infer_rows: option.InferRows = 1000,
    max_row_bytes: option.MaxRowBytes = 64 * 2**20,
    traceback: option.Traceback = False,
) -> None:
    """Infer and show the schema of a source; of a folder, that of its first file."""
    check_outputs({"--out": out}, sources=[source])
    spec = SourceSpec(
        source,
        format=format,
        header=header,
        label=label,
        id=id,
        time=time,
        kinds=parse_pairs(kind or (), "--kind", "zip=categorical"),
        label_type=label_type,
        n_features=n_features,
        infer_rows=infer_rows,
        max_row_bytes=max_row_bytes,
        encoding=encoding,
        decimal=decimal,
        time_format=time_format,
        sql=sql,
    )
    with spec.files()[0].open(None) as rows:
        if rows.schema is None:
            raise ValueError(rows.message)
        print_schema(rows.schema, console(), rows)
        if out is not None:
            rows.schema.write(out)
            console().print(f"Wrote {out}")
