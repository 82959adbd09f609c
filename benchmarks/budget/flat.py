"""A long stream: rows a second and resident memory as it goes on, each learner in a process of its own."""

from __future__ import annotations

import gc
from time import process_time
from typing import Any

from ..harness.machine import memory, say
from ..harness.process import in_own_process
from ..harness.run import Run
from .data import draw
from .learners import ours
from .prequential import BLOCK, choose
from .report import flat_report as report
from .throughput import tuning_field

__all__ = ["NAMES", "report", "run_part"]
NAMES = ("agree",)

MARKS = 10
DRAWN = 10_000  # rows are generated in blocks of so many, and then forgotten
UNBOUNDED_SHARE = 5  # a learner without a budget gets one fifth of the marks
LEARNERS = ("RBP", "NORMA", "KOIL rs++", "OPAUC", "KernelPerceptron")


def run_part(run: Run) -> None:
    """What each learner has at every tenth of the rows."""
    rows, tuning = run.settings["long_rows"], tuning_field("agree", run.settings["tuning_rows"])
    known = {learner.name: learner for learner in ours()}
    for name in run.missing(LEARNERS, "learner"):
        chosen = choose(known[name], tuning, {})
        unbounded = name == "KernelPerceptron"
        marks = MARKS // UNBOUNDED_SHARE if unbounded else MARKS
        points = in_own_process(_long_pass, name, chosen, rows // MARKS, marks)
        run.add({"learner": name, "parameters": chosen, "points": points})
        rates = ", ".join(f"{point['rows_per_s']:,.0f}" for point in points)
        say(f"{rows // MARKS * marks:,} rows, {name}: {rates} rows/s")


def _long_pass(name: str, parameters: dict[str, Any], step: int, marks: int) -> list[dict[str, float]]:
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
                "memory_mb": memory()["now"],
                "kept": int(kept),
            }
        )
    return points
