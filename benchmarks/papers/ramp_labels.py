"""Accuracy against labels: all rows, one of five, or those in the ramp; ramp loss and hinge loss."""

from __future__ import annotations

from typing import Any

from ..harness.run import Data, Run
from .common import add, done, flat_report
from .ramp_sets import NAMES, draw, parameters

POINTS = (50, 100, 200, 300, 600)
WINDOW = 5
LOOPS = {
    "IDSVM, all": ("IDSVM", "All"),
    "IDSVM, one of 5": ("IDSVM", "RecentMargin"),
    "OnlineSVMR, all": ("OnlineSVMR", "All"),
    "OnlineSVMR, one of 5": ("OnlineSVMR", "RecentMargin"),
    "OnlineSVMR, in the ramp": ("OnlineSVMR", "RampRegion"),
}

__all__ = ["NAMES", "report", "run_part"]


def _accuracies(loop: str, name: str, rows: Any) -> dict[int, float]:
    """Accuracy when so many labels have been read, as far as the stream goes."""
    import everlearn
    from everlearn import query

    kind, rule_name = LOOPS[loop]
    found = parameters(name, "hinge" if kind == "IDSVM" else "ramp")
    model = getattr(everlearn, kind)(found["C"], gamma=found["gamma"], n_jobs=1)
    rule = query.RecentMargin(WINDOW) if rule_name == "RecentMargin" else getattr(query, rule_name)()
    labels, accuracies = 0, {}
    step = 2 * WINDOW
    for begin in range(0, len(rows.y), step):
        part = slice(begin, begin + step)
        labels += len(query.learn_stream(model, rule, rows.X[part], rows.y[part], classes=[-1, 1]))
        for point in POINTS:
            if labels >= point and point not in accuracies:
                accuracies[point] = float(model.score(rows.X_test, rows.y_test))
        if labels >= POINTS[-1]:
            break
    return accuracies


def run_part(run: Run) -> None:
    """All sets, loops and draws."""
    for name in run.chosen(NAMES, ("Gauss",)):
        for seed in range(run.settings["seeds"]):
            rows = draw(name, min(run.settings["rows"], 3_000), seed)
            for loop in LOOPS:
                if done(run, name, loop, seed):
                    continue
                for labels, accuracy in _accuracies(loop, name, rows).items():
                    add(run, name, loop, seed, labels=labels, accuracy=accuracy)


def report(data: Data) -> str:
    """A table for each set."""
    text = "Accuracy when so many labels had been asked for, in steps of ten rows of the stream."
    return flat_report(data, "Labels on a stream", text, ("labels",))
