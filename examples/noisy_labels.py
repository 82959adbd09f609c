"""Label noise and the ramp loss
=============================

Label noise: how flipped labels change the boundary, the margin and the support vectors.

Two Gaussians in the plane overlap so much that the optimal classifier, a circle, has an accuracy of only 81.5
%. In addition, a fraction of the training labels is flipped; the test labels are clean. Four learners see the
same rows with the same C and gamma. With the hinge loss of `SVC` and `LASVM`, each row on the wrong side of
its margin is a support vector, and its loss grows with the distance. The ramp loss of `LASVMNC` and
`OnlineSVMR` is constant beyond the margin of the other class: rows there are treated as mislabeled and
ignored.

Prints error and number of support vectors by the fraction of flipped labels. Saves the curves, with the four
boundaries, as out/noisy_labels.png.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.ticker import PercentFormatter
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import LASVM, LASVMNC, OnlineSVMR
from everlearn.datasets import make_gaussians

ROWS, TEST_ROWS = 1000, 2000
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4)
DRAWN = 0.2  # the fraction whose boundaries are plotted
SEEDS = 2
PARAMETERS = {"C": 1, "gamma": 0.2}
LEARNERS = {
    "SVC": lambda seed: SVC(**PARAMETERS),
    "LASVM": lambda seed: LASVM(random_state=seed, **PARAMETERS),
    "LASVMNC": lambda seed: LASVMNC(random_state=seed, **PARAMETERS),
    "OnlineSVMR": lambda seed: OnlineSVMR(random_state=seed, **PARAMETERS),
}
BEST_CIRCLE, BEST_ERROR = ((-2 / 3, 0), 2.340), 0.1849

COLORS = {"SVC": "#7b3fc4", "LASVM": "#d9820a", "LASVMNC": "#0b6e99", "OnlineSVMR": "#2e8b57"}
DASHES = {"SVC": (0, (5, 2)), "LASVM": "-", "LASVMNC": "-", "OnlineSVMR": "-"}
NARROW, WIDE, INK = "#2a6f97", "#c8553d", "#333333"
VIEW = (-4.6, 7.4, -5.4, 5.4)


@dataclass(frozen=True)
class Run:
    """One learner on one data set."""

    learner: str
    share: float
    seed: int
    error: float
    support_vectors: int


def draw_rows(share, seed):
    """Training rows with a fraction of their labels flipped, and clean test rows."""
    X, y = make_gaussians(ROWS, label_noise=share, random_state=2 * seed)
    return X, y, *make_gaussians(TEST_ROWS, random_state=2 * seed + 1)


def compare():
    """Fit each learner at each fraction of flipped labels, on several data sets."""
    runs, drawn = [], {}
    with tqdm(total=len(SHARES) * SEEDS * len(LEARNERS), desc="learning", unit="fit") as bar:
        for share in SHARES:
            for seed in range(SEEDS):
                X, y, X_test, y_test = draw_rows(share, seed)
                for name, make in LEARNERS.items():
                    clf = make(seed).fit(X, y)
                    error = 1 - clf.score(X_test, y_test)
                    runs.append(Run(name, share, seed, error, len(clf.support_)))
                    if share == DRAWN and seed == 0:
                        drawn[name] = clf, runs[-1]
                    bar.update()
    return runs, drawn


def over_seeds(runs, name, what):
    """Mean, minimum and maximum over the data sets, one row for each fraction."""
    values = [
        [getattr(run, what) for run in runs if run.learner == name and run.share == share] for share in SHARES
    ]
    return np.array([(np.mean(v), min(v), max(v)) for v in values])


def show(runs):
    """Print the curves as a table."""
    print(
        f"Test error and (support vectors) when part of {ROWS:,} training labels is flipped, {SEEDS} draws:"
    )
    print(f"{'flipped':>7}" + "".join(f"{name:>16}" for name in LEARNERS))
    print("-" * (7 + 16 * len(LEARNERS)))
    curves = {
        name: (over_seeds(runs, name, "error"), over_seeds(runs, name, "support_vectors"))
        for name in LEARNERS
    }
    for row, share in enumerate(SHARES):
        cells = [f"{error[row, 0]:.1%} ({size[row, 0]:.0f})" for error, size in curves.values()]
        print(f"{share:>7.0%}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"Bayes error: {BEST_ERROR:.1%}")


def draw_boundary(panel, name, clf, run):
    """Rows, support vectors, boundary and margins of one learner."""
    X, y, _, _ = draw_rows(DRAWN, 0)
    left, right, bottom, top = VIEW
    across, up = np.meshgrid(np.linspace(left, right, 220), np.linspace(bottom, top, 200))
    scores = clf.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    kept = np.zeros(len(y), bool)
    kept[clf.support_] = True
    panel.contourf(across, up, scores, levels=[-np.inf, 0, np.inf], colors=[WIDE, NARROW], alpha=0.08)
    for label, color in ((1, NARROW), (-1, WIDE)):
        panel.scatter(*X[(y == label) & ~kept].T, s=6, color=color, alpha=0.3, linewidth=0)
        panel.scatter(*X[(y == label) & kept].T, s=16, color=color, edgecolor="white", linewidth=0.4)
    panel.contour(across, up, scores, levels=[-1, 1], colors=INK, linewidths=1.3, linestyles=[(0, (4, 2.5))])
    panel.contour(across, up, scores, levels=[0], colors=INK, linewidths=2.4)
    panel.add_patch(Circle(*BEST_CIRCLE, fill=False, edgecolor="white", linewidth=3.2, alpha=0.8))
    panel.add_patch(
        Circle(*BEST_CIRCLE, fill=False, edgecolor="#8a8a8a", linewidth=1.3, linestyle=(0, (1, 1.2)))
    )
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    panel.spines[:].set_color("#cccccc")
    panel.set_title(name, loc="left", fontsize=15, fontweight="bold", color=COLORS[name], pad=24)
    panel.text(
        0,
        1.02,
        f"{run.support_vectors} support vectors, {1 - run.error:.1%} correct",
        transform=panel.transAxes,
        fontsize=11.5,
        color=INK,
        va="bottom",
    )


def draw_curve(panel, runs, what):
    """A curve for each learner, with the range over the data sets."""
    shares = np.array(SHARES)
    for name, color in COLORS.items():
        mean, low, high = over_seeds(runs, name, what).T
        panel.fill_between(shares, low, high, color=color, alpha=0.12, linewidth=0)
        panel.plot(
            shares, mean, color=color, linewidth=2.4, linestyle=DASHES[name], marker="o", markersize=5.5
        )
    panel.axvline(DRAWN, color="#bbbbbb", linewidth=1.2, zorder=0)
    panel.grid(axis="y", color="#e6e6e6")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=12)
    panel.set_xticks(SHARES)
    panel.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panel.set_xlabel("training labels flipped", fontsize=13)


def draw(runs, drawn, path):
    """Save the four boundaries and the two curves below them."""
    figure = Figure(figsize=(14, 9.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.14)
    figure.suptitle(
        f"Two overlapping Gaussians, {DRAWN:.0%} of the labels flipped: what becomes a support vector\n",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
        linespacing=0.4,
    )
    above, below = figure.subfigures(2, 1, height_ratios=[0.96, 1])
    panels = above.subplots(1, len(LEARNERS))
    for panel, (name, (clf, run)) in zip(panels, drawn.items(), strict=True):
        draw_boundary(panel, name, clf, run)
    dot = {"marker": "o", "linestyle": "none"}
    above.legend(
        handles=[
            Line2D([], [], color=INK, linewidth=2.4),
            Line2D([], [], color=INK, linewidth=1.3, linestyle=(0, (4, 2.5))),
            Line2D([], [], color="#8a8a8a", linewidth=1.3, linestyle=(0, (1, 1.2))),
            Line2D([], [], color=NARROW, markersize=6, **dot),
            Line2D([], [], color=WIDE, markersize=6, **dot),
            Line2D([], [], color="#bbbbbb", markersize=3.5, **dot),
        ],
        labels=[
            "boundary",
            "margins",
            "best possible boundary",
            "support vector of the narrow class",
            "of the wide class",
            "other row",
        ],
        loc="outside lower center",
        ncols=6,
        frameon=False,
        fontsize=12,
    )

    errors, sizes = below.subplots(1, 2)
    draw_curve(errors, runs, "error")
    draw_curve(sizes, runs, "support_vectors")
    errors.axhline(BEST_ERROR, color="#8a8a8a", linewidth=1.3, linestyle=(0, (1, 1.2)))
    errors.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    errors.set_title("error on clean test rows", loc="left", fontsize=14)
    sizes.set_title(f"support vectors of {ROWS:,} rows", loc="left", fontsize=14)
    sizes.set_ylim(0, None)
    below.legend(
        handles=[
            Line2D([], [], color=color, linewidth=2.4, linestyle=DASHES[name], marker="o", markersize=5.5)
            for name, color in COLORS.items()
        ],
        labels=[
            f"{name}, {'ramp' if name in ('LASVMNC', 'OnlineSVMR') else 'hinge'} loss" for name in COLORS
        ],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=13,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def main(out="out/noisy_labels.png"):
    runs, drawn = compare()
    show(runs)
    path = Path(out)
    draw(runs, drawn, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
