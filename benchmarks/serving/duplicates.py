"""How often rows that are more similar than a threshold have the same label."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .rows import CHOSEN_ON, POOL, REPORTED, names, rows_of

NAMES = (*REPORTED, *CHOSEN_ON)
THRESHOLDS = (0.8, 0.9, 0.95, 0.98, 0.99)
N_ROWS = 300
WORDS = """{n} rows, each with the other rows whose kernel value is at least the threshold: how many others
there are in the mean, and the share of them with the same label. The last column is the share among all
pairs."""


def run_part(run: Run) -> None:
    """One set after the other."""
    for name in run.missing(run.chosen(names(run.settings), names(run.settings)[:1])):
        say(name)
        run.add({"set": name, **measure(name, run.settings["seed"])})


def measure(name: str, seed: int) -> dict[str, Any]:
    """Numbers of similar rows, and how many have the same label."""
    from everlearn.stream import NeverEndingLearner

    X, y = rows_of(name, seed)
    X, y = X[:POOL], y[:POOL]
    counts = {threshold: [0, 0] for threshold in THRESHOLDS}
    with NeverEndingLearner.open(":memory:", query_strategy=None) as learner:
        learner.step(X)
        for at in range(N_ROWS):
            for threshold, found in counts.items():
                near = [
                    int(other) for other in learner.near_rows(X[at : at + 1], threshold) if int(other) != at
                ]
                found[0] += len(near)
                found[1] += sum(y[other] == y[at] for other in near)
    shares = np.unique(y, return_counts=True)[1] / len(y)
    found = [{"threshold": t, "near": n, "same": same} for t, (n, same) in counts.items()]
    return {"found": found, "chance": float((shares**2).sum())}


def report(data: Data) -> str:
    """One line for each set."""
    title = "Near-duplicates" + ", for development" * data["settings"].get("develop", False)
    lines = [
        [
            r["set"],
            *(
                f"{f['near'] / N_ROWS:.1f}, {100 * f['same'] / f['near']:.1f} %" if f["near"] else "0"
                for f in r["found"]
            ),
            f"{100 * r['chance']:.0f} %",
        ]
        for r in data["results"]
    ]
    columns = ["set", *(f"from {t:g}" for t in THRESHOLDS), "all pairs"]
    return "\n\n".join([*head(title, data), fill(WORDS.format(n=N_ROWS)), markdown(columns, lines)]) + "\n"
