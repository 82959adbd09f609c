"""Active selection of 59 drawn rows against random selection, where one class is rare."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.data import Task, load_task
from ..harness.run import Data, Run
from ..imbalance.data import waveform
from ..query_strategies.data import query_task
from .common import add, done, flat_report, rare_measures

POOL_SIZE = 59
SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
WAVES, ADULTS = (2, 4, 8, 16, 32), (3, 10, 20, 30)
NAMES = (*(f"waveform-{r}" for r in WAVES), *(f"adult-{r}" for r in ADULTS), "interest", "satimage", "ship")
QUICK_NAMES = ("waveform-8", "satimage")


def _waveform(ratio: int, seed: int) -> Task:
    rows = waveform(ratio, seed)
    name = f"waveform-{ratio}"
    return Task(name, name, 1, 0.05, rows.X, rows.y, rows.X_test, rows.y_test)


def _adult(ratio: int, rows: int, seed: int) -> Task:
    task = load_task("a9a", 2 * rows)
    few = np.flatnonzero(task.y_train == 1)
    many = np.flatnonzero(task.y_train == -1)[:rows]
    few = np.random.default_rng(seed).permutation(few)[: len(many) // ratio]
    keep = np.concatenate([many, few])
    name = f"adult-{ratio}"
    return Task(
        name, name, task.C, task.gamma, task.X_train[keep], task.y_train[keep], task.X_test, task.y_test
    )


def rare_task(name: str, rows: int, seed: int) -> Task:
    """A set by its name; the number behind is that of negatives for each positive."""
    kind, _, ratio = name.partition("-")
    if kind == "waveform":
        return _waveform(int(ratio), seed).head(rows)
    return _adult(int(ratio), rows, seed) if kind == "adult" else query_task(name, seed, rows)


def _model(task: Task, share: float, active: bool, seed: int) -> Any:
    from everlearn import LASVM

    count = max(50, int(share * len(task.y_train)))
    options: dict[str, Any] = {"finishing": "kept", "cache_size": 500, "random_state": seed, "n_jobs": 1}
    if active:
        options |= {"selection": "active", "pool_size": POOL_SIZE, "max_iter": count}
        return LASVM(task.C, gamma=task.gamma, **options).fit(task.X_train, task.y_train)
    order = np.random.default_rng(seed).permutation(len(task.y_train))
    first = [order[task.y_train[order] == label][0] for label in (-1, 1)]
    rows = np.concatenate([first, np.setdiff1d(order[:count], first)])
    return LASVM(task.C, gamma=task.gamma, **options).fit(task.X_train[rows], task.y_train[rows])


def run_part(run: Run) -> None:
    """All sets, both ways, at growing shares of the rows."""
    for name in run.chosen(NAMES, QUICK_NAMES):
        for seed in range(run.settings["seeds"]):
            task = rare_task(name, run.settings["rows"], seed)
            for share in SHARES:
                for learner in ("random", "active"):
                    if done(run, name, learner, seed, share=share):
                        continue
                    model = _model(task, share, learner == "active", seed)
                    add(
                        run,
                        name,
                        learner,
                        seed,
                        share=share,
                        **rare_measures(model, task.X_test, task.y_test),
                    )


def report(data: Data) -> str:
    """A table for each set."""
    text = "`LASVM(selection='active', pool_size=59)` against rows at random, then the finishing step."
    return flat_report(data, "A rare class, learned actively", text, ("share",))
