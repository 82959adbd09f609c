"""Choose the reader for a source: by its first bytes, its name or its first line."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..broker import is_broker, open_consumer
from . import _compression
from ._arrow import ArrowReader, ParquetReader, dataset_files
from ._blocks import BlockReader
from ._broker import MessageReader
from ._csv import CSVReader
from ._jsonl import JSONLinesReader
from ._libsvm import LIBSVMReader
from ._line_reader import LineReader
from ._numpy import NumpyReader
from ._sql import SQLReader
from ._url import download, is_url, remove
from .schema import Schema

FORMATS = ("csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz")
EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npy": "npy",
    ".npz": "npz",
}
_BINARY = ("parquet", "arrow", "npy", "npz")
_LIBSVM_LINE = re.compile(r"\s*[^\s:]+(?:\s+qid:\S+)?(?:\s+\d+:[^\s:]+)+\s*(?:#.*)?", re.ASCII)


@dataclass(frozen=True)
class ReaderOptions:
    """The parameters of `open_source` that concern the reader."""

    format: str | None
    schema: Schema | None
    header: bool
    unknown_fields: str
    max_row_bytes: int
    encoding: str | None
    sql: str | None
    offsets: Mapping[str, Any] | None = None
    offset_reset: str | None = None
    idle: float | None = None


def open_reader(path: str, options: ReaderOptions) -> tuple[BlockReader, str]:
    """The reader and the format."""
    if options.sql is not None:
        _check_kind("sql", options.schema, path)
        return SQLReader(path, options.sql), "sql"
    if is_broker(path):
        return _open_broker(path, options), "messages"
    if os.path.isdir(path):
        return _open_folder(path, options), "arrow"
    if not is_url(path):
        return _open_file(path, path, options)
    local = download(path)
    try:
        reader, found = _open_file(local, path, options)
    except BaseException:
        remove(local)
        raise
    reader.temporary = local
    return reader, found


def _open_broker(path: str, options: ReaderOptions) -> BlockReader:
    consumer = open_consumer(path, offsets=options.offsets, offset_reset=options.offset_reset)
    try:
        _check_kind("messages", options.schema, consumer.name)
    except BaseException:
        consumer.close()
        raise
    return MessageReader(consumer, options.idle, options.max_row_bytes)


def _open_folder(path: str, options: ReaderOptions) -> BlockReader:
    files = dataset_files(path)
    if not files:
        raise ValueError(
            f"{path} is a folder, and not one of Hugging Face datasets: choose one of its files. "
            "`everlearn run` reads folders."
        )
    _check_kind("arrow", options.schema, path)
    reader = ArrowReader(files, path)
    reader.identity_file = files[0]
    return reader


def _open_file(path: str, name: str, options: ReaderOptions) -> tuple[BlockReader, str]:
    schema = options.schema
    stored = None if schema is None else schema.encoding
    lines = LineReader(path, options.max_row_bytes, options.encoding, stored, None if path == "-" else name)
    try:
        found = options.format or lines.binary or _format_of(lines)
        _check_kind(found, schema, lines.name)
        reader = _reader_of(found, path, lines, options)
    except BaseException:
        lines.close()
        raise
    reader.identity_file = path if os.path.isfile(path) else None
    return reader, found


def _reader_of(found: str, path: str, lines: LineReader, options: ReaderOptions) -> BlockReader:
    if found in _BINARY:
        lines.close()
        return _binary_reader(path, found, lines)
    if lines.binary is not None:
        raise ValueError(f"{lines.name} is {lines.binary}, not {found}: leave out the format.")
    if found == "jsonl":
        return JSONLinesReader(lines)
    if found == "libsvm":
        return LIBSVMReader(lines)
    schema = options.schema
    names = None if options.header or schema is None else [field.name for field in schema.fields]
    return CSVReader(lines, names, options.header, options.unknown_fields)


def _binary_reader(path: str, found: str, lines: LineReader) -> BlockReader:
    what = {"parquet": "Parquet", "arrow": "Arrow"}.get(found, f".{found}")
    name = lines.name
    if path == "-":
        raise ValueError(f"{what} cannot be read from standard input: save it to a file.")
    if lines.is_compressed:
        raise ValueError(f"{name} is {what} that has been compressed once more: decompress it first.")
    if found == "parquet":
        return ParquetReader(path, name)
    return ArrowReader([path], name) if found == "arrow" else NumpyReader(path, name)


def _check_kind(found: str, schema: Schema | None, name: str) -> None:
    if schema is not None and (found == "libsvm") != (schema.n_sparse is not None):
        other = "another format" if found == "libsvm" else "libsvm"
        raise ValueError(f"{name} is {found}, but the schema is for {other}.")


def format_by_name(name: str) -> str | None:
    """The format by the extension, before that of a compression; None if it is not known."""
    stem, extension = os.path.splitext(name.lower())
    if extension in _compression.EXTENSIONS:
        extension = os.path.splitext(stem)[1]
    return EXTENSIONS.get(extension)


def _format_of(lines: LineReader) -> str:
    """The format of a text file, by its extension or its first nonempty line."""
    by_name = format_by_name(lines.name.partition("?")[0] if is_url(lines.name) else lines.name)
    if by_name is not None:
        return by_name
    text = (lines.peek() or b"").decode("utf-8", "replace").strip()
    if re.match(r"\[\s*(\{|$)", text):
        raise ValueError(
            f"{lines.name} is one JSON array: write each of its objects on a line of its own (JSON lines), "
            f"for example with jq -c '.[]' {lines.name}."
        )
    if text.startswith("{"):
        return "jsonl"
    return "libsvm" if _LIBSVM_LINE.fullmatch(text) else "csv"
