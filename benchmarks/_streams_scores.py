"""Five streams at three shares of labels: ours beside River's, on the same rows, by the same measures."""

from __future__ import annotations

import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from _report import say
from _streams_learners import CHOSEN, Reader, candidates
from _streams_players import follow
from _streams_record import StreamsRecord
from _streams_report import development_report, report
from _streams_sets import DEVELOPMENT, DEVELOPMENT_ROWS, MOST_ROWS, REPORTED, Stream, development, reported

RATES = (0.01, 0.1, 1.0)
SEEDS = {0.01: 2, 0.1: 1, 1.0: 1}  # which labels are drawn matters most where they are few
MEASURES = ("accuracy", "g_means", "auc", "mcc")


def several(reader: Reader, stream: Stream, rate: float, seeds: int) -> dict[str, Any]:
    """Means over seeds, the spread of the MCC, and CPU seconds of one pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [follow(reader.make, stream, rate, seed) for seed in range(seeds)]
    found: dict[str, Any] = {name: float(np.mean([run[name] for run in runs])) for name in MEASURES}
    found["cpu"] = float(np.median([run["cpu"] for run in runs]))
    found["labels"] = float(np.mean([run["labels"] for run in runs]))
    found["mcc_spread"] = float(np.std([run["mcc"] for run in runs]))
    return found | {"facts": runs[0]["facts"]}


def through(stream: Stream, rate: float, readers: dict[str, Reader], seeds: int) -> dict[str, dict[str, Any]]:
    """Everyone on a stream with a share of the labels."""
    found = {}
    for name, reader in readers.items():
        if rate in reader.rates:
            found[name] = several(reader, stream, rate, seeds) | {
                "family": reader.family,
                "asks": reader.asks if rate < 1 else "all",
            }
            last = found[name]
            say(f"{stream.name}, {rate:g}, {name}: MCC {last['mcc']:.3f}, {last['cpu']:.1f} s")
    return found


def one(task: tuple[str, float, bool]) -> dict[str, Any]:
    """Everyone on one stream with one share of the labels, in whichever process."""
    name, rate, quick = task
    stream = reported(name, 2_000 if quick else MOST_ROWS)
    seeds = 1 if quick else SEEDS[rate]
    entry = {"stream": name, "rate": rate, "seeds": seeds, "rows": len(stream.y)}
    entry |= {"features": stream.X.shape[1], "positives": float(stream.y.mean())}
    return entry | {"readers": through(stream, rate, {name: candidates()[name] for name in CHOSEN}, seeds)}


def run_scores(settings: dict[str, Any], about: dict[str, Any], out: Path) -> None:
    record = StreamsRecord(out, "scores", about, settings)
    names = [name for name in REPORTED if not settings["only"] or name in settings["only"]]
    tasks = [(name, rate, settings["quick"]) for name in names for rate in RATES]
    if settings["jobs"] == 1:
        for task in tasks:
            record.add(one(task))
    else:
        with multiprocessing.get_context("spawn").Pool(settings["jobs"]) as pool:
            for entry in pool.imap(one, tasks, chunksize=1):
                record.add(entry)
    record.finish(report(about, settings, record.data["results"]))


def run_development(settings: dict[str, Any], about: dict[str, Any], out: Path) -> None:
    record = StreamsRecord(out, "develop", about, settings)
    for name in DEVELOPMENT:
        if settings["only"] and name not in settings["only"]:
            continue
        stream = development(name, 2_000 if settings["quick"] else DEVELOPMENT_ROWS)
        for rate in (0.01, 0.1):
            entry = {"stream": name, "rate": rate, "rows": len(stream.y), "features": stream.X.shape[1]}
            record.add(entry | {"readers": through(stream, rate, candidates(), 1)})
    record.finish(development_report(about, settings, record.data["results"]))
