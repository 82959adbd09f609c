"""Undersampling as in the thesis: as many negatives for each positive as active learning has support vectors.

`imbalance table` undersamples to equal classes. Draws and seeds are those of that table, so that runs are
comparable one by one; the ratios are the ones that it recorded.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..harness.run import Data, Run
from ..imbalance.data import SETS, fewer
from .common import add, done, flat_report, rare_measures, timed

NAMES = ("corn", "crude", "grain", "interest", "money-fx", "ship", "trade", "wheat", "letter", "satimage")
RUNS = 10
TABLE = Path(__file__).parents[1] / "results" / "imbalance-table.json"


@cache
def ratio_of(name: str) -> float:
    """Negative support vectors for each positive one, of early-stopped active learning."""
    (found,) = (r for r in json.loads(TABLE.read_text())["results"] if r["set"] == name)
    active = found["learners"]["active"]
    return active["support_negatives"] / active["support_positives"]


def _learn(rows: Any, ratio: float, C: float, gamma: float, seed: int) -> Any:
    from everlearn import LASVM

    rare, many = np.flatnonzero(rows.y == 1), np.flatnonzero(rows.y == -1)
    kept = np.random.default_rng(seed).permutation(many)[: round(ratio * len(rare))]
    keep = np.concatenate([rare, kept])
    model = LASVM(C, gamma=gamma, epochs=3, cache_size=500, random_state=seed)
    return model.fit(rows.X[keep], rows.y[keep])


def run_part(run: Run) -> None:
    """All sets, as many runs as in the table."""
    for name in run.chosen(NAMES):
        for seed in range(1 if run.quick else RUNS):
            if done(run, name, "undersampled", seed):
                continue
            rare, ratio = SETS[name], ratio_of(name)
            rows = fewer(rare.draw(seed), seed) if run.quick else rare.draw(seed)
            model, seconds = timed(_learn, rows, ratio, rare.C, rare.gamma, seed)
            measures = rare_measures(model, rows.X_test, rows.y_test)
            add(run, name, "undersampled", seed, ratio=ratio, **measures, cpu=seconds)


def report(data: Data) -> str:
    """A table for each set."""
    text = (
        f"Means of {RUNS} runs, C and gamma of the thesis; ratio: negatives for each positive after "
        "undersampling, those of the support vectors of early-stopped active learning."
    )
    return flat_report(data, "Undersampling to the ratio of the support vectors", text)
