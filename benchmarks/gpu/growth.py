"""Fits of generated rows with 100 features, drawn on the device: time and memory up to ten million rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from everlearn import LASVM

from ..harness.machine import say
from ..harness.report import fill, head, markdown, number
from ..harness.run import Data, Run
from .device import Peak, free_bytes, random_rows, wait

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
COLUMNS = 100


def _two_classes(rows: int, seed: int) -> tuple[Any, Any]:
    """Normal rows around two centers, two apart in each of ten features: the best error is 0.08 %."""
    X = random_rows(rows, COLUMNS, seed)
    y = X[:, -1] > 0  # independent of the other features
    X[:, -1] = 0
    X[:, :10] += (2 * y - 1)[:, None]
    return X, y


def run_part(run: Run) -> None:
    """All sizes."""
    for rows in SIZES[:1] if run.quick else SIZES:
        rows = 5_000 if run.quick else rows
        if run.find(rows=rows):
            continue
        before = free_bytes()
        X, y = _two_classes(rows, seed=0)
        wait()
        least = free_bytes()
        with Peak() as peak:
            start = time.perf_counter()
            model = LASVM(C=1, gamma=0.001, device="cuda", cache_size=60_000).fit(X, y)
            wait()
            spent = time.perf_counter() - start
        test, wanted = _two_classes(100_000, seed=1)
        error = float((wanted != model.predict(test)).sum()) / 100_000
        run.add(
            {
                "rows": rows,
                "seconds": spent,
                "n_sv": len(model.support_),
                "error": error,
                "rows_gb": (before - least) / 1e9,
                "used_gb": (before - free_bytes()) / 1e9,
                "peak_gb": peak.bytes / 1e9,
                "violation": float(np.max(model.violations())),
            }
        )
        say(f"{rows} rows: {spent:.2f} s")
        del X, y, model, test, wanted


def report(data: Data) -> str:
    """One line for each size."""
    lines = [
        [
            f"{r['rows']:,}",
            number(r["seconds"]),
            f"{r['n_sv']:,}",
            f"{100 * r['error']:.2f}",
            f"{r['violation']:.1e}",
            number(r["used_gb"]),
            number(r.get("peak_gb")),
        ]
        for r in data["results"]
    ]
    columns = ["rows", "s", "support vectors", "error %", "violation", "GB held after the fit"]
    columns.append("GB in use, at most")
    text = f"""One fit for each size from rows in the memory of the device, {COLUMNS} normal features,
    hand-over included. The memory is what the process holds after the fit, the rows among it, and the
    most that anybody used of the device during the fit."""
    return "\n".join([*head("Fits of many rows on a GPU", data), fill(text), markdown(columns, lines)])
