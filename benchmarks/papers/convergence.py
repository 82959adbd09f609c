"""Accuracy of statistical queries, random chunks and the nearest row as labels are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.run import Data, Run
from ..statq.tables import SIZES, rows_of
from .common import add, done, flat_report, timed

NAMES = tuple(SIZES)
STEPS = (1, 2, 3, 5, 8, 12, 16, 20, 24)


def _learner(kind: str, chunk: int, steps: int, seed: int) -> Any:
    from everlearn import IncrSVM, QuerySVM, StatQSVM

    common: dict[str, Any] = {"chunk_size": chunk, "random_state": seed}
    if kind == "QuerySVM":
        return QuerySVM(**common, max_iter=10 * steps, keep="support")
    return (IncrSVM if kind == "IncrSVM" else StatQSVM)(**common, max_iter=steps)


def run_part(run: Run) -> None:
    """The three learners, stopped after growing numbers of steps."""
    for name in run.chosen(NAMES):
        for seed in range(run.settings["seeds"]):
            X, y = rows_of(name, seed, 8_000)
            order = np.random.default_rng(seed).permutation(len(y))[: 2 * run.settings["rows"]]
            cut = int(0.9 * len(order))
            train, test = order[:cut], order[cut:]
            for kind in ("StatQSVM", "IncrSVM", "QuerySVM"):
                for steps in STEPS[:2] if run.quick else STEPS:
                    if done(run, name, kind, seed, steps=steps):
                        continue
                    model = _learner(kind, SIZES[name][0], steps, seed)
                    _, seconds = timed(model.fit, X[train], y[train])
                    accuracy = float(np.mean(model.predict(X[test]) == y[test]))
                    add(run, name, kind, seed, steps=steps, accuracy=accuracy, cpu=seconds)


def report(data: Data) -> str:
    """A table for each set."""
    text = "Linear SVMs; a step of QuerySVM is ten queries of one row, of the others a chunk."
    return flat_report(data, "Convergence", text, ("steps",))
