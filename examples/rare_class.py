"""A rare class and synthetic rows
===============================

A rare class: random queries, queries near the boundary, and synthetic rows of VIRTUAL.

One of the three waveform classes against the other two, thinned to 2, 8 and 32 rows of the others for each of
its own. Of random rows, almost none belong to the rare class; near the boundary both classes are frequent:
`ActiveLearner` with `query.Margin` asks about these. `SupportSaturation` stops when the number of support
vectors hardly changes any more; here, asking continues, to show what the stop would have missed. `VIRTUAL`
selects rows in the same way, adds synthetic rows of the rare class next to its support vectors, and uses the
same stopping rule. To find neighbors it must know all labels of the rare class. Its curve therefore counts
learned rows instead of labels, not including synthetic rows.

All have the same C and gamma, start with five rows of each class, and are scored after `finish` by the
g-means, the geometric mean of the recalls of both classes. The dashed line is the score with all labels.

Prints points of the curves and saves the curves as out/rare_class.png.
"""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter, StrMethodFormatter
from tqdm import tqdm

from everlearn import LASVM, VIRTUAL, ActiveLearner, query
from everlearn.datasets import make_waveform
from everlearn.metrics import g_means
from everlearn.query.stopping import Progress, SupportSaturation

RATIOS = (2, 8, 32)  # rows of the other classes for each of the rare one
ROWS, TEST_ROWS = 3000, 2000
LABELS, EVERY = 600, 50
TABLE = (100, 300, 600)
SEEDS, ORDERS = 2, 4  # data sets, and random orders of each
FIRST = 5  # initial rows of each class
PARAMETERS = {"C": 1, "gamma": 0.05}
# Support vectors are saturated when their number changes by at most 2 % over 50 rows.
STILL = {"n_iter_no_change": 50, "rtol": 0.02}
VIRTUAL_ROWS = (50, 150, 400, -1)  # -1 goes on until it stops by itself

COLORS = {"random": "#d9820a", "margin": "#0b6e99", "VIRTUAL": "#7b3fc4", "all labels": "#8a8a8a"}
INK = "#333333"
STAR = {"marker": "*", "markersize": 17, "markeredgecolor": "white", "linestyle": "none", "zorder": 5}


@dataclass(frozen=True)
class Curve:
    """Results of one method on one data set: (labels, g-means), and where it would stop."""

    points: np.ndarray
    stop: tuple[int, float] | None


def draw_rows(ratio, seed):
    """Waveform data with the first class thinned to the ratio; test rows are not thinned."""
    (X, y), (X_test, y_test) = (
        make_waveform(n, binary=True, random_state=s) for n, s in ((ROWS, seed), (TEST_ROWS, 1000 + seed))
    )
    many, rare = np.flatnonzero(y == -1), np.flatnonzero(y == 1)
    few = np.random.default_rng(seed).permutation(rare)[: len(many) // ratio]
    keep = np.concatenate([many, few])
    return X[keep], y[keep], (X_test, y_test)


def finished_g_means(model, X, y):
    """The g-means of a finished copy of the learner."""
    return g_means(y, deepcopy(model).finish().predict(X))


def ask(X, y, test, seed):
    """Margin queries; records after which label the support vectors are saturated."""
    strategy = query.Margin(pool_size=59, random_state=seed)
    loop = ActiveLearner(LASVM(**PARAMETERS), strategy, random_state=seed)
    loop.run(
        X, y, LABELS - 2 * FIRST, initial_labels=FIRST, test=test, scoring=finished_g_means, score_every=EVERY
    )
    points, saturation = np.column_stack(loop.history.scores()), SupportSaturation(**STILL)
    for record in loop.history:
        saturation.update(Progress(record["n_labels"], n_support=record["n_support"]))
        if saturation.verdict().stop:
            return loop, Curve(points, (record["n_labels"], np.interp(record["n_labels"], *points.T)))
    return loop, Curve(points, None)


def take_at_random(X, y, test, first, seed):
    """Labels of random rows after the same initial rows, learned in batches."""
    order = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(len(y)), first))
    order = np.concatenate([first, order])
    clf, points = LASVM(**PARAMETERS), []
    for start in range(0, LABELS, EVERY):
        rows = order[start : start + EVERY]
        clf.partial_fit(X[rows], y[rows], classes=[-1, 1])
        points.append((start + EVERY, finished_g_means(clf, *test)))
    return Curve(np.array(points), None)


def make_rows(X, y, test, seed):
    """VIRTUAL with increasing numbers of rows, until it stops."""
    points = []
    for limit in VIRTUAL_ROWS:
        clf = VIRTUAL(max_iter=limit, minority_class=1, random_state=seed, **STILL, **PARAMETERS).fit(X, y)
        points.append((clf.n_labels_, g_means(test[1], clf.predict(test[0]))))
    return Curve(np.array(points), points[-1])


