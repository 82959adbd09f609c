"""`everlearn predict`: predictions as CSV, with id, label and decision values."""

import csv
from typing import Annotated, Any, TextIO

import numpy as np
import typer

from ..errors import StoreError
from ..read import Source
from ..stream import NeverEndingLearner
from . import _options as option
from ._app import command
from ._console import error_console
from ._csv_output import Cell, write_csv
from ._outputs import check_outputs
from ._source_spec import SourceSpec, bad_rows_message, stored_schema


@command(
    "everlearn predict fraud.everlearn new.csv --out predictions.csv",
    "everlearn predict fraud.everlearn new.csv | head",
)
def predict(
    store: option.Store,
    source: option.Source,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help='The CSV file to write; "-" is standard output.'),
    ] = "-",
    format: option.Format = None,
    encoding: option.Encoding = None,
    sql: option.Sql = None,
    unknown_fields: option.UnknownFields = "error",
    quarantine: option.Quarantine = None,
    batch_size: option.BatchSize = 1000,
    max_row_bytes: option.MaxRowBytes = 64 * 2**20,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            show_default=False,
            help="Write ids and labels unchanged, without protection from spreadsheet formulas.",
        ),
    ] = False,
    quiet: option.Quiet = False,
    traceback: option.Traceback = False,
) -> None:
    """Predict the rows of a source with the current model; the store is not changed.

    Writes CSV with the id (or the number) of each row, the predicted label and the decision values: one for
    two classes, positive for the second class; otherwise one for each class.

    Ids and labels that a spreadsheet would run as a formula (they start with =, +, -, @, a tab or a line
    break and are not numbers) are prefixed with an apostrophe. To undo this, remove the first apostrophe of
    cells that start with apostrophes followed by one of these characters; or use --raw.
    """
    check_outputs({"--out": out, "--quarantine": quarantine}, store=store, sources=[source])
    spec = SourceSpec(
        source,
        format=format,
        batch_size=batch_size,
        unknown_fields=unknown_fields,
        quarantine=quarantine,
        max_row_bytes=max_row_bytes,
        encoding=encoding,
        sql=sql,
    )
    with NeverEndingLearner.open(store, read_only=True) as learner:
        fitted_learner(learner)
        schema = stored_schema(learner.status()["schema"])
        if schema is None:
            raise ValueError(f"{store} has no schema: it was not created by `everlearn run`.")
        with spec.open(schema) as rows:
            n_rows = write_predictions(learner, rows, out, raw=raw)
            notes = [rows.message, bad_rows_message(rows, quarantine)]
    if not quiet:
        notes.append(f"Wrote {n_rows:,} predictions to {out}" if out != "-" else "")
        for note in filter(None, notes):
            error_console().print(note)


def fitted_learner(learner: NeverEndingLearner) -> Any:
    """The current learner; an error if it has not seen two classes yet."""
    if learner.learner_ is None:
        status = learner.status()
        raise StoreError(
            f"{status['store']} cannot predict yet: it has {status['labels']} labels, but not of two "
            "classes. Add labels with `everlearn run` or `everlearn ask`."
        )
    return learner.learner_


def write_predictions(learner: NeverEndingLearner, source: Source, out: str, *, raw: bool = False) -> int:
    """Predict all rows of a source; return their number."""
    return write_csv(out, raw, lambda file, cell: _write(learner, source, file, cell))


def _write(learner: NeverEndingLearner, source: Source, file: TextIO, cell: Cell) -> int:
    labels = fitted_learner(learner).classes_.tolist()
    writer = csv.writer(file, lineterminator="\n")
    names = ["score"] if len(labels) == 2 else [cell(f"score_{label}") for label in labels]
    has_ids = source.schema is not None and source.schema.name_of("id") is not None
    writer.writerow(["id" if has_ids else "row", "prediction", *names])
    n_rows = 0
    for batch in source:
        predicted = learner.predict(batch.X).tolist()
        scores = np.asarray(learner.decision_function(batch.X)).reshape(len(batch), -1).tolist()
        ids = range(n_rows + 1, n_rows + len(batch) + 1) if batch.ids is None else batch.ids
        rows = zip(ids, predicted, scores, strict=True)
        writer.writerows([cell(name), cell(label), *map(repr, values)] for name, label, values in rows)
        n_rows += len(batch)
    file.flush()
    return n_rows
