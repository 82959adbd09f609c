"""Ways to select rows when labels are wrong, as more and more rows are learned.

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), figures 3.10 to 3.12. The claim: with 10 % label
noise "the GRADIENT selection criterion causes a very chaotic convergence because it keeps selecting
mislabeled training examples. The ACTIVE selection criterion is obviously undisturbed by the label noise".

mnist, 8 against the rest. What "10 % label noise" means is not said; there are two readings:

labels  10 % of the two-class labels are turned. As nine of ten rows are negative, nearly half of the positive
        labels are wrong then.
digits  10 % of the digits are replaced by another one, before 8 is set against the rest. Of the positive
        labels a tenth are wrong, of the negative ones a hundredth.

Chaos is measured plainly along the points of a curve: the mean absolute change of the test error from a point
to the next, and the sum of all rises, which is 0 for a curve that only falls.
"""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from ..harness.data import SEED, load, load_task
from ..harness.machine import say
from ..harness.report import head, markdown, number
from ..harness.run import Data, Run

NAMES = ("mnist8",)
RULES = ("random", "active", "gradient")
NOISE = ("none", "labels", "digits")
C, GAMMA, SHARE, POSITIVE = 1000, 0.005, 0.1, 8
ROWS = (500, 750, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 16000)
QUICK_ROWS = (100, 200, 400)
CLOSE = 0.1  # points of error
COLORS = {"random": "#7f8c8d", "active": "#2166ac", "gradient": "#e67e22"}
TITLES = {"none": "no noise", "labels": "10 % of the labels turned", "digits": "10 % of the digits replaced"}


def wrong_labels(digits: np.ndarray, noise: str, seed: int) -> np.ndarray:
    """Labels -1 and 1 of 8 against the rest, an exact share of them or of the digits wrong."""
    random = np.random.default_rng(seed)
    wrong = random.permutation(len(digits))[: round(SHARE * len(digits))]
    if noise == "digits":
        digits = digits.copy()
        digits[wrong] = (digits[wrong] + random.integers(1, 10, len(wrong))) % 10
    y = np.where(digits == POSITIVE, 1, -1)
    if noise == "labels":
        y[wrong] = -y[wrong]
    return y


def one_point(task: Any, y: np.ndarray, rule: str, rows: int, seed: int, cache: float) -> dict[str, Any]:
    """Learn so many rows; the error before and after the finishing step."""
    from everlearn import LASVM

    model = LASVM(
        C,
        gamma=GAMMA,
        selection=rule,
        max_iter=rows,
        finishing=None,
        cache_size=cache,
        n_jobs=1,
        random_state=seed,
    )
    start = process_time()
    model.fit(task.X_train, y)
    spent = process_time() - start
    learning = float(np.mean(model.predict(task.X_test) != task.y_test))
    start = process_time()
    model.finish()
    finishing = process_time() - start
    return {
        "rule": rule,
        "rows": rows,
        "seed": seed,
        "learning": 100 * learning,
        "finished": 100 * float(np.mean(model.predict(task.X_test) != task.y_test)),
        "support": len(model.support_),
        "wrong_support": int(np.sum(y[model.support_] != task.y_train[model.support_])),
        "cpu": spent,
        "cpu_finish": finishing,
    }


def run_part(run: Run) -> None:
    """Every strategy at every number of rows, with and without noise."""
    settings = run.settings
    task = load_task("mnist8", settings["rows"])
    digits = np.asarray(load("mnist").y_train)
    if settings["rows"]:  # as `Task.head` draws them
        digits = digits[np.sort(np.random.default_rng(SEED).permutation(len(digits))[: settings["rows"]])]
    marks = QUICK_ROWS if run.quick else ROWS
    run.note(C=C, gamma=GAMMA, share=SHARE, points=marks)
    for noise in NOISE:
        points: list[dict[str, Any]] = []
        for seed in range(settings["seeds"]):
            y = wrong_labels(digits, noise, seed)
            for rule in RULES:
                points += [one_point(task, y, rule, rows, seed, settings["cache"]) for rows in marks]
                last = points[-1]
                say(f"{noise}, seed {seed}, {rule}: error {last['finished']:.2f} % after {last['rows']} rows")
        wrong = {label: float(np.mean(y[y == label] != task.y_train[y == label])) for label in (-1, 1)}
        run.add({"noise": noise, "wrong_negative": wrong[-1], "wrong_positive": wrong[1], "points": points})


def curves(result: dict[str, Any], rule: str, what: str) -> tuple[list[int], np.ndarray]:
    """The numbers of rows, and a line for each seed."""
    mine = [p for p in result["points"] if p["rule"] == rule]
    rows, seeds = sorted({p["rows"] for p in mine}), sorted({p["seed"] for p in mine})
    by = {(p["seed"], p["rows"]): p[what] for p in mine}
    return rows, np.array([[by[seed, n] for n in rows] for seed in seeds])


