"""Choose the reader for a source: by its first bytes, its name or its first line."""

import os
import re

from ._blocks import BlockReader
from ._csv import CSVReader
from ._jsonl import JSONLinesReader
from ._libsvm import LIBSVMReader
from ._line_reader import LineReader
from ._parquet import ParquetReader
from .schema import Schema

_EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PARQUET = b"PAR1"
_LIBSVM_LINE = re.compile(r"\s*[^\s:]+(?:\s+qid:\S+)?(?:\s+\d+:[^\s:]+)+\s*(?:#.*)?", re.ASCII)


def open_reader(
    name: str,
    format: str | None,
    schema: Schema | None,
    header: bool,
    unknown_fields: str,
    max_row_bytes: int,
) -> tuple[BlockReader, str]:
    """The reader and the format."""
    lines = LineReader(name, max_row_bytes)
    try:
        found = format or _format_of(lines)
        if schema is not None and (found == "libsvm") != (schema.n_sparse is not None):
            other = "another format" if found == "libsvm" else "libsvm"
            raise ValueError(f"{lines.name} is {found}, but the schema is for {other}.")
        if found == "parquet":
            lines.close()
            if name == "-":
                raise ValueError("Parquet cannot be read from standard input: save it to a file.")
            return ParquetReader(name), found
        if found == "jsonl":
            return JSONLinesReader(lines), found
        if found == "libsvm":
            return LIBSVMReader(lines), found
        names = None if header or schema is None else [field.name for field in schema.fields]
        return CSVReader(lines, names, header, unknown_fields), found
    except BaseException:
        lines.close()
        raise


def _format_of(lines: LineReader) -> str:
    """The format, by the first bytes, the file extension or the first nonempty line, in this order."""
    if lines.magic == _PARQUET:
        return "parquet"
    stem = lines.name[:-3] if lines.name.lower().endswith(".gz") else lines.name
    by_extension = _EXTENSIONS.get(os.path.splitext(stem)[1].lower())
    if by_extension is not None:
        return by_extension
    text = (lines.peek() or b"").decode("utf-8", "replace").strip()
    if text.startswith("{"):
        return "jsonl"
    return "libsvm" if _LIBSVM_LINE.fullmatch(text) else "csv"
