"""What a row costs as the stream grows, and what happens when all labels turn round in the middle of it."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import standardized
from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Run
from .peers import COLORS

COST_ROWS, COST_BLOCK = 50_000, 1_000
TURN_ROWS, TURN_BLOCK = 10_000, 250
NOISE = 0.15  # of the checkerboard whose rows are counted
TURN_NOISE = 0.05
PARAMETERS = {"C": 10.0, "gamma": 4.0}
LEARNERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "LASVM": ("LASVM", {}, "ours"),
    "LASVMG": ("LASVMG", {}, "g"),
    "LASVMNC": ("LASVMNC", {}, "nc"),
    "LASVMI": ("LASVMI", {}, "i"),
    "OnlineSVMR, all kept": ("OnlineSVMR", {}, "svmr"),
    "OnlineSVMR, 100 idle": ("OnlineSVMR", {"max_idle": 100}, "svmr100"),
}
COSTS = ("OnlineSVMR, all kept", "OnlineSVMR, 100 idle", "LASVMNC")
TURNS = ("LASVM", "LASVMG", "LASVMNC", "LASVMI", "OnlineSVMR, 100 idle")


def _make(label: str, settings: dict[str, Any]) -> Any:
    import everlearn

    kind, changes, _ = LEARNERS[label]
    return getattr(everlearn, kind)(**PARAMETERS, **changes, cache_size=settings["cache"], n_jobs=1)


def _board(rows: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from everlearn.datasets import make_checkerboard

    X, y = make_checkerboard(rows, label_noise=noise, random_state=seed)
    return standardized(X)[0], y


def _follow(label: str, X: np.ndarray, y: np.ndarray, block: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Predict each block, then learn it; stop when the limit of seconds is used up."""
    model, points, spent = _make(label, settings), [], 0.0
    for start in range(0, len(y), block):
        rows, labels = X[start : start + block], y[start : start + block]
        error = float(np.mean(model.predict(rows) != labels)) if start else None
        began = process_time()
        model.partial_fit(rows, labels, classes=[-1, 1])
        seconds = process_time() - began
        spent += seconds
        points.append(
            {
                "rows": start + len(labels),
                "error": error,
                "seconds": seconds,
                "per_1000": 1000 * seconds / len(labels),
                "n_sv": len(model.support_),
                "n_kept": getattr(model, "n_kept_", None),
                "n_kernel_evaluations": model.n_kernel_evaluations_,
            }
        )
        if spent > settings["limit"]:
            break
    say(f"{label}: {points[-1]['rows']} rows in {number(spent)} s, {points[-1]['n_sv']} support vectors")
    return {"learner": label, "seconds": spent, "complete": points[-1]["rows"] == len(y), "points": points}


