"""`SubmodS3VM` with the linear kernel: the same cut on the CPU and on the device."""

from __future__ import annotations

import time

import numpy as np

from everlearn import SubmodS3VM

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run

SIZES = (100_000, 1_000_000, 10_000_000, 20_000_000)
MOST_ON_CPU = 1_000_000
COLUMNS = 64


def run_part(run: Run) -> None:
    """All sizes: two overlapping classes, 1,000 labels."""
    for rows in (20_000,) if run.quick else SIZES:
        random = np.random.default_rng(0)
        y = random.integers(0, 2, rows)
        X = random.standard_normal((rows, COLUMNS), dtype=np.float32)
        X[:, :8] += 0.6 * (2 * y - 1)[:, None].astype(np.float32)
        given = np.full(rows, -1)
        given[:1000] = y[:1000]
        result: dict[str, float] = {"rows": rows}
        for device in ("cuda", "cpu"):
            if device == "cpu" and rows > MOST_ON_CPU:
                continue
            start = time.perf_counter()
            model = SubmodS3VM(
                kernel="linear",
                scaling="none",
                rho=1.0,
                solver="fast",
                positive_fraction=0.5,
                unlabeled=-1,
                estimator=None,
                device=device,
                random_state=0,
            ).fit(X, given)
            result[device] = time.perf_counter() - start
            result[f"{device}_right"] = float(np.mean(model.transduction_[1000:] == y[1000:]))
        run.add(result)
        say(f"{rows} rows: {result['cuda']:.2f} s on the device")


def report(data: Data) -> str:
    """One line for each size."""
    lines = [
        [
            f"{r['rows']:,}",
            number(r["cuda"]),
            number(r["cpu"]) if "cpu" in r else NONE,
            f"{100 * r['cuda_right']:.2f}",
            f"{100 * r['cpu_right']:.2f}" if "cpu" in r else NONE,
        ]
        for r in data["results"]
    ]
    columns = ["rows", "device, s", "CPU, s", "right labels, device", "CPU"]
    text = f"""`SubmodS3VM(kernel="linear", solver="fast").fit` without a classifier for new rows, {COLUMNS}
    features, rows in the memory of the host: wall clock of one fit, validation and copying included."""
    return "\n".join([*head("Semi-supervised cuts on a GPU", data), fill(text), markdown(columns, lines)])
