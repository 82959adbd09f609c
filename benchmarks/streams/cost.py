"""What a batch costs: everlearn as it comes beside the same stream with a single LASVM, taking turns."""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .data import Stream, reported
from .learners import AS_IT_COMES, FEW, READERS
from .players import BATCH

SINGLE = "everlearn, LASVM(C=10) alone"
NAMES = ("elec2", "sea", "covtype", "segments", "waveform", "pendigits")
GOAL = 2.5
READING = """CPU milliseconds of `step` and `label` for a batch of {batch} rows, means over a whole stream.
Both learners go through the same stream batch by batch, taking turns, so that whatever else the machine does
slows both alike. *median*: over batches. The goal is a ratio of at most {goal:g}."""


def beside(stream: Stream, rate: float) -> dict[str, dict[str, float]]:
    """Both learners through one stream, a batch each in turn."""
    players = {n: READERS[n].make(rate, 0, stream.n_classes) for n in (SINGLE, AS_IT_COMES)}
    took: dict[str, list[float]] = {name: [] for name in players}
    for first in range(0, len(stream.y), BATCH):
        for name, player in players.items():
            start = process_time()
            _, wanted = player.step(stream.X[first : first + BATCH])
            if len(wanted):
                player.learn(wanted, stream.y[wanted])
            took[name].append(1000 * (process_time() - start))
    return {n: {"mean": float(np.mean(t)), "median": float(np.median(t))} for n, t in took.items()}


def report(data: Data) -> str:
    """Milliseconds by stream, and the ratio of both learners."""
    results = data["results"]
    parts = head("CPU time of a batch", data)
    parts.append(fill(READING.format(batch=BATCH, goal=GOAL)))
    for rate in dict.fromkeys(r["rate"] for r in results):
        here = [r for r in results if r["rate"] == rate]
        lines = []
        for r in here:
            one, ours = r["cpu_ms"][SINGLE], r["cpu_ms"][AS_IT_COMES]
            cells = [f"{one['mean']:.2f}", f"{ours['mean']:.2f}", f"{ours['mean'] / one['mean']:.2f}"]
            cells += [f"{one['median']:.2f}", f"{ours['median']:.2f}"]
            lines.append([r["stream"], *cells])
        ratios = [r["cpu_ms"][AS_IT_COMES]["mean"] / r["cpu_ms"][SINGLE]["mean"] for r in here]
        header = ["stream", "LASVM alone", "as it comes", "ratio", "LASVM, median", "as it comes, median"]
        parts += [f"## {100 * rate:g} % of the labels\n", markdown(header, lines)]
        within = sum(ratio <= GOAL for ratio in ratios)
        parts.append(
            fill(
                f"Geometric mean of the ratios {np.exp(np.mean(np.log(ratios))):.2f}, "
                f"largest {max(ratios):.2f}; at most {GOAL:g} on {within} of {len(ratios)} streams."
            )
        )
    return "\n".join(parts)


def run_part(run: Run) -> None:
    """All streams at both shares of labels."""
    for rate in FEW:
        for name in run.chosen(NAMES, ("elec2", "segments")):
            if run.find(stream=name, rate=rate):
                continue
            stream = reported(name, run.settings["rows"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = beside(stream, rate)
            run.add({"stream": name, "rate": rate, "rows": len(stream.y), "cpu_ms": found})
            ratio = found[AS_IT_COMES]["mean"] / found[SINGLE]["mean"]
            say(f"{name}, {rate:g}: {found[AS_IT_COMES]['mean']:.2f} ms, {ratio:.2f} times the single one")
