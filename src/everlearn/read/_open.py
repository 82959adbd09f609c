"""From a path to the reader of its format."""

import os
from typing import Any

from ._csv import CSVReader
from ._formats import JSONReader, LIBSVMReader, sniff
from ._lines import Lines
from ._parquet import ParquetReader
from .schema import Schema

_ENDINGS = {
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


def open_reader(
    name: str,
    format: str | None,
    schema: Schema | None,
    header: bool,
    unknown_fields: str,
    max_row_bytes: int,
) -> tuple[Any, Lines | None, str]:
    """The reader, its lines (None for Parquet, which has none) and the format."""
    lines = Lines(name, max_row_bytes)
    try:
        found = format or _format_of(lines)
        if schema is not None and (found == "libsvm") != (schema.n_sparse is not None):
            raise ValueError(f"{lines.name} is {found}, for which the schema is not made.")
        if found == "parquet":
            lines.close()
            if name == "-":
                raise ValueError("Parquet cannot be read from standard input: write it to a file.")
            return ParquetReader(name), None, found
        if found == "jsonl":
            return JSONReader(lines), lines, found
        if found == "libsvm":
            return LIBSVMReader(lines), lines, found
        names = None if header or schema is None else [field.name for field in schema.fields]
        return CSVReader(lines, names, header, unknown_fields), lines, found
    except BaseException:
        lines.close()
        raise


def _format_of(lines: Lines) -> str:
    """By the first bytes, the ending of the name, or the first line that is not empty, in this order."""
    if lines.magic == _PARQUET:
        return "parquet"
    stem = lines.name[:-3] if lines.name.lower().endswith(".gz") else lines.name
    by_name = _ENDINGS.get(os.path.splitext(stem)[1].lower())
    if by_name is not None:
        return by_name
    first = lines.first()
    return "csv" if first is None else sniff(first)
