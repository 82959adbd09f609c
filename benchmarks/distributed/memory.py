"""Memory of the scheduler, which runs in a process of its own, over many fits."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from distributed import Client
from everlearn import LASVM
from everlearn.datasets import make_checkerboard
from everlearn.distributed import DistributedSVM

from ..harness.report import head, markdown
from ..harness.run import Data, Run


def run_part(run: Run) -> None:
    """Fit again and again; the resident memory of the scheduler after each fit."""
    rows, fits = (1_000, 3) if run.quick else (20_000, 30)
    X, y = make_checkerboard(rows, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        python = [sys.executable, "-m"]
        common = ["--scheduler-file", str(file)]
        local = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
        scheduler = subprocess.Popen(
            [*python, "distributed.cli.dask_scheduler", *common, *local], stderr=subprocess.DEVNULL
        )
        workers = [
            subprocess.Popen(
                [*python, "distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-dashboard"],
                stderr=subprocess.DEVNULL,
            )
            for _ in range(run.settings["workers"])
        ]
        try:
            with Client(scheduler_file=str(file), timeout=60) as client:
                client.wait_for_workers(len(workers), timeout=60)
                for number in range(fits):
                    svm = DistributedSVM(LASVM(10, gamma=4.0, random_state=0), client=client, n_partitions=4)
                    svm.fit(X, y)
                    memory = psutil.Process(scheduler.pid).memory_info().rss / 2**20
                    run.add({"set": f"fit {number + 1}", "mb": memory, "sent": svm.bytes_sent_})
        finally:
            for process in (*workers, scheduler):
                process.terminate()
                process.wait(timeout=30)


def report(data: Data) -> str:
    """The first, every tenth and the last fit."""
    results = data["results"]
    some = [r for k, r in enumerate(results) if k % 10 in (0, 9)]
    lines = [[r["set"], f"{r['mb']:.0f}", f"{r['sent'] / 1e6:.1f}"] for r in some]
    parts = head("Memory of the scheduler", data)
    parts.append(markdown(["", "MB resident", "MB sent in the fit"], lines))
    return "\n".join(parts)
