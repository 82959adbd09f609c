"""Mitra, Murthy and Pal: statistical queries."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np

from ..results import Results
from ..verdict import Check, checks_of
from ..words import count, num

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


def _curves(results: Results, learner: str) -> dict[str, list[list[float]]]:
    """For each set and draw the accuracies by steps."""
    rows = results.data(CURVES)["results"]
    found: dict[str, list[list[float]]] = {}
    for name in dict.fromkeys(r["set"] for r in rows):
        mine = [r for r in rows if r["set"] == name and r["learner"] == learner]
        seeds = dict.fromkeys(r["seed"] for r in mine)
        found[name] = [[r["accuracy"] for r in mine if r["seed"] == seed] for seed in seeds]
    return found


@checks_of("mitra-fig-1")
def convergence(results: Results) -> Sequence[Check]:
    curves = {who: _curves(results, who) for who in ("StatQSVM", "IncrSVM", "QuerySVM")}
    early = {
        who: {n: fmean(c[2] for c in runs) for n, runs in found.items()} for who, found in curves.items()
    }
    swing = {
        who: {n: fmean(float(np.abs(np.diff(c[2:])).mean()) for c in runs) for n, runs in found.items()}
        for who, found in curves.items()
    }
    names = list(early["StatQSVM"])
    return [
        count(
            "After three steps statistical queries are more accurate than random chunks",
            {n: early["StatQSVM"][n] > early["IncrSVM"][n] for n in names},
            detail=lambda n: f"({100 * early['StatQSVM'][n]:.1f} and {100 * early['IncrSVM'][n]:.1f} %)",
        ),
        count(
            "From then on they change less from step to step than querying the nearest row",
            {n: swing["StatQSVM"][n] < swing["QuerySVM"][n] for n in names},
            detail=lambda n: (
                f"({100 * swing['StatQSVM'][n]:.2f} and {100 * swing['QuerySVM'][n]:.2f} points)"
            ),
        ),
    ]


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
