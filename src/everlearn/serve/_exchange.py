"""Labels and models in and out: CSV, Parquet, JSON lines and ONNX."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from importlib import import_module
from typing import Any
from uuid import uuid4

from ..errors import InputError
from ..export import export_onnx
from ..read.records import Record, read_records
from ..store.beside import GivenAnswer
from ..store.lookup import Id
from ._overview import Overview
from ._results import AnswerIn, AnswersGiven
from .access import MAX_NAME

_COLUMNS = (
    "id",
    "label",
    "by",
    "at",
    "why_asked",
    "model_version",
    "kind",
    "comment",
    "wrong_field",
    "learned_label",
)
_MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
_PIECE = 2**16  # bytes of a file that are sent at a time
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run these


class Exchange(Overview):
    """Base of `LearningService`: exports and imports."""

    def export_labels(self, format: str = "csv") -> tuple[Iterator[bytes], str]:
        """Export the answers that count now, with who, when, why asked, and the version of the model.

        Parameters
        ----------
        format : {"csv", "parquet", "jsonl"}, default="csv"
            The format. In CSV, text that a spreadsheet would run as a formula begins with an apostrophe.

        Returns
        -------
        tuple of (iterator of bytes, str)
            The pieces of the content, which are read from the store as they are needed, and its media type.
        """
        if format not in _MEDIA:
            raise InputError(
                f"format must be one of {', '.join(map(repr, _MEDIA))}, got {format!r}.",
                code="unknown_format",
            )
        pieces = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[format]
        return pieces(map(self._lines, self.learner.answers_that_count())), _MEDIA[format]

    def _lines(self, found: list[tuple[Id, GivenAnswer]]) -> list[dict[str, Any]]:
        labels = self.learner.labels_of(list(dict.fromkeys(row for row, _ in found)))
        return [
            {
                "id": row,
                "label": answer.label,
                "by": answer.by,
                "at": datetime.fromtimestamp(answer.time, timezone.utc).isoformat(timespec="milliseconds"),
                "why_asked": answer.about.get("why_text") or answer.about.get("why") or "",
                "model_version": int(answer.about.get("model_version", 0)),
                "kind": answer.kind,
                "comment": answer.about.get("comment", ""),
                "wrong_field": answer.about.get("wrong_field", ""),
                "learned_label": labels[row],
            }
            for row, answer in found
        ]

    def import_labels(
        self, content: bytes, *, by: str, format: str = "csv", key: str | None = None
    ) -> AnswersGiven:
        """Learn labels from a table with the columns id and label, and optionally by, kind and comment.

        Parameters
        ----------
        content : bytes
            The table; all of it is learned, or nothing.
        by : str
            Who imports it: the person of all rows without another one in the column by.
        format : {"csv", "jsonl"}, default="csv"
            Its format.
        key : str, default=None
            The idempotency key; without one, a table that is imported twice counts as answered again.

        Returns
        -------
        AnswersGiven
            What became of each label, by person.
        """
        records = _read_table(content, format)
        mark = str(uuid4()) if key is None else key

        def write() -> list[AnswersGiven]:
            given = self._answers_of(records, by, mark).items()
            checked = [(person, self._checked_answers(person, answers)) for person, answers in given]
            return self._write_group(checked) if checked else []

        # The writer also checks, as in `answer`: before it, rows and settings may still change.
        parts = self._writer.do("call", write, size=max(1, len(records)))
        results = [result for part in parts for result in part.results]
        return AnswersGiven(self.sequence, self.learner.model_version, results)

    def _answers_of(self, records: list[Record], by: str, mark: str) -> dict[str, list[AnswerIn]]:
        """The answers of each person in a table of labels."""
        given: dict[str, list[AnswerIn]] = {}
        for record in records:
            cells = record.cells
            if not {"id", "label"} <= cells.keys():
                raise InputError(
                    f"The table has the columns {list(cells)[:20]}, but not id and label.",
                    code="bad_table",
                    remedy="Name the columns id and label.",
                )
            kind = cells.get("kind") or ("label" if cells["label"] else "skip")
            if not cells["label"] and kind == "label":
                continue
            try:
                row, person = self.find_id(cells["id"]), _person(cells.get("by") or by)
            except InputError as error:
                raise InputError(
                    f"Line {record.line}: {error.problem}",
                    code=error.code,
                    remedy="Correct the line; nothing was learned.",
                ) from None
            given.setdefault(person, []).append(
                AnswerIn(
                    row,
                    kind,
                    f"{mark}:{record.line}",
                    cells["label"] or None,
                    comment=cells.get("comment", ""),
                )
            )
        return given

    def export_model(self) -> bytes:
        """Export the current model as ONNX.

        Returns
        -------
        bytes
            The content of the file. Without a model it is an `InputError` with the code "no_model".
        """
        learner, schema = self.learner, self._schema()
        with learner.unchanged():
            if learner.learner_ is None:
                raise InputError(
                    "There is no model yet.",
                    code="no_model",
                    remedy="Answer questions: two classes are needed.",
                )
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.onnx")
                export_onnx(
                    learner.learner_,
                    path,
                    mean=learner.mean_,
                    scale=learner.scale_,
                    feature_names=None if schema is None else schema.feature_names,
                )
                with open(path, "rb") as file:
                    return file.read()


def _read_table(content: bytes, format: str) -> list[Record]:
    """The rows of a table of labels."""
    if format not in ("csv", "jsonl"):
        raise InputError(f"format must be 'csv' or 'jsonl', got {format!r}.", code="unknown_format")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"labels.{format}")
        with open(path, "wb") as file:
            file.write(content)
        try:
            records = read_records(path, format=format)
        except ValueError as error:
            message = str(error).replace(path, "the table")
            raise InputError(message, code="bad_table", remedy="Nothing was learned.") from None
    if not records:
        raise InputError(
            "The table has no rows.", code="bad_table", remedy="Its columns must be id and label, with names."
        )
    return records


def _person(name: str) -> str:
    """The name of a person in a table."""
    if len(name) > MAX_NAME or not name.isprintable():
        raise InputError(
            f"A name must have at most {MAX_NAME} printable characters, got {name[: MAX_NAME + 1]!r}.",
            code="bad_table",
        )
    return name


def _cell(value: Any) -> Any:
    text = "" if value is None else str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


def _jsonl(parts: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    for lines in parts:
        yield "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _csv(parts: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    yield (",".join(_COLUMNS) + "\n").encode()
    for lines in parts:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerows([_cell(line[name]) for name in _COLUMNS] for line in lines)
        yield out.getvalue().encode()


def _parquet(parts: Iterable[list[dict[str, Any]]]) -> Iterator[bytes]:
    """A file with a group of rows for each part; it is made on disk, because its head is at its end."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    types = [pa.int64() if name == "model_version" else pa.string() for name in _COLUMNS]
    schema = pa.schema(list(zip(_COLUMNS, types, strict=True)))
    with tempfile.TemporaryFile() as file:
        with pq.ParquetWriter(file, schema) as writer:
            for lines in parts:
                columns = {
                    name: [line[name] if name == "model_version" else _text(line[name]) for line in lines]
                    for name in _COLUMNS
                }
                writer.write_table(pa.table(columns, schema=schema))
        file.seek(0)
        while piece := file.read(_PIECE):
            yield piece


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
