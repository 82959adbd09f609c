"""Asking about the nearest of 59 rows drawn, against the nearest of all: time and g-means.

Thesis, figure 4.3: "AL(random pool) is 4 to 10 times faster than AL(full search) with similar prediction
performance". Compared where each of them stops by itself, and at equal numbers of labels.
"""

from __future__ import annotations

from copy import deepcopy
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import Task
from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Run
from .data import SEEDS_PER_CLASS, active_learner, query_task, seed_labels, seeds_first

NAMES = ("grain", "ship", "usps")
STRATEGIES: dict[str, int | None] = {"59 drawn": 59, "full search": None}
LABELS = (250, 500, 1000, 2000)
QUICK_LABELS = (50, 100)
WINDOW, RTOL = 200, 0.02
SECONDS = {"grain": (272, 50), "ship": (142, 32), "usps": (126, 13)}  # figure 4.3: full search, random pool
GOAL_RATIO, GOAL_POINTS = 4.0, 0.5


def follow(task: Task, pool_size: int | None, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """One loop through all points and its saturation; CPU seconds are those of asking and learning alone."""
    from everlearn.metrics import g_means
    from everlearn.query.stopping import SupportSaturation

    X, y = seeds_first(task, seed)
    found: dict[str, Any] = {"seed": seed, "points": [], "saturation": None}
    stopping = SupportSaturation(WINDOW, RTOL)
    loop = active_learner(task, pool_size, stopping, seed, settings["cache"])
    seeds, spent = seed_labels(y), 0.0

    def point() -> dict[str, Any]:
        model = deepcopy(loop.estimator).finish()  # the loop goes on from the model as it was
        return {
            "labels": len(loop.history),
            "cpu": round(spent, 4),
            "g_means": float(g_means(task.y_test, model.predict(task.X_test))),
            "support": int(loop.history[-1]["n_support"]),
        }

    marks = [mark for mark in settings["labels"] if mark < len(y)]
    while marks or found["saturation"] is None:
        wanted = marks[0] - max(len(loop.history), len(seeds)) if marks else None
        start = process_time()
        loop.run(X, y, wanted, initial_labels=seeds)
        spent += process_time() - start
        if loop.stopping is not None and loop.stopping.verdict().stop:
            found["saturation"] = point() | {"reason": loop.stop_reason}
            loop.stopping = None
        elif len(loop.history) == len(y):
            found["saturation"] = found["saturation"] or point() | {"reason": loop.stop_reason}
            marks = []
        if marks and len(loop.history) == marks[0]:
            found["points"].append(point())
            marks = marks[1:]
    return found


def run_part(run: Run) -> None:
    """Each set, each seed, both strategies one after the other."""
    settings = run.settings
    run.note(labels=QUICK_LABELS if run.quick else LABELS, window=WINDOW, rtol=RTOL)
    for name in run.missing(run.chosen(NAMES)):
        runs: dict[str, list[dict[str, Any]]] = {rule: [] for rule in STRATEGIES}
        for seed in range(settings["runs"]):
            task = query_task(name, seed, settings["rows"])
            for rule, pool_size in STRATEGIES.items():
                runs[rule].append(follow(task, pool_size, seed, settings))
                end = runs[rule][-1]["saturation"]
                say(
                    f"{name}, run {seed + 1}, {rule}: saturated after {end['labels']} labels, "
                    f"{number(end['cpu'])} s"
                )
        run.add(task.describe() | {"runs": runs})


def _mean(points: list[dict[str, Any]], what: str) -> float:
    return float(np.mean([point[what] for point in points]))


def _line(title: str, drawn: list[dict[str, Any]], full: list[dict[str, Any]]) -> list[str]:
    """Means over the runs of two rules at the same place."""
    ratio = _mean(full, "cpu") / _mean(drawn, "cpu")
    g = [100 * _mean(points, "g_means") for points in (drawn, full)]
    spread = max(100 * abs(a["g_means"] - b["g_means"]) for a, b in zip(drawn, full, strict=True))
    return [
        title,
        *[f"{_mean(points, 'labels'):.0f}" for points in (drawn, full)],
        *[f"{_mean(points, 'support'):.0f}" for points in (drawn, full)],
        *[number(_mean(points, "cpu")) for points in (drawn, full)],
        f"{ratio:.1f}",
        "yes" if ratio >= GOAL_RATIO else "**no**",
        *[f"{value:.2f}" for value in g],
        f"{g[0] - g[1]:+.2f}",
        f"{spread:.2f}",
        "yes" if abs(g[0] - g[1]) <= GOAL_POINTS else "**no**",
    ]


def report(data: Data) -> str:
    """Labels, seconds and g-means of both strategies, and whether the goals are met."""
    settings = data["settings"]
    runs = settings["runs"]
    parts = [
        *head("Querying the nearest of 59 drawn rows, or of all", data),
        f"`ActiveLearner(LASVM, Margin(59))` against `Margin(None)`, {2 * SEEDS_PER_CLASS} seed rows, means "
        f"over {runs} run{'s' * (runs != 1)}. CPU seconds of asking\nand learning, without the finishing "
        "step that comes before g-means is measured. A full search copies the rows that\nare left for every "
        f"question. Saturated: the support vectors moved by at most {100 * RTOL:g} % over {WINDOW} questions."
        "\n",
    ]
    if settings["rows"]:
        parts.append(f"**At most {settings['rows']} rows of each set.**\n")
    header = [
        "where",
        "labels: 59",
        "full",
        "SVs: 59",
        "full",
        "CPU s: 59",
        "full",
        "ratio",
        f">= {GOAL_RATIO:g}",
        "g-means: 59",
        "full",
        "diff.",
        "largest of a run",
        f"<= {GOAL_POINTS:g}",
    ]
    for result in data["results"]:
        drawn, full = (result["runs"][rule] for rule in STRATEGIES)
        lines = [_line("saturated", *[[run["saturation"] for run in rule] for rule in (drawn, full)])]
        for place, mark in enumerate(run["labels"] for run in drawn[0]["points"]):
            at = [[run["points"][place] for run in rule] for rule in (drawn, full)]
            lines.append(_line(f"{mark} labels", *at))
        seconds = SECONDS.get(result["set"])
        thesis = (
            NONE
            if seconds is None
            else f"{seconds[0]} s against {seconds[1]} s, {seconds[0] / seconds[1]:.1f}"
        )
        parts += [
            f"## {result['title']} (C = {result['C']:g}, gamma = {result['gamma']:g}), "
            f"{result['rows']:,} rows\n",
            markdown(header, lines),
            f"The thesis until saturation: {thesis}.\n",
        ]
    return "\n".join(parts)
