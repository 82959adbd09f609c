"""Predictions as CSV: an id, the label, the scores."""

import csv
import io
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .. import _atomic
from ..errors import StoreError
from ..stream import NeverEndingLearner, Source


def fitted(learner: NeverEndingLearner) -> Any:
    """The learner as it is now; an error as long as there is none."""
    if learner.learner_ is None:
        status = learner.status()
        raise StoreError(
            f"{status['place']} has no predictor yet: it has seen {status['labels']} labels and not two "
            "classes. Give it labels with `everlearn run` or `everlearn ask`."
        )
    return learner.learner_


def write_predictions(learner: NeverEndingLearner, source: Source, out: str) -> int:
    """Predict all rows of a source; how many that were."""
    if out == "-":
        return _write(learner, source, sys.stdout)
    n_rows = 0

    def put(file: Any) -> None:
        nonlocal n_rows
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        n_rows = _write(learner, source, text)
        text.detach()

    _atomic.replace(out, put)
    return n_rows


def _write(learner: NeverEndingLearner, source: Source, file: TextIO) -> int:
    labels = fitted(learner).classes_.tolist()
    writer = csv.writer(file, lineterminator="\n")
    names = ["score"] if len(labels) == 2 else [f"score_{label}" for label in labels]
    has_ids = source.schema is not None and source.schema.name_of("id") is not None
    writer.writerow(["id" if has_ids else "row", "prediction", *names])
    n_rows = 0
    for batch in source:
        predicted = learner.predict(batch.X).tolist()
        scores = np.asarray(learner.decision_function(batch.X)).reshape(len(batch), -1).tolist()
        ids = range(n_rows + 1, n_rows + len(batch) + 1) if batch.ids is None else batch.ids
        rows = zip(ids, predicted, scores, strict=True)
        writer.writerows([name, label, *map(repr, values)] for name, label, values in rows)
        n_rows += len(batch)
    file.flush()
    return n_rows


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
    size = f"{path.stat().st_size:,} bytes, {found.n_rows:,} support vectors"
    difference = f"largest difference from the learner {found.largest_difference:.2g}"
    return f"Written: {path} ({size}, computes in {found.computes_in}; {difference})"
