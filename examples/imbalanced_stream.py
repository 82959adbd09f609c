"""Rank a rare class first, on a budget
====================================

Rank a rare class first on a budget: what the budget costs, and what compensation recovers.

One of the three waveform classes against the other two, thinned to one row in seventeen. `KOIL` maximizes
AUC, that is, it learns to score rare rows above the others, and keeps at most `budget` rows of each class.
When a buffer is full, "fifo" drops the oldest row and "rs" keeps a random sample of all rows. With "++" the
coefficient of a dropped row is added to its nearest neighbor in the buffer.

"rs" drops most new rows, and with them their coefficients. "fifo" drops the oldest rows, whose coefficients
have decayed, all the more in a large buffer. Compensation therefore helps "rs" at every budget and "fifo" at
medium budgets. In a very small buffer the nearest neighbor may be far away, and compensation hurts: see
"fifo" with 10 rows.

Every row is scored before it is learned. AUC is computed from these scores, over the second half of the
stream or over a sliding window. The gray line is `KOIL` without a budget.

Prints AUC by budget and saves it, with AUC over the stream at one budget, as out/imbalanced_stream.png.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, StrMethodFormatter
from sklearn.metrics import roc_auc_score
from tqdm import tqdm

from everlearn import KOIL
from everlearn.datasets import make_waveform

ROWS, RATIO = 8000, 16  # rows of a stream, and those of the other classes for each of the rare one
BUDGETS = (10, 50, 200)
FOLLOWED = 50  # the budget whose AUC is drawn over the stream
REPLACEMENTS = ("rs++", "rs", "fifo++", "fifo")
SEEDS = 3
BLOCK = 100  # rows that are scored and then learned
WINDOW, STEP = 2000, 500  # rows whose AUC is a point of the curve, and how far the next window is
PARAMETERS = {"gamma": 0.02}

COLORS = {"rs++": "#0b6e99", "rs": "#0b6e99", "fifo++": "#d9820a", "fifo": "#d9820a", None: "#8a8a8a"}
DASHES = {"rs++": "-", "rs": (0, (2, 1.4)), "fifo++": "-", "fifo": (0, (2, 1.4)), None: (0, (5, 2))}
WORDS = {
    "rs++": "rs++, compensated",
    "rs": "rs, a random sample",
    "fifo++": "fifo++, compensated",
    "fifo": "fifo, the most recent",
    None: "no budget",
}
DOT = {"linewidth": 2.4, "marker": "o", "markersize": 5.5}
MARKS = {"rs++": DOT, "rs": DOT, "fifo++": DOT, "fifo": DOT, None: {"linewidth": 1.6}}
INK = "#333333"


@dataclass(frozen=True)
class Run:
    """One pass: rows kept, AUC of the second half, and of each window."""

    replacement: str | None  # None for no budget
    budget: int | None
    kept: int
    auc: float
    windows: np.ndarray


def follow(X, y, replacement, budget, seed):
    """Score each block, then learn it."""
    clf = KOIL(budget=budget, replacement=replacement or "rs++", random_state=seed, **PARAMETERS)
    scores = np.zeros(len(y))
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        if start:
            scores[rows] = clf.decision_function(X[rows])
        clf.partial_fit(X[rows], y[rows], classes=[-1, 1])
    half, parts = len(y) // 2, range(0, len(y) - WINDOW + 1, STEP)
    windows = [roc_auc_score(y[i : i + WINDOW], scores[i : i + WINDOW]) for i in parts]
    return Run(replacement, budget, clf.n_kept_, roc_auc_score(y[half:], scores[half:]), np.array(windows))


def compare():
    """Each replacement at each budget, and without a budget, on several streams."""
    ways = [(None, None), *((name, budget) for name in REPLACEMENTS for budget in BUDGETS)]
    runs = []
    with tqdm(total=SEEDS * len(ways), desc="streams", unit="pass") as bar:
        for seed in range(SEEDS):
            X, y = make_waveform(ROWS, binary=True, imbalance_ratio=RATIO, random_state=seed)
            for replacement, budget in ways:
                runs.append(follow(X, y, replacement, budget, seed))
                bar.update()
    return runs


def over_seeds(runs, replacement, what):
    """Mean, minimum and maximum over the streams, one row for each budget or window."""
    if what == "windows":
        budget = None if replacement is None else FOLLOWED
        values = np.array(
            [run.windows for run in runs if (run.replacement, run.budget) == (replacement, budget)]
        ).T
    else:
        budgets = [None] if replacement is None else BUDGETS
        values = np.array(
            [[run.auc for run in runs if (run.replacement, run.budget) == (replacement, b)] for b in budgets]
        )
    return np.column_stack([values.mean(axis=1), values.min(axis=1), values.max(axis=1)])


def show(runs):
    """Print AUC against budget."""
    print(
        f"AUC of rows {ROWS // 2:,} to {ROWS:,}, scored before they were learned: mean of {SEEDS} streams,\n"
        "and in brackets the least and the greatest"
    )
    print(f"{'budget':>6}" + "".join(f"{name:>22}" for name in REPLACEMENTS))
    print("-" * (6 + 22 * len(REPLACEMENTS)))
    found = {name: over_seeds(runs, name, "auc") for name in REPLACEMENTS}
    for i, budget in enumerate(BUDGETS):
        cells = [in_words(*curve[i]) for curve in found.values()]
        print(f"{budget:>6}" + "".join(f"{cell:>22}" for cell in cells))
    kept = np.mean([run.kept for run in runs if run.replacement is None])
    print(f"No budget: {in_words(*over_seeds(runs, None, 'auc')[0])}, {kept:,.0f} rows kept of {ROWS:,}")
    for way in ("rs", "fifo"):
        gain = found[f"{way}++"][:, 0] - found[way][:, 0]
        worse = [str(budget) for budget, each in zip(BUDGETS, gain, strict=True) if each < 0]
        places = f"lowers the mean at budget {', '.join(worse)}" if worse else "lowers the mean at no budget"
        print(f"Compensating {way} changes it by {gain.min():+.3f} to {gain.max():+.3f}, and {places}")


def in_words(mean, low, high):
    return f"{mean:.3f} ({low:.3f}-{high:.3f})"


def draw_curve(panel, x, curve, name):
    """Mean and range of one replacement."""
    mean, low, high = curve.T
    panel.fill_between(x, low, high, color=COLORS[name], alpha=0.11, linewidth=0)
    panel.plot(x, mean, color=COLORS[name], linestyle=DASHES[name], **MARKS[name])


def draw(runs, path):
    """Save AUC against budget, and AUC over the stream."""
    figure = Figure(figsize=(14, 6.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    figure.suptitle(
        "A rare class on a budget: what a full buffer does with the rows that it drops",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    sizes, course = figure.subplots(1, 2, sharey=True)
    level = over_seeds(runs, None, "auc")[0, 0]
    sizes.axhline(level, color=COLORS[None], linestyle=DASHES[None], **MARKS[None])
    ends = np.arange(WINDOW, ROWS + 1, STEP)
    course.plot(
        ends,
        over_seeds(runs, None, "windows")[:, 0],
        color=COLORS[None],
        linestyle=DASHES[None],
        **MARKS[None],
    )
    for name in reversed(REPLACEMENTS):
        draw_curve(sizes, BUDGETS, over_seeds(runs, name, "auc"), name)
        draw_curve(course, ends, over_seeds(runs, name, "windows"), name)
    sizes.set_xscale("log")
    sizes.set_xticks(BUDGETS)
    sizes.xaxis.set_minor_locator(NullLocator())
    sizes.axvline(FOLLOWED, color="#bbbbbb", linewidth=1.2, zorder=0)
    beside = {"xytext": (6, 6), "textcoords": "offset points", "fontsize": 12, "color": "#777777"}
    sizes.annotate("on the right", (FOLLOWED, 0), xycoords=("data", "axes fraction"), **beside)
    sizes.set_title(f"AUC of the second half of {ROWS:,} rows", loc="left", fontsize=14, color=INK)
    sizes.set_xlabel("budget: rows kept of each class", fontsize=13)
    sizes.set_ylabel("prequential AUC", fontsize=13)
    course.set_title(
        f"AUC of the last {WINDOW:,} rows, at budget {FOLLOWED}", loc="left", fontsize=14, color=INK
    )
    course.set_xlabel("rows", fontsize=13)
    course.tick_params(labelleft=True)
    for panel in (sizes, course):
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        panel.grid(axis="y", color="#e6e6e6")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=12)
    figure.legend(
        handles=[Line2D([], [], color=COLORS[name], linestyle=DASHES[name], **MARKS[name]) for name in WORDS],
        labels=list(WORDS.values()),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=13,
        handlelength=2.8,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main(out="out/imbalanced_stream.png"):
    runs = compare()
    show(runs)
    path = Path(out)
    draw(runs, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
