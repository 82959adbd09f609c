"""CPU time of one new record in a never-ending linkage, against the number of records that are there.

Run it with ``python -m benchmarks.linkage.new_record 10000 100000``.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

N_NEW, N_LABELS, BATCH = 50, 60, 2_000


def measure(n: int, store: str) -> dict[str, Any]:
    """Milliseconds of a new record, when there are n."""
    from everlearn.linkage import NeverEndingLinker

    from .people import blocking, people

    records, person = people(n + N_NEW)
    rows = [{"id": at, **records[at]} for at in range(n + N_NEW)]
    start = time.process_time()
    with NeverEndingLinker.open(store, records.schema, blocking=blocking()) as linker:
        for first in range(0, n, BATCH):
            linker.add(rows[first : min(first + BATCH, n)])
            if first == 0:
                for _ in range(N_LABELS):
                    for question in linker.ask(1):
                        same = person[question.left_id] == person[question.right_id]
                        linker.tell(question.id, bool(same))
        built = time.process_time() - start
        times, pairs = [], 0
        for row in rows[n:]:
            start = time.process_time()
            pairs += linker.add([row]).pairs
            times.append(1000 * (time.process_time() - start))
    return {
        "records": n,
        "records a second": n / built,
        "median ms": statistics.median(times),
        "largest ms": max(times),
        "pairs": pairs / N_NEW,
    }


if __name__ == "__main__":
    for size in map(int, sys.argv[1:] or ["10000", "100000"]):
        with tempfile.TemporaryDirectory() as folder:
            print(measure(size, str(Path(folder) / "people.everlearn")), flush=True)
