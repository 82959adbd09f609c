"""Exact fits on the CPU of the same machine by SVC, scikit-learn-intelex and LASVM, several at once."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..harness.data import Task, load_task
from ..harness.machine import say
from ..harness.peers import PEERS
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run
from ..harness.worker import PeerFailed, Worker

NAMES = ("mnist10_all", "mnist8", "covtype", "a9a", "ijcnn1", "usps")  # the longest first
COMPARED = ("svc", "intelex", "ours")
CACHE = 2_000  # MB, as large as SVC takes
FREE = 2  # cores left to other work


def _measure(task: Task, folder: Path, peer: str, limit: float) -> dict[str, Any]:
    """One fit and one prediction, in a process with one thread."""
    result = task.describe() | {"peer": peer, "label": PEERS[peer].label}
    worker = Worker(folder, PEERS[peer], threads=1, cache=CACHE)
    try:
        fitted = worker.ready().fit(limit)
        labels = worker.ask("predict")["labels"]
        result |= {"seconds": fitted["seconds"], "cpu": fitted["cpu"]} | {
            key: fitted["facts"][key] for key in ("n_sv", "note") if key in fitted["facts"]
        }
        result["error"] = float(np.mean(np.asarray(labels) != task.y_test))
    except PeerFailed as problem:
        result |= {"reason": str(problem), "stopped_after": problem.seconds}
    finally:
        worker.stop()
    say(f"{task.title}: {PEERS[peer].label} {result.get('seconds', result.get('reason'))}")
    return result


def run_part(run: Run) -> None:
    """All data sets and peers; results are kept in the order in which they end."""
    names = run.chosen(NAMES, quick=("usps",))
    with (
        tempfile.TemporaryDirectory() as scratch,
        ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - FREE)) as pool,
    ):
        waiting = []
        for name in names:
            task = load_task(name, run.settings["rows"])
            task.save(Path(scratch, name))
            waiting += [
                pool.submit(_measure, task, Path(scratch, name), peer, run.settings["limit"])
                for peer in COMPARED
                if run.find(set=name, peer=peer) is None
            ]
        for done in waiting:
            run.add(done.result())


def report(data: Data) -> str:
    """One line for each data set."""
    lines = []
    for name in NAMES:
        found = {r["peer"]: r for r in data["results"] if r["set"] == name}
        if not found:
            continue
        one = next(iter(found.values()))
        seconds = [_seconds(found.get(peer)) for peer in COMPARED]
        errors = [
            f"{100 * found[peer]['error']:.2f}" if "error" in found.get(peer, {}) else NONE
            for peer in COMPARED
        ]
        lines.append([one["title"], f"{one['rows']:,} x {one['features']}", *seconds, *errors])
    labels = [PEERS[peer].label for peer in COMPARED]
    columns = ["", "rows", *[f"{x}, s" for x in labels], *[f"{x}: error %" for x in labels]]
    text = f"""Wall clock of one fit on one thread of the CPU, each in a process of its own; up to
    {max(1, data["machine"]["cores"] - FREE)} at once. A fit is stopped after
    {data["settings"]["limit"]:.0f} s."""
    problems = [
        fill(f"{r['label']} on {r['title']}: {r['reason']}.") for r in data["results"] if "reason" in r
    ]
    return "\n".join(
        [*head("Exact fits on the CPU beside a GPU", data), fill(text), markdown(columns, lines), *problems]
    )


def _seconds(result: dict[str, Any] | None) -> str:
    if result is None or not ("seconds" in result or result.get("stopped_after")):
        return NONE
    return number(result["seconds"]) if "seconds" in result else f">{result['stopped_after']:.0f}"
