"""Fit and predict with one thread and with two, interleaved, in wall-clock time."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.datasets import make_banana

from ..harness.data import SETS, Task, contiguous, load_task
from ..harness.machine import say
from ..harness.peers import PEERS
from ..harness.report import fill, head, markdown, middle, number
from ..harness.run import Data, Run
from ..harness.worker import PeerFailed, Worker

GENERATED = "banana_made"  # rows of two features: kernel values cost next to nothing
NAMES = ("mnist8", "covtype", "mnist10", "letter26", "letter", "a9a", "ijcnn1", GENERATED)
THREADS = (1, 2)
GOAL, LEAST = 1.7, 1.0
FIT_GOALS = {name: GOAL if name in ("mnist8", "covtype", "mnist10", "letter26") else LEAST for name in NAMES}
PREDICT_GOALS = {name: LEAST if name == GENERATED else GOAL for name in NAMES}
MADE_ROWS = 20_000


def _task(name: str, rows: int | None) -> Task:
    if name != GENERATED:
        return load_task(name, rows)
    n = rows or MADE_ROWS
    X, y = make_banana(2 * n, random_state=0)
    labels = np.where(y == y.max(), 1, -1)
    X = contiguous(X)
    return Task(name, "banana, made", 1, SETS["banana"].gamma, X[:n], labels[:n], X[n:], labels[n:])


def _measure(task: Task, settings: dict[str, Any]) -> dict[str, Any]:
    """One process for each number of threads; fits and predictions take turns."""
    found: dict[str, Any] = {str(n): {"fits": [], "predictions": [], "reason": None} for n in THREADS}
    labels: dict[int, np.ndarray] = {}
    workers: dict[int, Worker] = {}
    with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as folder:
        task.save(Path(folder))
        try:
            for n in THREADS:
                workers[n] = Worker(Path(folder), PEERS["ours"], n, settings["cache"]).ready()
            for _ in range(settings["repeats"]):
                if sum(m["seconds"] for e in found.values() for m in e["fits"]) > settings["budget"]:
                    break
                for n, worker in workers.items():
                    fit = worker.fit(settings["limit"])
                    fit.pop("facts")
                    found[str(n)]["fits"].append(fit)
                    answer = worker.ask("predict")
                    answer.pop("facts")
                    labels[n] = answer.pop("labels")
                    found[str(n)]["predictions"].append(answer)
                    say(f"{task.title}, {n} threads: {fit['seconds']:.3g} s")
        except PeerFailed as error:
            found[str(n)]["reason"] = str(error)
        finally:
            for worker in workers.values():
                worker.stop()
    same = len(labels) == len(THREADS) and all(np.array_equal(labels[n], labels[1]) for n in THREADS)
    return {"threads": found, "same_predictions": same}


def run_part(run: Run) -> None:
    """Measure every set."""
    for name in run.missing(run.chosen(NAMES, quick=("letter26", GENERATED))):
        task = _task(name, run.settings["rows"])
        run.add(task.describe() | _measure(task, run.settings))


def _ratio(result: dict[str, Any], what: str, unit: str, over: str = "1", under: str = "2") -> float | None:
    upper, lower = (middle(result["threads"][n], what, unit) for n in (over, under))
    return upper / lower if upper and lower else None


def _ratio_of_own(result: dict[str, Any], what: str) -> float | None:
    """CPU seconds of one thread, over those of the calling thread where there are two."""
    one, own = middle(result["threads"]["1"], what, "cpu"), middle(result["threads"]["2"], what, "own_cpu")
    return one / own if one and own else None


def report(data: Data) -> str:
    """One line per set."""
    lines, remarks = [], []
    for result in data["results"]:
        name, threads = result["set"], result["threads"]
        lines.append(
            [
                result["title"],
                str(result["rows"]),
                str(result["classes"]),
                *[number(middle(threads[n])) for n in ("1", "2")],
                number(_ratio(result, "fits", "seconds")),
                number(FIT_GOALS[name]),
                number(_ratio_of_own(result, "fits")),
                number(_ratio(result, "fits", "cpu", "2", "1")),
                number(_ratio(result, "predictions", "seconds")),
                number(PREDICT_GOALS[name]),
                number(_ratio_of_own(result, "predictions")),
                "yes" if result["same_predictions"] else "NO",
            ]
        )
        remarks += [
            f"- {result['title']}, {n} threads: {e['reason']}" for n, e in threads.items() if e["reason"]
        ]
    header = ["set", "rows", "classes", "fit 1 s", "fit 2 s", "fit 1/2", "goal", "own", "CPU 2/1"]
    header += ["predict 1/2", "goal", "own", "same"]
    about = data["machine"] | {"threads": "1 and 2"}
    parts = head("LASVM with one thread and with two", data | {"machine": about})
    return "\n".join([*parts, markdown(header, lines), fill(_EXPLAINED), *remarks])


_EXPLAINED = """
Wall-clock seconds, medians of fits that take turns, n_jobs=1 and n_jobs=2; 1/2 is how many times as fast two
threads are, which means something only on two cores that nobody else uses. Own: the CPU seconds of a fit with
one thread, over those of the calling thread with two. That would be left of the wall-clock ratio if no
thread ever waited, for a core or for the other one. CPU 2/1: the work that two threads add. Same: whether the
predictions are equal.
"""
