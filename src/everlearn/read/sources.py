"""Sources: files, standard input, addresses and queries as a stream of batches, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..broker import is_broker
from ._arrow import is_dataset
from ._batches import Batch
from ._blocks import BadRow
from ._open import FORMATS, ReaderOptions, format_by_name, open_reader
from ._source import OFFSETS_NOTE, Source, SourceOptions
from ._times import suggest_time_format
from .quarantine import check_path
from .schema import Schema

__all__ = [
    "OFFSETS_NOTE",
    "BadRow",
    "Batch",
    "Source",
    "format_by_name",
    "is_dataset",
    "open_source",
    "suggest_time_format",
]


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    schema: Schema | str | os.PathLike[str] | None = None,
    batch_size: int = 1000,
    infer_rows: int = 1000,
    unknown_fields: str = "error",
    quarantine: str | os.PathLike[str] | None = None,
    on_bad: str = "quarantine",
    repeated_ids: str = "bad",
    header: bool = True,
    label: str | None = None,
    id: str | None = None,
    time: str | None = None,
    kinds: Mapping[str, str] | None = None,
    label_type: str | None = None,
    n_features: int | None = None,
    max_row_bytes: int = 64 * 2**20,
    encoding: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    sql: str | None = None,
    offsets: Mapping[str, Any] | None = None,
    offset_reset: str | None = None,
    idle: float | None = None,
) -> Source:
    """Open a file, standard input, an address or an SQL query as a stream of batches.

    A bad row neither stops the stream nor is lost: it is quarantined, with its line number and the reason.
    A row is bad if it has a wrong number of fields, an invalid number, vector, time or label, an infinite
    value, invalid JSON or UTF-8, a NUL character, a duplicate id within its block, or too many bytes. A file
    that is read with a given schema may lack the label, the time and ignored fields.

    A CSV line that repeats the header, as in concatenated files, is not a row; the rows after it are read in
    the order of that header.

    Parameters
    ----------
    path : str or path-like
        The file; text formats may be compressed with gzip, bzip2, xz or zstd. "-" is standard input. An HTTP
        or HTTPS address is downloaded to a temporary file. A folder must be one that Hugging Face `datasets`
        has saved. With `sql`, the SQLAlchemy address of a database, or an SQLite file. A Kafka topic
        (kafka://host:port/topic) or a Redis stream (redis://host:port/stream), whose messages are JSON
        objects or, in Redis, entries with the fields of a row.
    format : {"csv", "jsonl", "libsvm", "parquet", "arrow", "npy", "npz"}, default=None
        The format. None detects it from the first bytes, from the file extension (.csv, .tsv, .jsonl,
        .ndjson, .libsvm, .svmlight, .svm) or from the first line. The CSV delimiter (comma, semicolon, tab or
        bar) is detected in the first line. Arrow files are also called Feather. In .npy and .npz, 1-D arrays
        are fields of single values, 2-D arrays fields of vectors; the field of a .npy file is named "x".
    schema : Schema, str or path-like, default=None
        The schema, or its file. None infers it from the first rows.
    batch_size : int, default=1000
        Records in a block.
    infer_rows : int, default=1000
        Rows from which the schema is inferred.
    unknown_fields : {"error", "ignore"}, default="error"
        What to do with fields that are not in the schema.
    quarantine : str or path-like, default=None
        A file to which bad rows are appended, as JSON lines with "source", "line", "reason" and "raw". None
        counts them and keeps the first 20. It must not be the source, its schema or a store.
    on_bad : {"quarantine", "error"}, default="quarantine"
        Whether a bad row is quarantined or raises a ValueError.
    repeated_ids : {"bad", "skip"}, default="bad"
        Whether a row whose id an earlier row of its block has is bad, or left out and counted.
    header : bool, default=True
        Whether CSV starts with a header; if not, fields are named column_1, column_2 and so on. Ignored if a
        schema is given, which includes this setting.
    label : str, default=None
        The field that holds the label. For this and the next parameters, see `Schema.infer`.
    id : str, default=None
        The field that holds the row id.
    time : str, default=None
        The field that holds the time.
    kinds : mapping of str to str, default=None
        The kinds of other fields.
    label_type : {"int", "string"}, default=None
        The type of labels; None infers it from the first rows.
    n_features : int, default=None
        LIBSVM: the number of features; None takes the largest index of the first rows. A row with a larger
        index is bad.
    max_row_bytes : int, default=67108864
        The maximum length of a line, or of a CSV record with several lines, in bytes. A longer row is bad,
        and only its first bytes are kept. It is never in memory as a whole. Text formats only.
    encoding : str, default=None
        The encoding of a text file. None detects it: by a byte-order mark, by NUL bytes (UTF-16), UTF-8 if
        the first 256 KiB are valid, otherwise that of the schema, otherwise Windows-1252 (Latin-1).
    decimal : {".", ","}, default=None
        The decimal separator, where the values of a field leave a choice. None infers it.
    time_format : str, default=None
        The format of the time field, as in `datetime.datetime.strptime`; "ms", "us" or "ns" for such ticks
        since 1970. None infers it.
    sql : str, default=None
        A query whose rows are the stream; `path` is then a database.
    offsets : mapping, default=None
        Brokers: where to go on, as stored with the rows; see `Source.offsets`. None starts at the oldest
        message.
    offset_reset : {None, "earliest", "latest"}, default=None
        Brokers: what to do if messages that should come next were removed. None raises a `BrokerError`,
        "earliest" goes on with the oldest message that is left, "latest" with the next one that arrives.
        Without `offsets`, "latest" skips the messages that are there.
    idle : float, default=None
        Brokers: the seconds without a message after which the stream ends; None waits for ever.

    Returns
    -------
    Source
        The stream.

    Examples
    --------
    >>> import os, tempfile
    >>> from everlearn.read.sources import open_source
    >>> path = os.path.join(tempfile.mkdtemp(), "payments.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("amount,shop,fraud\\n3.5,A,0\\n1,B,\\nmany,A,1\\n9,B,1\\n")
    >>> source = open_source(path, label="fraud", kinds={"amount": "numeric"})
    >>> for batch in source:
    ...     print(batch.X, batch.y)
    [[3.5 1.  0.  0. ]
     [1.  0.  1.  0. ]
     [9.  0.  1.  0. ]] [0 None 1]
    >>> source.bad
    [BadRow(line=4, reason="field 'amount': not a number", raw='many,A,1', field='amount', value='many')]
    """
    for option, value, words in (
        ("format", format, (None, *FORMATS)),
        ("unknown_fields", unknown_fields, ("error", "ignore")),
        ("on_bad", on_bad, ("quarantine", "error")),
        ("repeated_ids", repeated_ids, ("bad", "skip")),
    ):
        if value not in words:
            raise ValueError(
                f"{option}={value!r} must be one of {[word for word in words if word is not None]}."
            )
    for option, number in (
        ("batch_size", batch_size),
        ("infer_rows", infer_rows),
        ("n_features", n_features),
        ("max_row_bytes", max_row_bytes),
    ):
        if number is not None and number < 1:
            raise ValueError(f"{option}={number} must be at least 1.")
    name = os.fspath(path)
    _check_broker_options(name, format, sql, {"offsets": offsets, "offset_reset": offset_reset, "idle": idle})
    schema_file = None if schema is None or isinstance(schema, Schema) else os.fspath(schema)
    if quarantine is not None:
        check_path(os.fspath(quarantine), name, schema_file)
    if schema is not None and not isinstance(schema, Schema):
        schema = Schema.read(schema)
    given = {"label": label, "id": id, "time": time, "kinds": kinds}
    given |= {"decimal": decimal, "time_format": time_format}
    if schema is not None and any(value is not None for value in (*given.values(), label_type, n_features)):
        raise ValueError(
            "A schema is given: do not pass label, id, time, kinds, decimal, time_format, label_type or "
            "n_features."
        )
    if sql is not None and format is not None:
        raise ValueError(f"format={format!r} is for files: leave it out for a query.")
    header = header if schema is None else schema.header
    reader, found = open_reader(
        name,
        ReaderOptions(
            format,
            schema,
            header,
            unknown_fields,
            max_row_bytes,
            encoding,
            sql,
            offsets,
            offset_reset,
            idle,
        ),
    )
    try:
        if found == "libsvm" and any(value is not None for value in given.values()):
            raise ValueError(
                "LIBSVM has no named fields: do not pass label, id, time, kinds, decimal or time_format."
            )
        if found != "libsvm" and n_features is not None:
            raise ValueError(f"n_features={n_features} is for LIBSVM only; {found} has named fields.")
        options = SourceOptions(
            format=found,
            schema=schema,
            batch_size=batch_size,
            infer_rows=infer_rows,
            unknown_fields=unknown_fields,
            quarantine=quarantine,
            on_bad=on_bad,
            repeated_ids=repeated_ids,
            infer={**given, "label_type": label_type, "n_features": n_features, "header": header},
        )
        return Source(reader, options)
    except BaseException:
        reader.close()
        raise


def _check_broker_options(name: str, format: str | None, sql: str | None, options: Mapping[str, Any]) -> None:
    """Options of brokers are for brokers, and those of files are not."""
    if not is_broker(name):
        for option, value in options.items():
            if value is not None:
                raise ValueError(f"{option}={value!r} is for Kafka and Redis, not for {name}.")
        return
    if format is not None or sql is not None:
        raise ValueError("A topic or a stream has no format and no query: leave out format and sql.")
    if options["idle"] is not None and not options["idle"] >= 0:
        raise ValueError(f"idle={options['idle']} must not be negative.")
