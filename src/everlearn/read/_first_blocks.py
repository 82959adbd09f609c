"""The schema of a stream from its first rows, independent of the block size."""

from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from ._arrow import as_iso
from ._blocks import Block, BlockReader
from ._nested import flattened
from .schema import Schema

_MAX_READ = 10  # times infer_rows: records to read until there are enough good ones


def read_first_blocks(reader: BlockReader, batch_size: int, infer_rows: int) -> deque[Block]:
    """The first blocks, up to enough good records or to the maximum number of records."""
    blocks: deque[Block] = deque()
    n_good = n_read = 0
    while n_good < infer_rows and n_read < _MAX_READ * infer_rows:
        block = reader.read_first(batch_size)
        if block is None:
            break
        blocks.append(block)
        n_good += len(block.lines)
        n_read += len(block.lines) + len(block.bad)
    return blocks


def infer_table_schema(
    blocks: Collection[Block], infer_rows: int, time_fields: Collection[str], hints: Mapping[str, Any]
) -> Schema:
    """The schema of named fields; ``time_fields`` are those that the file declares as times."""
    columns: dict[str, list[Any]] = {}
    n_rows = 0
    for block in blocks:
        n_block = min(len(block.lines), infer_rows - n_rows)
        for name, cells in block.columns.items():
            part = cells[:n_block]
            seen = columns.setdefault(name, [None] * n_rows)
            seen += as_iso(part) if name in time_fields else list(part)
        n_rows += n_block
        for seen in columns.values():
            seen += [None] * (n_rows - len(seen))  # rows of JSON without the key
    return Schema.infer(flattened(columns), **hints)


def infer_libsvm_schema(
    blocks: Collection[Block], infer_rows: int, n_features: int | None, label_type: str | None
) -> Schema:
    """The schema of LIBSVM: a label, and as many columns as the largest index requires."""
    labels: list[Any] = []
    zero_based, last = False, 0
    for block in blocks:
        rows = block.rows[: infer_rows - len(labels)]
        labels += block.columns["label"][: rows.shape[0]]
        zero_based = zero_based or bool((rows.indices == 0).any())
        last = max(last, int(rows.indices.max(initial=0)))
    found = Schema.infer({"label": labels}, label="label", label_type=label_type)
    n_sparse = n_features or max(last + zero_based, 1)
    return Schema(found.fields, label_type=found.label_type, n_sparse=n_sparse, zero_based=zero_based)