def run_part(run: Run) -> None:
    """Both questions, on checkerboards."""
    settings = run.settings
    rows = COST_ROWS if settings["rows"] is None else min(COST_ROWS, 5 * settings["rows"])
    turn_rows = TURN_ROWS if settings["rows"] is None else min(TURN_ROWS, 4 * settings["rows"])
    block = max(100, min(COST_BLOCK, rows // 10))
    turn_block = max(50, min(TURN_BLOCK, turn_rows // 40))
    run.note(**PARAMETERS, block=block, turn_block=turn_block, turn_rows=turn_rows)
    X, y = _board(rows, NOISE, 0)
    for label in COSTS:
        run.add({"question": "cost"} | _follow(label, X, y, block, settings))
    X, y = _board(turn_rows, TURN_NOISE, 1)
    y = np.where(np.arange(turn_rows) < turn_rows // 2, y, -y)
    for label in TURNS:
        run.add({"question": "turn"} | _follow(label, X, y, turn_block, settings))


def _split(data: Data) -> list[list[dict[str, Any]]]:
    return [[r for r in data["results"] if r["question"] == question] for question in ("cost", "turn")]


def draw_figures(data: Data, stem: Path) -> None:
    """Draw both answers."""
    (cost, turn), settings = _split(data), data["settings"]
    _draw_cost(cost, stem.with_name(f"{stem.name}-cost.png"))
    _draw_turn(turn, settings["turn_rows"], settings["turn_block"], stem.with_name(f"{stem.name}-turn.png"))


def _plain(axis: Any) -> None:
    axis.grid(True, color="#e6e6e6", linewidth=0.7)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _draw_cost(results: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    seconds, size = figure.subplots(1, 2)
    for r in results:
        color = COLORS[LEARNERS[r["learner"]][2]]
        rows = [p["rows"] for p in r["points"]]
        seconds.plot(
            rows, [p["per_1000"] for p in r["points"]], color=color, linewidth=1.8, label=r["learner"]
        )
        size.plot(rows, [p["n_sv"] for p in r["points"]], color=color, linewidth=1.8)
    for axis, title in ((seconds, "CPU seconds for the next 1,000 rows"), (size, "support vectors")):
        _plain(axis)
        axis.set_xlim(0, None)
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xlabel("rows learned")
    seconds.set_yscale("log")
    seconds.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    size.set_ylim(0, None)
    figure.legend(loc="outside lower center", ncols=len(results), frameon=False)
    figure.savefig(path, dpi=150)


def _draw_turn(results: list[dict[str, Any]], rows: int, block: int, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    error, size = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    for r in results:
        color = COLORS[LEARNERS[r["learner"]][2]]
        known = [p for p in r["points"] if p["error"] is not None]
        middle = [p["rows"] - block / 2 for p in known]
        error.plot(middle, [100 * p["error"] for p in known], color=color, linewidth=1.8, label=r["learner"])
        ends = [p["rows"] for p in r["points"]]
        size.plot(ends, [p["n_sv"] for p in r["points"]], color=color, linewidth=1.8)
    for axis in (error, size):
        _plain(axis)
        axis.set_ylim(0, None)
        axis.axvline(rows / 2, color="#555555", linewidth=1, linestyle=(0, (4, 3)))
    error.set_ylim(0, 103)
    error.annotate(
        "from here on all labels are turned round",
        (rows / 2, 101),
        (-6, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=9,
        color="#555555",
    )
    error.set_ylabel(f"error in % on the next {block} rows")
    size.set_ylabel("support vectors")
    size.set_xlabel("rows learned")
    size.set_xlim(0, rows)
    figure.legend(loc="outside lower center", ncols=len(results), frameon=False)
    figure.savefig(path, dpi=150)


def _mean(points: list[dict[str, Any]], what: str) -> float | None:
    values = [p[what] for p in points if p[what] is not None]
    return float(np.mean(values)) if values else None


def _percent(points: list[dict[str, Any]]) -> str:
    error = _mean(points, "error")
    return NONE if error is None else f"{100 * error:.1f}"


def report(data: Data) -> str:
    """A table for each question."""
    (cost, turn), rows = _split(data), data["settings"]["turn_rows"]
    cost_rows = []
    for r in cost:
        tenth = max(1, len(r["points"]) // 10)
        first, last, end = r["points"][:tenth], r["points"][-tenth:], r["points"][-1]
        each = [_mean(part, "per_1000") for part in (first, last)]
        cost_rows.append(
            [
                r["learner"],
                f"{end['rows']}" + " (stopped)" * (not r["complete"]),
                number(r["seconds"]),
                *[number(value) for value in each],
                number(each[1] / each[0]) if each[0] else NONE,
                f"{end['n_sv']}",
                NONE if end["n_kept"] is None else f"{end['n_kept']}",
                number(end["n_kernel_evaluations"] / 1e6),
                _percent(last),
            ]
        )
    turn_rows = []
    for r in turn:
        before = [p for p in r["points"] if 0.4 * rows < p["rows"] <= rows / 2]
        shortly = [p for p in r["points"] if rows / 2 < p["rows"] <= 0.6 * rows]
        end = [p for p in r["points"] if p["rows"] > 0.9 * rows]
        back = next(
            (p["rows"] - rows // 2 for p in r["points"] if p["rows"] > rows / 2 and p["error"] < 0.5), None
        )
        turn_rows.append(
            [
                r["learner"],
                *[_percent(part) for part in (before, shortly, end)],
                NONE if back is None else f"{back}",
                f"{r['points'][-1]['n_sv']}",
                number(r["seconds"]),
            ]
        )
    header = ["learner", "rows", "CPU s", "s/1000 first", "s/1000 last", "ratio", "SVs", "kept", "values/1e6"]
    return "\n".join(
        [
            *head("Streams", data),
            f"## Cost of a row: checkerboard, {NOISE:.0%} of the labels wrong\n",
            f"![cost]({data['name']}-cost.png)\n",
            markdown([*header, "error % at the end"], cost_rows),
            "first, last: of the first and the last tenth of the stream. kept: rows in memory.\n",
            f"## All labels turned at row {rows // 2}: checkerboard, {TURN_NOISE:.0%} label noise\n",
            f"![recovery]({data['name']}-turn.png)\n",
            markdown(
                [
                    "learner",
                    "error % before",
                    "just after",
                    "at the end",
                    "rows to under 50 %",
                    "SVs",
                    "CPU s",
                ],
                turn_rows,
            ),
            "Each block is predicted before it is learned. before, just after, at the end: a tenth of the\n"
            f"stream. C = {PARAMETERS['C']:g}, gamma = {PARAMETERS['gamma']:g} for all; standardized.\n",
        ]
    )