def draw_figures(data: Data, stem: Path) -> None:
    """Draw error against rows learned, with and without noise."""
    from matplotlib.figure import Figure

    results = data["results"]
    figure = Figure(figsize=(3.9 * len(results), 6.6), layout="constrained")
    axes = figure.subplots(2, len(results), sharex=True, sharey="row", squeeze=False)
    for column, result in enumerate(results):
        for axis, what in zip(axes[:, column], ("learning", "finished"), strict=True):
            for rule in RULES:
                rows, lines = curves(result, rule, what)
                for line in lines:
                    axis.plot(rows, line, color=COLORS[rule], linewidth=0.7, alpha=0.5)
                axis.plot(
                    rows, lines.mean(axis=0), color=COLORS[rule], marker="o", markersize=3.5, label=rule
                )
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.grid(True, color="#e6e6e6", linewidth=0.7)
            axis.set_axisbelow(True)
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes[0][column].set_title(TITLES[result["noise"]], fontsize=10)
        axes[1][column].set_xlabel("rows learned")
    axes[0][0].set_ylabel("test error in %, as it learns")
    axes[1][0].set_ylabel("test error in %, finished")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(stem.with_suffix(".png"), dpi=150)


def _chaos(result: dict[str, Any], rule: str, what: str) -> list[str]:
    _, lines = curves(result, rule, what)
    change = np.diff(lines, axis=1)
    return [
        f"{np.abs(change).mean():.2f}",
        f"{np.maximum(change, 0).sum(axis=1).mean():.2f}",
        f"{lines[:, -1].mean():.2f}",
    ]


def report(data: Data) -> str:
    """Errors, how steady the curves are, and whether the claim holds."""
    results, seeds = data["results"], data["settings"]["seeds"]
    parts = [
        *head("Selecting rows when labels are wrong", data),
        f"![curves]({data['name']}.png)\n",
        f"mnist, {POSITIVE} against the rest, C = {C}, gamma = {GAMMA}, test labels clean; test error in %, "
        f"means over {seeds} draw{'s' * (seeds != 1)} of the noise and of\nthe order. "
        "`LASVM(selection=...)`, 50 rows drawn for a choice; as it learns / after the finishing step.\n",
    ]
    for result in results:
        lines = []
        for place, rows in enumerate(_any(results)):
            cells = []
            for rule in RULES:
                pair = [curves(result, rule, what)[1][:, place].mean() for what in ("learning", "finished")]
                cells.append(f"{pair[0]:.2f} / {pair[1]:.2f}")
            lines.append([str(rows), *cells])
        for title, what in (("SVs at the end", "support"), ("of these mislabeled", "wrong_support")):
            lines.append([title, *[f"{curves(result, r, what)[1][:, -1].mean():.0f}" for r in RULES]])
        spent = [curves(result, r, "cpu")[1] + curves(result, r, "cpu_finish")[1] for r in RULES]
        lines.append(["CPU s, last point", *[number(float(values[:, -1].mean())) for values in spent]])
        share = f"{100 * result['wrong_positive']:.1f} % of the positive labels, "
        share += f"{100 * result['wrong_negative']:.1f} % of the negative ones are wrong"
        parts += [f"## {TITLES[result['noise']]}: {share}\n", markdown(["rows learned", *RULES], lines)]
    header = ["noise, selection", "mean change", "rises", "final", "finished: mean change", "rises", "final"]
    lines = [
        [f"{r['noise']}, {rule}", *_chaos(r, rule, "learning"), *_chaos(r, rule, "finished")]
        for r in results
        for rule in RULES
    ]
    parts += ["## How calm the curves are\n", markdown(header, lines)]
    parts.append(
        "Points of error: mean absolute change from a point to the next, sum of the rises, error at the last "
        "point;\nas it learns, then after the finishing step.\n"
    )
    parts += ["## Does the claim hold\n", *[_claim(results[0], result) for result in results[1:]]]
    return "\n".join(parts)


def _claim(clean: dict[str, Any], noisy: dict[str, Any]) -> str:
    """Whether active selection is undisturbed by this noise, and how much less calm gradient selection is."""
    more = [curves(r, "active", "finished")[1].mean(axis=0) for r in (noisy, clean)]
    above = more[0] - more[1]
    change = {
        rule: np.abs(np.diff(curves(noisy, rule, "learning")[1], axis=1)).mean()
        for rule in ("active", "gradient")
    }
    held = "undisturbed" if above.max() <= CLOSE else f"disturbed (undisturbed would be at most {CLOSE:g})"
    return (
        f"- {TITLES[noisy['noise']]}: active is {held}. After the finishing step\n  its error is "
        f"{above.min():.2f} to {above.max():.2f} points above that without noise, {above[-1]:.2f} at the "
        "last point. As it learns, the error\n  of gradient changes "
        f"{change['gradient'] / change['active']:.1f} times as much from point to point as that of active."
    )


def _any(results: list[dict[str, Any]]) -> list[int]:
    return curves(results[0], RULES[0], "learning")[0]
