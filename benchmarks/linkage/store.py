"""A store of records: records a second, memory, growth, and the cost of one new record, against its size."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run

SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_NEW, N_LABELS, BATCH, SAID_EVERY = 50, 60, 2_000, 50_000


def measure(n: int) -> dict[str, Any]:
    """Build a store of n records, close it, and add some more one by one: CPU seconds of this process."""
    from everlearn.linkage import NeverEndingLinker, b_cubed_scores

    from .people import blocking, people

    records, person = people(n + N_NEW)
    rows = [{"id": at, **records[at]} for at in range(n + N_NEW)]
    before = _megabytes()
    with tempfile.TemporaryDirectory() as folder:
        store, pairs = Path(folder) / "people.everlearn", 0
        start = time.process_time()
        with NeverEndingLinker.open(store, records.schema, blocking=blocking()) as linker:
            for first in range(0, n, BATCH):
                pairs += linker.add(rows[first : min(first + BATCH, n)]).pairs
                if first and first % SAID_EVERY == 0:
                    spent = time.process_time() - start
                    say(f"  {first:,} of {n:,}: {spent:.0f} CPU s, {_megabytes():,.0f} MB")
                if first == 0:
                    for _ in range(N_LABELS):
                        for question in linker.ask(1):
                            same = person[question.left_id] == person[question.right_id]
                            linker.tell(question.id, bool(same))
            built = time.process_time() - start
            times, compared = [], 0
            for row in rows[n:]:
                start = time.process_time()
                compared += linker.add([row]).pairs
                times.append(1000 * (time.process_time() - start))
            arrived = _megabytes()
            start = time.process_time()
            clusters = linker.link()
            linked = time.process_time() - start
            found = b_cubed_scores(person[list(clusters)], list(clusters.values()))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        start = time.process_time()
        with NeverEndingLinker.open(store):
            opened = time.process_time() - start
    return {
        "records": n,
        "pairs": pairs,
        "seconds": built,
        "median_ms": statistics.median(times),
        "largest_ms": max(times),
        "new_pairs": compared / N_NEW,
        "megabytes": arrived,
        "link_seconds": linked,
        "link_megabytes": _megabytes(),
        "b_cubed": 100 * found.f1,
        "megabytes_before": before,
        "file_megabytes": size / 2**20,
        "open_seconds": opened,
    }


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_part(run: Run) -> None:
    """Each size in a process of its own, so that its memory can be told."""
    sizes = SIZES[:1] if run.quick else SIZES[: run.settings["stores"]]
    for n in sizes:
        if run.find(records=n) is None:
            command = [sys.executable, "-m", __name__, str(n)]
            run.add(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))
            say(f"{n:,}: {run.results[-1]['seconds']:.0f} s, {run.results[-1]['median_ms']:.1f} ms")


def report(data: Data) -> str:
    """A line for each size."""
    lines = [
        [
            f"{result['records']:,}",
            f"{result['pairs'] / result['records']:.1f}",
            f"{result['seconds']:.0f}",
            f"{result['records'] / result['seconds']:,.0f}",
            f"{result['median_ms']:.1f}",
            f"{result['largest_ms']:.1f}",
            f"{result['new_pairs']:.1f}",
            f"{result['megabytes']:,.0f}",
            f"{result['megabytes_before']:,.0f}",
            f"{result['link_seconds']:.1f}",
            f"{result['link_megabytes']:,.0f}",
            f"{result['b_cubed']:.2f}",
            f"{result['file_megabytes']:,.0f}",
            f"{result['open_seconds']:.2f}",
        ]
        for result in data["results"]
    ]
    text = f"""Generated people with five fields; a fifth of the records repeat an earlier one, with errors. A
    store in a file is filled in batches of {BATCH:,}, with {N_LABELS} answers after the first; then {N_NEW}
    records are added one by one, each durable before the next: CPU milliseconds, median and most, and the
    pairs that one of them has. MB: the largest memory of the process, at the end and before the store was
    opened (it holds all generated records). "link s": CPU seconds of `link`, which computes all clusters
    again, then the largest memory, and B-cubed F1 of these clusters in percent."""
    columns = ["records", "pairs each", "CPU s", "records/s", "ms of a new one", "most", "its pairs", "MB"]
    columns += ["MB before", "link s", "link MB", "B-cubed F1", "file MB", "open s"]
    return "\n".join([*head("Record linkage: a store", data), fill(text), markdown(columns, lines)])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
