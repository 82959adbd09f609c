"""The first fit of a process: what the driver and the module take before anything is warm."""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median

from ..harness.machine import say
from ..harness.report import fill, head, markdown, number
from ..harness.run import Data, Run

SIZES = ((2_000, 20), (60_000, 784))  # rows and columns; the second is as large as mnist
SCRIPT = """
import json, sys, time
start = time.perf_counter()
import numpy as np
from everlearn import LASVM
imported = time.perf_counter()
rows, columns = int(sys.argv[1]), int(sys.argv[2])
X = np.random.default_rng(0).standard_normal((rows, columns), dtype=np.float32)
y = X[:, 0] + X[:, 1] > 0
times = []
for _ in range(3):
    begin = time.perf_counter()
    LASVM(gamma=1 / columns, device="cuda", cache_size=20_000).fit(X, y)
    times.append(time.perf_counter() - begin)
print(json.dumps({"import_s": imported - start, "first_s": times[0], "third_s": times[2]}))
"""


def run_part(run: Run) -> None:
    """All sizes, each in new processes, from ordinary arrays in host memory."""
    for rows, columns in SIZES[:1] if run.quick else SIZES:
        found = []
        for _ in range(run.settings["repeats"]):
            command = [sys.executable, "-c", SCRIPT, str(rows), str(columns)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"The process of a first fit failed: {done.stderr[-2000:]}")
            found.append(json.loads(done.stdout.splitlines()[-1]))
        result = {key: median(times[key] for times in found) for key in found[0]}
        run.add({"rows": rows, "columns": columns} | result)
        say(f"{rows} x {columns}: the first fit takes {result['first_s']:.2f} s")


def report(data: Data) -> str:
    """One line for each size."""
    lines = [
        [f"{r['rows']:,} x {r['columns']}", *(number(r[key]) for key in ("import_s", "first_s", "third_s"))]
        for r in data["results"]
    ]
    text = f"""`LASVM(device="cuda").fit` in {data["settings"]["repeats"]} processes that have done nothing
    else: medians of the import of everlearn, of the first fit after it, and of the third. Goal: the first fit
    under one second after the import."""
    columns = ["rows", "import, s", "first fit, s", "third fit, s"]
    return "\n".join([*head("The first fit on a GPU", data), fill(text), markdown(columns, lines)])
