"""Streams at three shares of labels: ours beside River, scikit-learn and baselines, on the same rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

from _report import say
from _streams_development import CHOSEN_ON, development
from _streams_learners import FEW, OURS, READERS
from _streams_players import follow
from _streams_record import Kept
from _streams_report import report
from _streams_sets import REPORTED, Stream, reported

RATES = (0.01, 0.1, 1.0)
SEEDS = {0.01: 2, 0.1: 1, 1.0: 1}  # of ours; peers have one seed, for the time that they take
ROWS_WITH_ALL = 5_000  # at most, when all labels are given
QUICK_ROWS = 1_000


class Task(NamedTuple):
    stream: str
    rate: float
    reader: str
    seed: int

    @property
    def key(self) -> str:
        return f"{self.stream}|{self.rate:g}|{self.reader}|{self.seed}"


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


def run_scores(settings: dict[str, Any], about: dict[str, Any], out: Path, develop: bool = False) -> None:
    """Run what is missing, and write the report of everything there is."""
    kept = Kept(out, "development" if develop else "scores", about, settings)
    names = [n for n in (CHOSEN_ON if develop else REPORTED) if not settings["only"] or n in settings["only"]]
    todo = tasks(settings, names)
    if settings["again"]:
        anew = {task.key for task in todo}
        kept.drop(anew.__contains__)
    streams: dict[str, Stream] = {}
    for task in todo if not settings["report"] else []:
        if task.key in kept.read()["results"]:
            continue
        if task.stream not in streams:
            rows = QUICK_ROWS if settings["quick"] else settings["rows"]
            streams[task.stream] = (development if develop else reported)(task.stream, rows)
        found = measure(task, streams[task.stream])
        kept.add(task.key, found)
        say(f"{task.key}: MCC {100 * found['mcc']:.1f}, {found['labels']} labels, {found['cpu']:.1f} s")
    data = kept.read()
    kept.finish(report(data["machine"], settings, list(data["results"].values()), develop))
