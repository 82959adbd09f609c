"""Batch by batch: does a summary of the past label a batch as everything kept would, and at what cost?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.run import Run
from .batches import AllKept, Batches, LabelsAlone, Streaming, cut_up, follow, rows_of
from .exemplars import run_exemplars
from .streams_report import report

__all__ = ["NAMES", "report", "run_part"]
# rows of a batch, batches, labels in a batch
STREAMS = {"newsgroups": (400, 20, 8), "reuters": (500, 20, 10), "kdd-99": (500, 20, 10)}
MOONS = "moons"
NAMES = (*STREAMS, MOONS)
LEARNERS: dict[str, Callable[[float], Any]] = {
    "labels alone": LabelsAlone,
    "all rows kept": AllKept,
    "strict": lambda share: Streaming(share, max_disagreement=0.0),
    "tolerant": lambda share: Streaming(share),
    "tolerant, max_labeled_per_class 20": lambda share: Streaming(share, max_labeled_per_class=20),
    "tolerant, rho 1": lambda share: Streaming(share, rho=1.0),
    "online": lambda share: Streaming(share, mode="online"),
}


def at_once(batches: Batches) -> float:
    """All rows together, labeled once at the end: accuracy on the rows without a label."""
    learner = AllKept(batches.share)
    for X, known in zip(batches.rows[:-1], batches.known[:-1], strict=True):
        learner.X.append(X)
        learner.y.append(known)
    learner.step(batches.rows[-1], batches.known[-1])
    truth, known = np.concatenate(batches.truth), np.concatenate(batches.known)
    return float(np.mean(np.asarray(learner.model.transduction_)[np.isnan(known)] == truth[np.isnan(known)]))


def run_stream(name: str, size: int, batches: int, labels: int) -> dict[str, Any]:
    stream = cut_up(*rows_of(name, 0), size, batches, labels, seed=0)
    result: dict[str, Any] = {"stream": name, "rows": size, "batches": len(stream.rows), "labels": labels}
    result |= {"share": stream.share, "features": stream.rows[0].shape[1], "learners": {}}
    for who, make in LEARNERS.items():
        learner = make(stream.share)
        found: dict[str, Any] = follow(learner, stream)
        if isinstance(learner, Streaming):
            found["history"] = learner.history()
        result["learners"][who] = found
        say(f"{name}, {who}: {100 * np.mean(found['accuracy'][1:]):.1f} %, {sum(found['cpu']):.1f} s")
    result["at_once"] = at_once(stream)
    return result


def run_part(run: Run) -> None:
    """One stream after the other."""
    for name in run.missing(run.chosen(NAMES, ("newsgroups", MOONS)), "stream"):
        if name == MOONS:
            run.add({"stream": MOONS, "moons": run_exemplars(run.quick)})
        else:
            size, batches, labels = STREAMS[name]
            run.add(run_stream(name, size, 4 if run.quick else batches, labels))
