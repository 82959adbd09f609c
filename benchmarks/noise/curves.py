"""Error, g-means and support vectors as more and more training labels are wrong; the test is clean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import NONE, head, markdown, number
from ..harness.run import Data, Run
from .data import FLIPPED, flipped, flipped_task
from .peers import COLORS, PEERS, chosen, fit_once

NAMES = tuple(FLIPPED)
QUICK_NAMES = ("usps", "banana", "svmguide1")
CURVES = ("svc", "intelex", "ours", "g", "nc", "i", "svmr")
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4)
QUICK_LEVELS = (0.0, 0.3)
SHOWN = 0.3  # the level of the tables
WHATS = (("error", "test error in %", 100), ("g_means", "g-means in %", 100), ("n_sv", "support vectors", 1))


def _means(result: dict[str, Any], name: str, what: str) -> dict[float, tuple[float, float, float]]:
    """Mean, least and greatest over the seeds, by level of noise."""
    found: dict[float, list[float]] = {}
    for p in result["points"]:
        if p["peer"] == name:
            found.setdefault(p["noise"], []).append(p[what])
    return {level: (float(np.mean(v)), min(v), max(v)) for level, v in sorted(found.items())}


def run_part(run: Run) -> None:
    """Fit every learner at every level of noise, with several draws of it."""
    settings = run.settings
    wanted = chosen(CURVES, settings["peers"])
    levels = QUICK_LEVELS if run.quick else LEVELS
    run.note(peers=wanted, levels=levels)
    for key in run.missing(run.chosen(NAMES, QUICK_NAMES)):
        task = flipped_task(key, settings["rows"])
        points: list[dict[str, Any]] = []
        reasons: dict[str, str] = {}
        for level in levels:
            for seed in range(settings["seeds"]):
                noisy = flipped(task, level, seed)
                for name in wanted:
                    if name in reasons:
                        continue
                    try:
                        points.append({"noise": level} | fit_once(noisy, name, settings, seed))
                    except Exception as error:  # a learner that fails is reported, the others go on
                        reasons[name] = f"{type(error).__name__}: {error}"
                        say(f"{task.title}: {PEERS[name].label} failed: {reasons[name]}")
            cpu = sum(p["cpu"] for p in points if p["noise"] == level)
            say(f"{task.title}: {level:.0%} of the labels wrong, {number(cpu)} s")
        run.add(task.describe() | {"points": points, "reasons": reasons})


def draw_figures(data: Data, stem: Path) -> None:
    """Draw error, g-means and support vectors against the noise."""
    from matplotlib.figure import Figure

    results, names = data["results"], data["settings"]["peers"]

    width = len(results)
    figure = Figure(figsize=(1 + 3.3 * width, 8.6), layout="constrained")
    axes = figure.subplots(3, width, sharex=True, squeeze=False)
    for column, result in enumerate(results):
        for axis, (what, title, scale) in zip(axes[:, column], WHATS, strict=True):
            for name in names:
                curve = _means(result, name, what)
                if not curve:
                    continue
                noise = 100 * np.array(list(curve))
                mean, low, high = scale * np.array(list(curve.values())).T
                axis.fill_between(noise, low, high, color=COLORS[name], alpha=0.1, linewidth=0)
                axis.plot(
                    noise,
                    mean,
                    color=COLORS[name],
                    marker="o",
                    markersize=3.5,
                    linewidth=1.8,
                    linestyle=(0, (4, 2)) if name == "intelex" else "-",
                    zorder=3 if name == "intelex" else 2,
                    label=PEERS[name].label,
                )
            axis.grid(True, color="#e6e6e6", linewidth=0.7)
            axis.set_axisbelow(True)
            axis.spines[["top", "right"]].set_visible(False)
            if what != "g_means":
                axis.set_ylim(0, None)
            if column == 0:
                axis.set_ylabel(title)
        axes[0][column].set_title(
            f"{result['title']}\nC = {result['C']:g}, gamma = {result['gamma']:g}, {result['rows']:,} rows",
            fontsize=10,
        )
        axes[-1][column].set_xlabel("training labels flipped, %")
    handles = axes[0][0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(stem.with_suffix(".png"), dpi=150)


def _at_shown(result: dict[str, Any], name: str, what: str) -> float | None:
    found = _means(result, name, what).get(SHOWN)
    return None if found is None else found[0]


def _line(result: dict[str, Any], names: list[str], what: str) -> list[str]:
    """One set; the best is bold, for errors the least and for g-means the greatest."""
    values = [_at_shown(result, name, what) for name in names]
    known = [v for v in values if v is not None]
    if what == "n_sv":
        return [NONE if v is None else f"{v:.0f}" for v in values]
    best = (max if what == "g_means" else min)(known, default=None)
    return [NONE if v is None else f"**{100 * v:.2f}**" if v == best else f"{100 * v:.2f}" for v in values]


def _winner(result: dict[str, Any], names: list[str]) -> list[str]:
    """The best two by g-means, with the least and the greatest over the seeds."""
    found = {name: v for name in names if (v := _means(result, name, "g_means").get(SHOWN)) is not None}
    cells = []
    for name in sorted(found, key=lambda name: -found[name][0])[:2]:
        mean, low, high = (100 * value for value in found[name])
        cells.append(f"{PEERS[name].label} {mean:.2f} ({low:.2f} to {high:.2f})")
    return [*cells, *[NONE] * (2 - len(cells))]


def report(data: Data) -> str:
    """The tables at one level of noise."""
    results, settings = data["results"], data["settings"]
    names = settings["peers"]
    labels, seeds = [PEERS[name].label for name in names], settings["seeds"]
    parts = [
        *head("Label noise", data),
        f"![curves]({data['name']}.png)\n",
        "For each set C and gamma are the same for all learners and all levels of noise: those of the\n"
        "thesis for usps (rows of unit length) and banana, cross-validated for SVC on clean labels for the\n"
        f"others (standardized). Means over {seeds} draw{'s' * (seeds != 1)} of the wrong labels and of the "
        "order.\nTraining labels only; the test is clean.\n",
    ]
    for what, title in (
        ("g_means", "g-means in %"),
        ("error", "test error in %"),
        ("n_sv", "support vectors"),
        ("cpu", "CPU seconds"),
    ):
        if what == "cpu":
            rows = [[r["title"], *[number(_at_shown(r, n, what)) for n in names]] for r in results]
        else:
            rows = [[r["title"], *_line(r, names, what)] for r in results]
        parts += [f"## At {SHOWN:.0%} label noise: {title}\n", markdown(["set", *labels], rows)]
    parts += [
        f"## Best g-means at {SHOWN:.0%}\n",
        markdown(
            ["set (C, gamma)", "best", "next"],
            [[f"{r['title']} ({r['C']:g}, {r['gamma']:g})", *_winner(r, names)] for r in results],
        ),
    ]
    for r in results:
        parts += [f"- {r['title']}, {PEERS[n].label}: {reason}" for n, reason in r["reasons"].items()]
    return "\n".join(parts) + "\n"
