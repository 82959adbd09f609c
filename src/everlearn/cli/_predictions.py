"""Predictions as CSV: an id, the label, the scores."""

import csv
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import _atomic
from .._visible import visible
from ..errors import StoreError
from ..read import Source
from ..stream import NeverEndingLearner
from ._console import error_console
from ._sources import Reading, stored_schema

_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # the last four: full-width = + - @
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def fitted(learner: NeverEndingLearner) -> Any:
    """The learner as it is now; an error as long as there is none."""
    if learner.learner_ is None:
        status = learner.status()
        raise StoreError(
            f"{status['store']} has no predictor yet: it has seen {status['labels']} labels and not two "
            "classes. Give it labels with `everlearn run` or `everlearn ask`."
        )
    return learner.learner_


def predict_source(store: str, reading: Reading, out: str, *, raw: bool, quiet: bool) -> None:
    """Predict all rows of a source by a store, and say what came of it."""
    with NeverEndingLearner.open(store, read_only=True) as learner:
        fitted(learner)
        schema = stored_schema(learner.status()["schema"])
        if schema is None:
            raise ValueError(
                f"{store} does not say what its columns are: it was not made by `everlearn run`."
            )
        with reading.open(schema) as rows:
            n_rows = write_predictions(learner, rows, out, raw=raw)
            notes = [rows.message, bad_rows(rows, reading.quarantine)]
    if not quiet:
        notes.append(f"{n_rows:,} rows predicted: {out}" if out != "-" else "")
        for note in filter(None, notes):
            error_console().print(note)


def write_predictions(learner: NeverEndingLearner, source: Source, out: str, *, raw: bool = False) -> int:
    """Predict all rows of a source; how many that were."""
    if out == "-":
        return _write(learner, source, sys.stdout, visible if sys.stdout.isatty() else _cell(raw))
    n_rows = 0

    def put(file: Any) -> None:
        nonlocal n_rows
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        n_rows = _write(learner, source, text, _cell(raw))
        text.detach()

    _atomic.write(out, put)
    return n_rows


def _write(learner: NeverEndingLearner, source: Source, file: TextIO, cell: Callable[[Any], Any]) -> int:
    labels = fitted(learner).classes_.tolist()
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


def _cell(raw: bool) -> Callable[[Any], Any]:
    return (lambda value: value) if raw else for_spreadsheet


def for_spreadsheet(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    Spreadsheets compute a cell that begins with one of a few characters, though it is quoted. Such text gets
    an apostrophe in front, and so does text that begins with apostrophes and then one of them, so that
    removing the first apostrophe of whatever matches ``'+[=+-@...]`` is the way back. Numbers stay.
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def bad_rows(source: Source, quarantine: Any) -> str:
    """What to say about rows that were set aside; "" if there are none."""
    if not source.quarantined:
        return ""
    reasons = "; ".join(f"{reason} ({n:,})" for reason, n in list(source.reasons.items())[:3])
    first = source.bad[0].line
    where = f"Kept in {quarantine}." if quarantine else "--quarantine FILE keeps them."
    rows = f"{source.quarantined:,} bad row{'' if source.quarantined == 1 else 's'} set aside"
    return f"{rows} (first in line {first}): {reasons}. {where}"


def written(path: Path, found: Any) -> str:
    """What to say about an ONNX file."""
    size = f"{path.stat().st_size:,} bytes, {found.n_support:,} support vectors"
    difference = f"largest difference from the learner {found.max_relative_difference:.2g}"
    return f"Written: {path} ({size}, computes in {found.compute_dtype}; {difference})"
