"""KOIL: with and without compensation, with small and large buffers, with few and many neighbors."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..harness.run import Data, Run
from ..koil.data import FOLDS, rows_of
from ..koil.runs import area
from .common import add, done, flat_report

NAMES = ("sonar", "australian", "heart", "ionosphere", "diabetes", "german", "segment", "svmguide2")
TUNED = Path(__file__).parents[1] / "results" / "koil-table.json"
MOST_ROWS = 2_310
BUDGETS = (5, 10, 20, 50, 100, 200)
NEIGHBORS = (1, 3, 5, 10, 20, 50)
REPLACEMENTS = ("rs", "fifo", "rs++", "fifo++")


@cache
def _parameters(name: str) -> tuple[float, float]:
    """Sigma and C that cross-validation chose for the table of this learner."""
    (found,) = (r for r in json.loads(TUNED.read_text())["results"] if r["set"] == name)
    chosen = found["learners"]["RS++"]["parameters"]
    return chosen["sigma"], chosen["C"]


def _auc(name: str, streams: Any, partition: int, seed: int, **options: Any) -> float:
    """Mean AUC over the folds of a partition."""
    from everlearn import KOIL

    sigma, C = _parameters(name)
    found = []
    for fold in range(1, FOLDS + 1):
        test = streams.folds[:, partition] == fold
        model = KOIL(C=C, gamma=0.5 / sigma**2, learning_rate=0.01, random_state=seed, n_jobs=1, **options)
        model.partial_fit(streams.X[~test], streams.y[~test], classes=[-1, 1])
        found.append(area(streams.y[test], model.decision_function(streams.X[test])))
    return float(np.mean(found))


def run_part(run: Run) -> None:
    """Three curves for each set; a seed is a partition into folds."""
    for name in run.chosen(NAMES, NAMES[:1]):
        streams = rows_of(name, MOST_ROWS)
        for seed in range(run.settings["seeds"]):
            for budget in BUDGETS[:2] if run.quick else BUDGETS:
                for replacement in REPLACEMENTS:
                    if not done(run, name, replacement, seed, budget=budget, neighbors=10):
                        auc = _auc(name, streams, seed, seed, budget=budget, replacement=replacement)
                        add(run, name, replacement, seed, budget=budget, neighbors=10, auc=auc)
            if not done(run, name, "no limit", seed):
                add(
                    run,
                    name,
                    "no limit",
                    seed,
                    neighbors=10,
                    auc=_auc(name, streams, seed, seed, budget=None),
                )
            for neighbors in NEIGHBORS[:2] if run.quick else NEIGHBORS:
                if neighbors != 10 and not done(run, name, "rs++", seed, neighbors=neighbors):
                    auc = _auc(name, streams, seed, seed, budget=100, n_neighbors=neighbors)
                    add(run, name, "rs++", seed, budget=100, neighbors=neighbors, auc=auc)


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        "AUC, means over five folds; rows from 0 to 1, one pass. budget: rows of each class, neighbors: k. "
        "Sigma and C are those that cross-validation chose for KOIL's table."
    )
    return flat_report(data, "KOIL: compensation, buffers, neighbors", text, ("budget", "neighbors"))
