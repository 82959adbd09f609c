"""Rows a second of `decision_function`, for rows in the memory of the device and of the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from everlearn import LASVM

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .device import seconds, there, wait

GOAL = 8e6  # rows a second, 10,000 vectors of 784
CASES = (  # vectors, columns, type of the entries, rows
    (10_000, 784, "float32", 400_000),
    (10_000, 784, "uint8", 800_000),
    (1_000, 128, "float32", 20_000_000),
    (1_000, 128, "float16", 40_000_000),
    (1_000, 128, "uint8", 80_000_000),
)


def _rows(count: int, columns: int, kind: str, seed: int) -> Any:
    random = np.random.default_rng(seed)
    piece = random.integers(0, 256, (min(count, 1 << 20), columns), dtype=np.uint8)
    found = np.empty((count, columns), dtype=kind)
    for start in range(0, count, len(piece)):
        found[start : start + len(piece)] = piece[: count - start]
    return found


def _model(vectors: int, columns: int, kind: str) -> LASVM:
    """A model in which all rows are support vectors: their labels are drawn at random."""
    X = _rows(vectors, columns, kind, seed=0)
    y = np.random.default_rng(1).integers(0, 2, vectors)
    return LASVM(C=0.1, gamma=1e-7, device="cuda").fit(X, y)


def bus_bytes(size: int) -> float:
    """Bytes a second from pinned host memory to the device: what the bus gives."""
    import torch

    pinned, landed = (
        torch.empty(size, dtype=torch.uint8, pin_memory=True),
        torch.empty(size, dtype=torch.uint8, device="cuda"),
    )
    wait()
    return size / seconds(lambda: landed.copy_(pinned, non_blocking=True), 5)[0]


def run_part(run: Run) -> None:
    """All cases."""
    bus = bus_bytes(1 << 26 if run.quick else 1 << 30)
    for vectors, columns, kind, rows in CASES:
        count = min(rows, 20_000) if run.quick else rows
        model = _model(min(vectors, 500) if run.quick else vectors, columns, kind)
        X = _rows(count, columns, kind, seed=2)
        host = seconds(lambda X=X, model=model: model.decision_function(X), run.settings["repeats"])[0]
        result = {"vectors": len(model.support_), "columns": columns, "type": kind, "rows": count}
        result |= {"host_rows": count / host, "host_bytes": X.nbytes / host, "bus_bytes": bus}
        given = there(X[: min(count, 4_000_000)])
        spent = seconds(lambda g=given, model=model: model.decision_function(g), run.settings["repeats"])[0]
        result["device_rows"] = len(given) / spent
        run.add(result)
        say(f"{vectors} vectors of {columns} {kind}: {count / host:.3g} rows a second from the host")


def report(data: Data) -> str:
    """One line for each case."""
    lines = [
        [
            f"{r['vectors']:,} x {r['columns']}",
            r["type"],
            f"{r['rows']:,}",
            f"{r['device_rows'] / 1e6:.1f}",
            f"{r['host_rows'] / 1e6:.1f}",
            f"{r['host_bytes'] / 1e9:.1f}",
            f"{100 * r['host_bytes'] / r['bus_bytes']:.0f}",
        ]
        for r in data["results"]
    ]
    columns = ["vectors", "entries", "rows", "million rows/s, device", "host", "GB/s, host", "% of the bus"]
    text = f"""`decision_function` on one GPU: wall clock, median of {data["settings"]["repeats"]}. The bus is
    {data["results"][0]["bus_bytes"] / 1e9:.1f} GB/s, measured with pinned memory; rows on the host are
    ordinary arrays. Goals: 8 million rows/s for 10,000 vectors of 784, and 95 % of the bus for a pool."""
    return "\n".join([*head("Predictions on a GPU", data), fill(text), markdown(columns, lines)])