def compare():
    """All methods at each ratio, on several data sets."""
    found = {ratio: {name: [] for name in COLORS} for ratio in RATIOS}
    with tqdm(total=len(RATIOS) * SEEDS, desc="asking", unit="draw") as bar:
        for ratio, ways in found.items():
            for seed in range(SEEDS):
                X, y, test = draw_rows(ratio, seed)
                everything = LASVM(epochs=3, random_state=seed, **PARAMETERS).fit(X, y)
                level = g_means(test[1], everything.predict(test[0]))
                ways["all labels"].append(Curve(np.array([(len(y), level)]), None))
                loop, curve = ask(X, y, test, seed)
                ways["margin"].append(curve)
                first = [record["row"] for record in loop.history[: 2 * FIRST]]
                for order in range(ORDERS):
                    ways["random"].append(take_at_random(X, y, test, first, [seed, order]))
                ways["VIRTUAL"].append(make_rows(X, y, test, seed))
                bar.update()
    return found


def mean_curve(curves):
    """Labels, and mean, minimum and maximum score over the data sets."""
    points = np.array([curve.points for curve in curves])
    scores = points[:, :, 1]
    return points[:, :, 0].mean(axis=0), scores.mean(axis=0), scores.min(axis=0), scores.max(axis=0)


def mean_stop(curves):
    """Labels and score where a method would stop, if it does on all data sets."""
    stops = [curve.stop for curve in curves]
    return None if None in stops else np.mean(stops, axis=0)


def show(found):
    """Print points of the curves."""
    print(
        f"G-means (%) on {TEST_ROWS:,} test rows, mean of {SEEDS} data sets, and where learning would stop:"
    )
    above = f"{'':>5}{'all':>8}   |{'asked at random':^18}|{'asked near the boundary':^38}|{'VIRTUAL':^20}"
    heads = "".join(f"{n:>6,}" for n in TABLE)
    print(above)
    print(f"{'ratio':>5}{'labels':>8}   |{heads}|{heads}{'stops at':>20}|{'stops at':>20}")
    print("-" * len(above))
    for ratio, ways in found.items():
        cells = [f"{100 * mean_curve(ways['all labels'])[1][0]:>8.1f}   "]
        for name in ("random", "margin"):
            labels, scores, _, _ = mean_curve(ways[name])
            cells.append("".join(f"{100 * score:>6.1f}" for score in np.interp(TABLE, labels, scores)))
        cells[-1] += f"{stop_in_words(ways['margin']):>20}"
        print(f"{ratio:>5}" + "|".join([*cells, f"{stop_in_words(ways['VIRTUAL']):>20}"]))


def stop_in_words(curves):
    """Labels and score where it stops, or on how many data sets it does not."""
    stop = mean_stop(curves)
    if stop is None:
        return f"{sum(curve.stop is not None for curve in curves)} of {len(curves)} draws"
    return f"{stop[0]:,.0f}: {100 * stop[1]:.1f}"


def draw_panel(panel, ways):
    """The curves at one ratio."""
    labels, level, _, _ = mean_curve(ways["all labels"])
    panel.axhline(level[0], color=COLORS["all labels"], linewidth=1.6, linestyle=(0, (5, 2)))
    for name in ("random", "margin", "VIRTUAL"):
        labels, mean, low, high = mean_curve(ways[name])
        panel.fill_between(labels, low, high, color=COLORS[name], alpha=0.12, linewidth=0)
        panel.plot(labels, mean, color=COLORS[name], linewidth=2.4, solid_capstyle="round")
        stop = mean_stop(ways[name])
        if stop is not None:
            panel.plot(*stop, color=COLORS[name], **STAR)
    panel.grid(axis="y", color="#e6e6e6")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=12)


def draw(found, path):
    """Save the curves, one panel for each ratio."""
    figure = Figure(figsize=(16, 5.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.12)
    figure.suptitle(
        "The rarer a class, the more it matters which rows are labeled",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    panels = figure.subplots(1, len(RATIOS), sharex=True, sharey=True)
    for panel, (ratio, ways) in zip(panels, found.items(), strict=True):
        draw_panel(panel, ways)
        panel.set_title(f"{ratio} : 1", loc="left", fontsize=15, fontweight="bold", color=INK)
        panel.set_title(f"one row in {ratio + 1}", loc="right", fontsize=12, color=INK)
    panels[0].set_ylabel("g-means on test rows", fontsize=13)
    panels[0].set(xlim=(0, 1100), ylim=(0, 1), xticks=(0, 500, 1000))
    panels[0].yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panels[0].xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panels[len(RATIOS) // 2].set_xlabel("labels (VIRTUAL: rows learned)", fontsize=13)
    figure.legend(
        handles=[
            *(Line2D([], [], color=COLORS[name], linewidth=2.4) for name in ("random", "margin", "VIRTUAL")),
            Line2D([], [], color=INK, **STAR),
            Line2D([], [], color=COLORS["all labels"], linewidth=1.6, linestyle=(0, (5, 2))),
        ],
        labels=[
            "asked at random",
            "asked near the boundary",
            "VIRTUAL",
            "support vectors saturated: time to stop",
            "all labels",
        ],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=13,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main(out="out/rare_class.png"):
    found = compare()
    show(found)
    path = Path(out)
    draw(found, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
