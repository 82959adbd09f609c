"""Mitra, Murthy and Pal: statistical queries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np

from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num, points

TABLES, CURVES = "statq-tables", "papers-convergence"
STATQ, OTHERS = "StatQ robust", ("Incr", "Query, keep sv")


def _by_set(results: Results, learner: str, metric: str) -> dict[str, float]:
    return results.pick(TABLES, metric, learner=learner).by("set")


@checks_of("mitra-table-1")
def table(results: Results) -> Sequence[Check]:
    accuracy = {who: _by_set(results, who, "accuracy") for who in (STATQ, *OTHERS, "Batch")}
    time = {who: _by_set(results, who, "seconds") for who in (STATQ, *OTHERS)}
    labels = {who: _by_set(results, who, "labels") for who in (STATQ, *OTHERS)}
    names = list(accuracy[STATQ])
    return [
        count(
            "Its accuracy is first or second of the three incremental methods",
            {n: sum(accuracy[w][n] > accuracy[STATQ][n] for w in OTHERS) <= 1 for n in names},
        ),
        count(
            "It is within two points of a batch SVM",
            {n: accuracy[STATQ][n] > accuracy["Batch"][n] - 2 for n in names},
            detail=lambda n: f"({accuracy[STATQ][n]:.1f} and {accuracy['Batch'][n]:.1f} %)",
        ),
        count(
            "It takes the least time",
            {n: time[STATQ][n] <= min(time[w][n] for w in OTHERS) for n in names},
            detail=lambda n: f"({num(time[STATQ][n])} s, the best {num(min(time[w][n] for w in OTHERS))} s)",
        ),
        count(
            "It reads the fewest labels",
            {n: labels[STATQ][n] <= min(labels[w][n] for w in OTHERS) for n in names},
            detail=lambda n: (
                f"({num(labels[STATQ][n])}, the fewest {num(min(labels[w][n] for w in OTHERS))})"
            ),
        ),
    ]


def _curves(results: Results, learner: str) -> dict[str, list[tuple[float, ...]]]:
    """For each set the mean accuracy of all draws, step by step, and the CPU seconds to get there."""
    rows = [r for r in results.data(CURVES)["results"] if r["learner"] == learner]
    found: dict[str, list[tuple[float, ...]]] = {}
    for name in dict.fromkeys(r["set"] for r in rows):
        steps = dict.fromkeys(r["steps"] for r in rows if r["set"] == name)
        at = ([r for r in rows if (r["set"], r["steps"]) == (name, step)] for step in steps)
        found[name] = [tuple(fmean(r[key] for r in mine) for key in ("accuracy", "cpu")) for mine in at]
    return found


def _falls(results: Results, learner: str) -> dict[str, float]:
    """By how much the curve of a draw falls from its best to its end, in the mean."""
    rows = [r for r in results.data(CURVES)["results"] if r["learner"] == learner]
    found: dict[str, list[float]] = {}
    for name, seed in dict.fromkeys((r["set"], r["seed"]) for r in rows):
        curve = [r["accuracy"] for r in rows if (r["set"], r["seed"]) == (name, seed)]
        found.setdefault(name, []).append(max(curve) - curve[-1])
    return {name: fmean(values) for name, values in found.items()}


@checks_of("mitra-fig-1")
def convergence(results: Results) -> Sequence[Check]:
    ours, chunks, nearest = (_curves(results, who) for who in ("StatQSVM", "IncrSVM", "QuerySVM"))
    falls = {who: _falls(results, who) for who in ("StatQSVM", "QuerySVM")}
    found = []
    for other, curves in (("random chunks", chunks), ("querying the nearest row", nearest)):
        leads: dict[str, float] = {}
        for name, curve in ours.items():
            theirs = np.array(curves[name])
            at = np.interp([time for _, time in curve], theirs[:, 1], theirs[:, 0])
            leads[name] = fmean(accuracy - best for (accuracy, _), best in zip(curve, at, strict=True))
        found.append(
            count(
                f"In the mean of its steps it is above {other} after as much time",
                {name: lead > 0 for name, lead in leads.items()},
                detail=lambda name, leads=leads: f"({points(leads[name])})",
            )
        )
    falling = {name: falls["StatQSVM"][name] < falls["QuerySVM"][name] for name in ours}
    found.append(
        count(
            "A curve falls less from its best to its end than with the nearest row",
            falling,
            detail=lambda name: (
                f"({100 * falls['StatQSVM'][name]:.2f} and {100 * falls['QuerySVM'][name]:.2f} points)"
            ),
        )
    )
    return found


@checks_of("mitra-fig-2")
def confidence(results: Results) -> Sequence[Check]:
    rows = results.pick(TABLES, "correlation", learner=STATQ)
    by_set: dict[str, list[float]] = {}
    for row in rows:
        by_set.setdefault(row.set, []).append(row.value)
    middle = {name: median(values) for name, values in by_set.items()}
    shown = ", ".join(f"{name} {value:.2f}" for name, value in middle.items())
    return [
        count(
            f"The median correlation of c and D is below -0.7 ({shown})",
            {name: value < -0.7 for name, value in middle.items()},
        )
    ]
