"""Time and memory against the number of records, on generated people."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from typing import Any

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run

SIZES = (10_000, 100_000, 1_000_000)
N_LABELS = 300


def measure(n: int) -> dict[str, Any]:
    """CPU seconds of each step, and the largest memory, of this process."""
    import numpy as np

    from everlearn.linkage import Linkage, Pairs, PairwiseLinker, average_linkage, b_cubed_scores

    from .people import blocking, people

    records, person = people(n)
    seconds, start = {}, time.process_time()

    def lap(name: str) -> None:
        nonlocal start
        seconds[name] = time.process_time() - start
        start = time.process_time()

    linker = PairwiseLinker(blocking=blocking()).prepare(records)
    lap("records")
    pairs: Pairs = linker.candidates()
    lap("blocking")
    y = person[pairs.left] == person[pairs.right]
    random = np.random.default_rng(0)
    rows = np.concatenate([random.choice(np.flatnonzero(y == same), N_LABELS // 2) for same in (True, False)])
    start = time.process_time()
    linker.partial_fit(pairs[rows], y[rows])
    lap("words and labels")
    predictions = linker.predict_pairs(pairs)
    lap("features and scores")
    clusters = average_linkage(n, pairs.left, pairs.right, predictions.distance, eps=0.5)
    lap("clusters")
    found = Linkage(records, None, clusters, predictions)
    return {
        "records": n,
        "pairs": len(pairs),
        "seconds": seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "b_cubed": 100 * b_cubed_scores(person, found.clusters).f1,
    }


def run_part(run: Run) -> None:
    """Each size in a process of its own, so that its memory can be told."""
    sizes = SIZES[:1] if run.quick else SIZES[: run.settings["sizes"]]
    for n in sizes:
        if run.find(records=n) is not None:
            continue
        command = [sys.executable, "-m", __name__, str(n)]
        run.add(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        say(f"{n:,}: {sum(run.results[-1]['seconds'].values()):.0f} s")


def report(data: Data) -> str:
    """A line for each size."""
    results = data["results"]
    steps = list(results[0]["seconds"]) if results else []
    lines = []
    for result in results:
        total = sum(result["seconds"].values())
        lines.append(
            [
                f"{result['records']:,}",
                f"{result['pairs'] / result['records']:.1f}",
                *(f"{result['seconds'][step]:.1f}" for step in steps),
                f"{result['records'] / total:,.0f}",
                f"{result['pairs'] / total:,.0f}",
                f"{result['megabytes'] / 1024:.1f}",
                f"{result['b_cubed']:.2f}",
            ]
        )
    text = f"""Generated people with five fields; a fifth of the records repeat an earlier one, with errors.
    CPU seconds of each step with the default features, learner and clustering; {N_LABELS} labels. "words and
    labels": the tables of words, the closest record of each record, and learning. GB: the largest memory of
    the process."""
    columns = [
        "records",
        "pairs each",
        *(f"{s} s" for s in steps),
        "records/s",
        "pairs/s",
        "GB",
        "B-cubed F1",
    ]
    return "\n".join([*head("Record linkage: time and memory", data), fill(text), markdown(columns, lines)])


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
