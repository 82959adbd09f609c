"""A long stream: rows a second and resident memory as it goes on, each learner in a process of its own."""

from __future__ import annotations

import gc
import multiprocessing
from time import process_time
from typing import Any

from _report import say
from _worker import _memory, limit_threads

MARKS = 10
DRAWN = 10_000  # rows are generated in blocks of so many, and then forgotten
UNBOUNDED_SHARE = 5  # a learner without a budget gets one fifth of the marks
LEARNERS = ("RBP", "NORMA", "KOIL rs++", "OPAUC", "KernelPerceptron")


def run_flat(chosen: dict[str, dict[str, Any]], rows: int) -> list[dict[str, Any]]:
    """What each learner has at every tenth of the rows."""
    context = multiprocessing.get_context("spawn")
    found = []
    for name in LEARNERS:
        unbounded = name == "KernelPerceptron"
        marks = MARKS // UNBOUNDED_SHARE if unbounded else MARKS
        with context.Pool(1, maxtasksperchild=1) as pool:
            points = pool.apply(_long_pass, (name, chosen[name], rows // MARKS, marks))
            pool.close()
            pool.join()  # leaves by itself; terminated, it would not tidy up
        found.append({"learner": name, "parameters": chosen[name], "points": points})
        rates = ", ".join(f"{point['rows_per_s']:,.0f}" for point in points)
        say(f"{rows // MARKS * marks:,} rows, {name}: {rates} rows/s")
    return found


def _long_pass(name: str, parameters: dict[str, Any], step: int, marks: int) -> list[dict[str, float]]:
    limit_threads(1)
    from threadpoolctl import threadpool_limits

    from _budget_learners import ours
    from _budget_run import BLOCK
    from _budget_streams import draw

    threadpool_limits(1)
    model = next(learner for learner in ours() if learner.name == name).make(0, **parameters)
    points = []
    for mark in range(marks):
        seconds = 0.0
        for begin in range(0, step, DRAWN):
            X, y = draw("agree", min(DRAWN, step - begin), [7, mark, begin])
            for row in range(0, len(y), BLOCK):
                block = slice(row, row + BLOCK)
                start = process_time()
                model.partial_fit(X[block], y[block], classes=(-1, 1))
                seconds += process_time() - start
            del X, y
        gc.collect()
        kept = getattr(model, "n_kept_", 0)
        points.append(
            {
                "rows": (mark + 1) * step,
                "rows_per_s": step / seconds,
                "memory_mb": _memory()["now"],
                "kept": int(kept),
            }
        )
    return points
