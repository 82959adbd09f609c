"""Streams at three shares of labels: ours beside River, scikit-learn and baselines, on the same rows."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from ..harness.machine import say
from ..harness.run import Run
from .data import REPORTED, Stream, reported
from .development import CHOSEN_ON, development
from .learners import FEW, OURS, READERS
from .players import follow
from .report import report

__all__ = ["NAMES", "report", "run_part"]
NAMES = (*REPORTED, *CHOSEN_ON)
QUICK_NAMES = ("elec2", "segments", "sine", "letter")
RATES = (0.01, 0.1, 1.0)
SEEDS = {0.01: 2, 0.1: 1, 1.0: 1}  # of ours; peers have one seed, for the time that they take
ROWS_WITH_ALL = 5_000  # at most, when all labels are given


class Task(NamedTuple):
    """A learner on a stream at a share of labels."""

    stream: str
    rate: float
    reader: str
    seed: int


def _order(task: Task) -> tuple[bool, bool, bool, bool]:
    """Peers before ours, few labels before all, quick ones before slow ones; the slow ones of ours last."""
    reader = READERS[task.reader]
    ours = reader.family == OURS
    return ours, ours and reader.slow, task.rate not in FEW, reader.slow


def tasks(settings: dict[str, Any], streams: list[str]) -> list[Task]:
    """What is to be run, in this order."""
    who = settings["players"]
    readers = [n for n, r in READERS.items() if who == "all" or (r.family == OURS) == (who == "ours")]
    found = [
        Task(stream, rate, name, seed)
        for rate in settings["rates"] or RATES
        for stream in streams
        for name in readers
        if rate in READERS[name].rates
        for seed in range(1 if settings["quick"] or READERS[name].family != OURS else SEEDS[rate])
    ]
    return sorted(found, key=_order)


def measure(task: Task, stream: Stream) -> dict[str, Any]:
    if task.rate == 1:
        stream = stream.cut(ROWS_WITH_ALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = follow(READERS[task.reader].make, stream, task.rate, task.seed)
    facts = {"features": stream.X.shape[1], "classes": stream.n_classes}
    return found | facts | task._asdict() | {"family": READERS[task.reader].family}


def run_part(run: Run) -> None:
    """Run what is missing."""
    develop = run.settings["develop"]
    streams: dict[str, Stream] = {}
    for task in tasks(run.settings, run.chosen(CHOSEN_ON if develop else REPORTED, QUICK_NAMES)):
        if run.find(**task._asdict()):
            continue
        if task.stream not in streams:
            make = development if develop else reported
            streams[task.stream] = make(task.stream, run.settings["rows"])
        found = measure(task, streams[task.stream])
        run.add(found)
        say(
            f"{task.stream}, {task.rate:g}, {task.reader}, seed {task.seed}: MCC {100 * found['mcc']:.1f}, "
            f"{found['labels']} labels, {found['cpu']:.1f} s"
        )
