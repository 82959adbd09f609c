"""One row a call: calls a second beside the goals and River's own learners, and `NeverEndingLearner.step`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median, quantiles
from time import perf_counter, process_time
from typing import Any

from everlearn import NORMA, RBP, BudgetKernelPerceptron, Forgetron, NeverEndingLearner, Projectron

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown
from ..harness.run import Data, Run
from .data import draw

__all__ = ["NAMES", "report", "run_part"]
NAMES = ("agree",)
BUDGET, GAMMA = 100, 0.05
WARM = 1_000  # rows learned before the clock runs: the budget is full by then
GOALS = {
    "partial_fit": 30_000,
    "predict": 60_000,
    "learn_one": 25_000,
    "predict_one": 60_000,
    "step, in memory": 2_500,
    "step, SQLite": 1_000,
}
Calls = Iterable[tuple[Any, ...]]


def run_part(run: Run) -> None:
    """Calls a second of CPU time; for `step` also the wall-clock time of single calls."""
    n, repeats = run.settings["singles"], run.settings["repeats"]
    for name in run.missing(NAMES, "stream"):
        X, y = draw(name, WARM + n, [0, 3])
        found = [*_learners(X, y, repeats), *_river(X, y, repeats), *_steps(X, y, repeats)]
        run.add({"stream": name, "calls": found})
        for line in found:
            say(f"{line['learner']}, {line['call']}: {line['rate']:,.0f} calls/s")


def _learners(X: Any, y: Any, repeats: int) -> list[dict[str, Any]]:
    lines = []
    rows = [(X[at : at + 1],) for at in range(WARM, len(y))]
    labeled = [(X[at : at + 1], y[at : at + 1]) for at in range(WARM, len(y))]
    for kind in (RBP, BudgetKernelPerceptron, Forgetron, NORMA, Projectron):
        model = kind(budget=BUDGET, gamma=GAMMA, random_state=0)
        model.partial_fit(X[:WARM], y[:WARM], classes=(-1, 1))
        for call, calls in (("partial_fit", labeled), ("predict", rows)):
            lines.append(_line(kind.__name__, call, getattr(model, call), calls, repeats))
    return lines


def _river(X: Any, y: Any, repeats: int) -> list[dict[str, Any]]:
    if not find_spec("river"):
        say("River is not installed: its lines are left out.")
        return []
    from river import linear_model

    from everlearn.compat.river import RiverClassifier

    dicts = [{f"x{place}": value for place, value in enumerate(row)} for row in X.tolist()]
    labels = y.tolist()
    rows = [(row,) for row in dicts[WARM:]]
    labeled = list(zip(dicts[WARM:], labels[WARM:], strict=True))
    models = {
        "RiverClassifier(RBP)": RiverClassifier(RBP(budget=BUDGET, gamma=GAMMA, random_state=0)),
        'RiverClassifier(RBP, calibration="none")': RiverClassifier(
            RBP(budget=BUDGET, gamma=GAMMA, random_state=0), calibration="none"
        ),
        "River: PAClassifier": linear_model.PAClassifier(),
        "River: LogisticRegression": linear_model.LogisticRegression(),
    }
    lines = []
    for name, model in models.items():
        for row, label in zip(dicts[:WARM], labels[:WARM], strict=True):
            model.learn_one(row, label)
        lines.append(_line(name, "learn_one", model.learn_one, labeled, repeats))
        lines.append(_line(name, "predict_one", model.predict_one, rows, repeats))
    return lines


def _steps(X: Any, y: Any, repeats: int) -> list[dict[str, Any]]:
    """Labeled rows in memory, and in a SQLite file: durable when the call returns."""
    lines = []
    labeled = [(X[at : at + 1], y[at : at + 1]) for at in range(WARM, len(y))]
    for call in ("step, in memory", "step, SQLite"):
        with tempfile.TemporaryDirectory() as folder:
            store = ":memory:" if call == "step, in memory" else Path(folder) / "calls.everlearn"
            learner = RBP(budget=BUDGET, gamma=GAMMA, random_state=0)
            with NeverEndingLearner.open(store, learner, classes=[-1, 1], random_state=0) as model:
                model.step(X[:WARM], y[:WARM])
                lines.append(_line("NeverEndingLearner(RBP)", call, model.step, labeled, repeats, True))
    return lines


def _line(
    learner: str, call: str, method: Callable[..., Any], calls: Calls, repeats: int, waits: bool = False
) -> dict[str, Any]:
    """The calls in as many parts as there are repeats: the median of their rates."""
    every = list(calls)
    size = max(1, len(every) // repeats)
    rates, waiting = [], []
    for begin in range(0, size * repeats, size):
        part = every[begin : begin + size]
        start = process_time()
        for arguments in part:
            at = perf_counter()
            method(*arguments)
            waiting.append(perf_counter() - at)
        rates.append(len(part) / (process_time() - start))
    found = {"learner": learner, "call": call, "rate": median(rates)}
    if waits:
        found |= {"mean_ms": 1e3 * mean(waiting), "p99_ms": 1e3 * quantiles(waiting, n=100)[-1]}
    return found


def report(data: Data) -> str:
    """One table: calls a second, the goal, and how long a step takes."""
    parts = head("One row a call", data)
    for result in data["results"]:
        lines = [
            [
                line["learner"],
                line["call"],
                f"{line['rate']:,.0f}",
                NONE if line["learner"].startswith("River:") else f"{GOALS[line['call']]:,}",
                f"{line['mean_ms']:.2f} / {line['p99_ms']:.2f}" if "mean_ms" in line else NONE,
            ]
            for line in result["calls"]
        ]
        parts.append(markdown(["learner", "call", "calls/s", "goal", "mean / p99, ms"], lines))
    return "\n".join([*parts, fill(_EXPLAINED)])


_EXPLAINED = f"""
Calls a second of CPU time, one thread, medians of the repeats; a call has one row of 20 features, and budgets
of {BUDGET} rows are full. Mean and 99th percentile are wall-clock times of single calls. A step in a SQLite
file is durable when it returns: a commit in WAL mode with synchronous=FULL, which waits for the disk. River's
own learners are linear.
"""
