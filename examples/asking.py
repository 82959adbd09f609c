"""Ask for the labels that matter most
===================================

Active learning: ask for the labels that matter most.

The banana data: a pool of unlabeled rows, and an oracle that knows their labels. One loop asks about random
rows; the other uses `query.Margin`: it asks about the row nearest to the decision boundary, out of 59 random
candidates. Its questions are where the classes overlap, and few are wasted on rows that the model already
classifies with certainty. Both start without labels. Until it has seen both classes, the second loop
alternates between random rows and rows far from each other.

The model is updated after each label, and equals the SVM of all labels so far.

Prints the test error by the number of labels, averaged over several pools. Saves the curves, with the
questions of the first pool, as out/asking.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from tqdm import tqdm

from everlearn import LASVM, ActiveLearner, query
from everlearn.datasets import make_banana

ROWS, TEST_ROWS = 1000, 2000
LABELS, DRAWN = 60, 25  # per pool, and those of the first pool that are plotted
STEPS = np.arange(4, LABELS + 1, 2)  # numbers of labels at which the model is scored
TABLE = (10, 20, 30, 40, 60)
SEEDS = 5
PARAMETERS = {"C": 10, "gamma": 1}

NAMES = {"random": "random queries", "margin": "margin queries"}
COLORS = {"random": "#d9820a", "margin": "#0b6e99"}
ONE, OTHER, INK, EVERYTHING = "#2a6f97", "#c8553d", "#333333", "#8a8a8a"
VIEW = (-2.1, 2.1, -2.1, 2.1)


def draw_rows(seed):
    """A pool with its labels, and test rows."""
    return *make_banana(ROWS, random_state=2 * seed), make_banana(TEST_ROWS, random_state=2 * seed + 1)


def ask(X, y, test, seed):
    """Run both query strategies."""
    strategy = query.Margin(pool_size=59, random_state=seed)
    loop = ActiveLearner(LASVM(**PARAMETERS), strategy, random_state=seed)
    loop.run(X, y, LABELS, test=test, score_every=2, baseline="random")
    return {"random": loop.baseline, "margin": loop}


def fitted(X, history):
    """The model after the labels of a history."""
    rows, labels = [record["row"] for record in history], [record["label"] for record in history]
    return LASVM(epochs=3, random_state=0, **PARAMETERS).fit(X[rows], labels)


def compare():
    """Errors of both strategies, the error with all labels, and the questions of the first pool."""
    errors = {name: np.full((SEEDS, len(STEPS)), np.nan) for name in NAMES}
    level, first = [], {}
    for seed in tqdm(range(SEEDS), desc="asking", unit="draw"):
        X, y, test = draw_rows(seed)
        loops = ask(X, y, test, seed)
        for name, loop in loops.items():
            errors[name][seed] = [1 - loop.history[labels - 1]["score"] for labels in STEPS]
        level.append(1 - LASVM(epochs=3, random_state=0, **PARAMETERS).fit(X, y).score(*test))
        first = first or {name: loop.history[:DRAWN] for name, loop in loops.items()}
    return errors, np.mean(level), first


def show(errors, level):
    """Print points of the curves."""
    print(f"Error on {TEST_ROWS:,} test rows, mean of {SEEDS} pools:")
    print(f"{'labels':>6}" + "".join(f"{words:>26}" for words in NAMES.values()))
    print("-" * (6 + 26 * len(NAMES)))
    for labels in TABLE:
        means = [errors[name][:, labels == STEPS].mean() for name in NAMES]
        print(f"{labels:>6}" + "".join(f"{error:>26.1%}" for error in means))
    print(f"All {ROWS:,} labels: {level:.1%}")


def draw_questions(panel, name, history):
    """The first pool, its questions in order, boundary and margins."""
    X, y, test = draw_rows(0)
    machine = fitted(X, history)
    left, right, bottom, top = VIEW
    across, up = np.meshgrid(np.linspace(left, right, 240), np.linspace(bottom, top, 240))
    scores = machine.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    panel.contourf(across, up, scores, levels=[-np.inf, 0, np.inf], colors=[OTHER, ONE], alpha=0.08)
    for label, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*X[y == label].T, s=7, color=color, alpha=0.3, linewidth=0)
    panel.contour(across, up, scores, levels=[-1, 1], colors=INK, linewidths=1.3, linestyles=[(0, (4, 2.5))])
    panel.contour(across, up, scores, levels=[0], colors=INK, linewidths=2.4)
    number = {"color": "white", "fontsize": 8, "fontweight": "bold", "ha": "center", "va": "center_baseline"}
    for record in history:
        place, color, order = X[record["row"]], ONE if record["label"] == 1 else OTHER, 3 + record["n_labels"]
        panel.scatter(*place, s=150, color=color, edgecolor="white", linewidth=0.8, zorder=order)
        panel.text(*place, record["n_labels"], zorder=order, **number)
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    panel.spines[:].set_color("#cccccc")
    panel.set_title(NAMES[name], loc="left", fontsize=15, fontweight="bold", color=COLORS[name], pad=24)
    panel.text(
        0,
        1.02,
        f"{DRAWN} labels, test error {1 - machine.score(*test):.1%}",
        transform=panel.transAxes,
        fontsize=11.5,
        color=INK,
        va="bottom",
    )


def draw_curves(panel, errors, level):
    """Error against labels, with the spread over the draws."""
    panel.axhline(level, color=EVERYTHING, linewidth=1.6, linestyle=(0, (5, 2)))
    for name, color in COLORS.items():
        known = ~np.isnan(errors[name]).any(axis=0)  # by then both classes were seen on all draws
        low, high = np.quantile(errors[name][:, known], [0.1, 0.9], axis=0)
        panel.fill_between(STEPS[known], low, high, color=color, alpha=0.12, linewidth=0)
        panel.plot(STEPS[known], errors[name][:, known].mean(axis=0), color=color, linewidth=2.4)
    panel.axvline(DRAWN, ymax=0.7, color="#bbbbbb", linewidth=1.2, zorder=0)
    panel.grid(axis="y", color="#e6e6e6")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=12)
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panel.set(xlim=(0, LABELS), ylim=(0, None))
    panel.set_xlabel("labels", fontsize=13)
    panel.set_title(f"test error: mean and 80 % range of {SEEDS} pools", loc="left", fontsize=14)
    panel.legend(
        handles=[
            *(Line2D([], [], color=color, linewidth=2.4) for color in COLORS.values()),
            Line2D([], [], color=EVERYTHING, linewidth=1.6, linestyle=(0, (5, 2))),
        ],
        labels=[*NAMES.values(), f"all {ROWS:,} labels"],
        loc="upper right",
        fontsize=13,
        facecolor="white",
        edgecolor="none",
        framealpha=1,
    )


def draw(errors, level, first, path):
    """Save the questions of the first draw, and the error curves."""
    figure = Figure(figsize=(16, 6.8), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.14)
    figure.suptitle(
        f"{DRAWN} questions: where they are, and how much they help",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    left, right = figure.subfigures(1, 2, width_ratios=[1.9, 1])
    panels = left.subplots(1, len(NAMES))
    for panel, (name, history) in zip(panels, first.items(), strict=True):
        draw_questions(panel, name, history)
    dot = {"marker": "o", "linestyle": "none"}
    left.legend(
        handles=[
            Line2D([], [], color=INK, linewidth=2.4),
            Line2D([], [], color=INK, linewidth=1.3, linestyle=(0, (4, 2.5))),
            Line2D([], [], color=ONE, markersize=11, **dot),
            Line2D([], [], color=OTHER, markersize=11, **dot),
            Line2D([], [], color="#bbbbbb", markersize=3.5, **dot),
        ],
        labels=[
            "boundary",
            "margins",
            "question (in this order)",
            "question about the other class",
            "unlabeled",
        ],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=12,
    )
    draw_curves(right.subplots(), errors, level)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main(out="out/asking.png"):
    errors, level, first = compare()
    show(errors, level)
    path = Path(out)
    draw(errors, level, first, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
