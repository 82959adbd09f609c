"""Test error and support vectors against labels used, for each way to select the next row."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..harness.data import Task, load_task
from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Result, Run

NAMES = ("a9a", "mnist8")
RULES = ("random", "gradient", "active", "autoactive")
LABELS = (100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
SEEDS = 3
CLOSE = 0.001  # SVC's error counts as reached within 0.1 points
COLORS = {"random": "#7f8c8d", "gradient": "#e67e22", "active": "#2166ac", "autoactive": "#1b9e77"}


def _point(task: Task, rule: str, labels: int, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    from everlearn import LASVM

    model = LASVM(
        C=task.C,
        kernel="rbf",
        gamma=task.gamma,
        selection=rule,
        max_iter=labels,
        finishing="kept",  # as in the thesis
        cache_size=settings["cache"],
        n_jobs=settings["threads"],
        random_state=seed,
    )
    start = perf_counter()
    model.fit(task.X_train, task.y_train)
    return {
        "rule": rule,
        "labels": min(labels, len(task.y_train)),
        "seed": seed,
        "seconds": perf_counter() - start,
        "error": float(np.mean(model.predict(task.X_test) != task.y_test)),
        "n_sv": len(model.support_),
    }


def _svc(task: Task, settings: dict[str, Any]) -> dict[str, Any]:
    from sklearn.svm import SVC

    start = perf_counter()
    model = SVC(C=task.C, gamma=task.gamma, cache_size=settings["cache"]).fit(task.X_train, task.y_train)
    return {
        "labels": len(task.y_train),
        "seconds": perf_counter() - start,
        "error": float(np.mean(model.predict(task.X_test) != task.y_test)),
        "n_sv": len(model.support_),
    }


def _curve(points: list[dict[str, Any]], rule: str) -> dict[str, np.ndarray]:
    """Mean over the seeds, with the least and the greatest."""
    mine = [p for p in points if p["rule"] == rule]
    labels = sorted({p["labels"] for p in mine})
    curve: dict[str, Any] = {"labels": np.array(labels)}
    for what in ("error", "n_sv", "seconds"):
        values = [[p[what] for p in mine if p["labels"] == n] for n in labels]
        curve[what] = np.array([np.mean(v) for v in values])
        curve[f"{what}_low"] = np.array([min(v) for v in values])
        curve[f"{what}_high"] = np.array([max(v) for v in values])
    return curve


def _reached(curve: dict[str, np.ndarray], error: float) -> int | None:
    """The first point from which on the mean error stays within CLOSE of `error`."""
    good = curve["error"] <= error + CLOSE
    first = len(good)
    while first > 0 and good[first - 1]:
        first -= 1
    return first if first < len(good) else None


def run_part(run: Run) -> None:
    """Fit with every strategy at every number of labels, with the finishing step."""
    settings = run.settings
    seeds = 1 if settings["repeats"] == 1 else SEEDS
    run.note(seeds=seeds)
    for key in run.missing(run.chosen(NAMES)):
        task = load_task(key, settings["rows"])
        n = len(task.y_train)
        points, reasons = [], {}
        for rule in RULES:
            steps = [k for k in LABELS if k < n] + ([n] if rule == "random" else [])
            try:
                for labels in steps:
                    points += [_point(task, rule, labels, seed, settings) for seed in range(seeds)]
                    say(
                        f"{task.title}: {rule}, {labels} labels: error {100 * points[-1]['error']:.2f} %, "
                        f"{points[-1]['n_sv']} SVs, {number(points[-1]['seconds'])} s"
                    )
            except Exception as error:  # a rule that fails is reported, the others go on
                reasons[rule] = f"{type(error).__name__}: {error}"
                say(f"{task.title}: {rule} failed: {reasons[rule]}")
        say(f"{task.title}: SVC on all {n} rows")
        run.add(task.describe() | {"points": points, "svc": _svc(task, settings), "reasons": reasons})


def draw_figures(data: Data, stem: Path) -> None:
    """Draw error and support vectors against labels."""
    results: list[Result] = data["results"]
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(
        2, len(results), figsize=(5.6 * len(results), 6.8), sharex="col", squeeze=False
    )
    for column, result in enumerate(results):
        svc = result["svc"]
        for axis, what, scale in ((axes[0][column], "error", 100), (axes[1][column], "n_sv", 1)):
            for rule in RULES:
                curve = _curve(result["points"], rule)
                if not len(curve["labels"]):
                    continue
                low, high = (scale * curve[f"{what}_{side}"] for side in ("low", "high"))
                axis.fill_between(curve["labels"], low, high, color=COLORS[rule], alpha=0.15, linewidth=0)
                axis.plot(
                    curve["labels"],
                    scale * curve[what],
                    color=COLORS[rule],
                    marker="o",
                    markersize=3.5,
                    linewidth=1.8,
                    label=rule,
                )
            axis.axhline(scale * svc[what], color="#222222", linestyle=(0, (5, 3)), linewidth=1.2)
            text = f"SVC, all {svc['labels']:,} labels: " + (
                f"{100 * svc['error']:.2f} %" if what == "error" else f"{svc['n_sv']:,}"
            )
            axis.annotate(
                text,
                (0.01, scale * svc[what]),
                xycoords=("axes fraction", "data"),
                xytext=(0, -4),
                textcoords="offset points",
                ha="left",
                va="top",
                fontsize=8.5,
                color="#222222",
            )
            axis.set_xscale("log")
            axis.grid(True, color="#e6e6e6", linewidth=0.7)
            axis.set_axisbelow(True)
        axes[0][column].set_ylim(*_range(result, svc))
        axes[1][column].set_ylim(0, None)
        axes[0][column].set_title(f"{result['title']}  (C = {result['C']:g}, gamma = {result['gamma']:g})")
        axes[1][column].set_xlabel("labels used")
        axes[1][column].xaxis.set_minor_formatter("")
        axes[1][column].xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes[0][0].set_ylabel("test error in %")
    axes[1][0].set_ylabel("support vectors")
    axes[0][-1].legend(frameon=False, loc="upper right", title="selection")
    figure.tight_layout()
    figure.savefig(stem.with_suffix(".png"), dpi=160)
    plt.close(figure)


def _range(result: dict[str, Any], svc: dict[str, Any]) -> tuple[float, float]:
    """Limits of the error axis, cut where the early, bad points would flatten the rest."""
    errors = [p["error"] for p in result["points"]] or [svc["error"]]
    top = min(1.05 * max(errors), 4 * max(svc["error"], 0.0025))
    bottom = min(svc["error"], *errors) - 0.25 * (top - svc["error"])
    return 100 * max(bottom, 0), 100 * top


def report(data: Data) -> str:
    """For each strategy the labels it takes to reach the error of SVC."""
    parts = [*head("Which rows to learn from", data), f"![curves]({data['name']}.png)\n"]
    for r in data["results"]:
        svc, n = r["svc"], r["rows"]
        rows = []
        for rule in RULES:
            curve = _curve(r["points"], rule)
            if not len(curve["labels"]):
                rows.append([rule, *["failed"] * 7])
                continue
            at = _reached(curve, svc["error"])
            shown = -1 if at is None else at
            best = int(np.argmin(curve["error"]))
            rows.append(
                [
                    rule,
                    f"{100 * curve['error'][best]:.2f} ({curve['labels'][best]})",
                    NONE if at is None else str(curve["labels"][at]),
                    NONE if at is None else f"{100 * curve['labels'][at] / n:.0f} %",
                    NONE if at is None else f"{curve['n_sv'][at]:.0f}",
                    NONE if at is None else f"{100 * curve['n_sv'][at] / svc['n_sv']:.0f} %",
                    f"{100 * curve['error'][shown]:.2f}",
                    number(curve["seconds"][shown]),
                ]
            )
        rows.append(["SVC", "", str(n), "100 %", str(svc["n_sv"]), "100 %", f"{100 * svc['error']:.2f}"])
        rows[-1].append(number(svc["seconds"]))
        header = ["selection", "best err % (labels)", "labels", "of all", "SVs", "of SVC's", "err %", "s"]
        parts += [f"## {r['title']}\n", markdown(header, rows)]
        parts += [f"- {rule}: {reason}" for rule, reason in r["reasons"].items()]
    parts.append(
        "\nlabels, SVs, error and seconds: where the mean error first stays within "
        f"{100 * CLOSE:g} points of SVC's\n(error and seconds at the last point where it never does). "
        "gradient looks at the labels of its whole pool.\n"
    )
    return "\n".join(parts)
