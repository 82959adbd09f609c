"""Ten classes of handwritten digits as a stream
=============================================

Learn handwritten digits from a stream, in one pass, and compare with SVC.

The 8 x 8 digits of scikit-learn arrive in batches of 100 rows. Each batch is predicted first and learned
afterwards (prequential accuracy). Accuracy on 500 held-out rows is measured after each batch. `finish` then
optimizes over the rows that were kept. The reference is `sklearn.svm.SVC`, which sees all rows at once, with
the same C and gamma.

Prints the learning curve and saves it as out/digits_stream.png.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import LASVM

BLOCK = 100
HELD_OUT = 500
SEED = 0
PARAMETERS = {"C": 10, "gamma": 0.1}

OURS, STREAM, PEER = "#0b6e99", "#d9820a", "#7b3fc4"
RULE = "-" * 61


@dataclass(frozen=True)
class Point:
    """Accuracy, size and speed of the learner after a batch."""

    rows: int
    on_arrival: float
    held_out: float
    support_vectors: int
    rows_per_second: float


def follow(clf, X, y, X_held_out, y_held_out):
    """Learn the rows batch by batch, and record a point of the curve after each."""
    classes, curve = np.unique(y), []
    with tqdm(total=len(X), desc="one pass", unit="row") as bar:
        for start in range(0, len(X), BLOCK):
            X_block, y_block = X[start : start + BLOCK], y[start : start + BLOCK]
            on_arrival = clf.score(X_block, y_block) if start else float("nan")
            began = time.perf_counter()
            clf.partial_fit(X_block, y_block, classes=classes)
            seconds = time.perf_counter() - began
            curve.append(
                Point(
                    rows=start + len(X_block),
                    on_arrival=on_arrival,
                    held_out=clf.score(X_held_out, y_held_out),
                    support_vectors=len(clf.support_),
                    rows_per_second=len(X_block) / seconds,
                )
            )
            bar.update(len(X_block))
            bar.set_postfix(held_out=f"{curve[-1].held_out:.1%}")
    return curve


def show(curve):
    """Print the curve as a table."""
    print("Accuracy on each batch before it is learned, and on the held-out rows afterwards:")
    print(f"{'rows seen':>9}{'on arrival':>13}{'held out':>11}{'support vectors':>18}{'rows/s':>10}")
    print(RULE)
    for p in curve:
        on_arrival = "-" if np.isnan(p.on_arrival) else f"{p.on_arrival:.1%}"
        print(
            f"{p.rows:>9,}{on_arrival:>13}{p.held_out:>11.1%}{p.support_vectors:>18}{p.rows_per_second:>10,.0f}"
        )


def draw(curve, finished, svc, path):
    """Save the curve and the line of SVC; `finished` and `svc` are (held-out accuracy, support vectors)."""
    rows = [point.rows for point in curve]
    last = rows[-1]
    figure = Figure(figsize=(10, 6.6), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.12, w_pad=0.15)
    figure.suptitle(
        "One pass over handwritten digits: LASVM and SVC",
        x=0.015,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    panels = figure.subplots(2, 1, sharex=True, height_ratios=[2.3, 1])
    star = {"marker": "*", "markersize": 18, "markeredgecolor": "white", "linestyle": "none", "zorder": 5}
    line = {"color": OURS, "linewidth": 2.6, "marker": "o", "markersize": 6}
    for panel, level, end in zip(panels, svc, finished, strict=True):
        panel.axhline(level, color=PEER, linewidth=2, linestyle=(0, (6, 3)))
        panel.plot([last * 1.03], [end], color=OURS, **star)
        panel.grid(axis="y", color="#e6e6e6")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=12)

    accuracy, size = panels
    asked = rows[:-1]  # rows learned when the block was predicted
    accuracy.plot(
        asked,
        [p.on_arrival for p in curve[1:]],
        "o",
        color=STREAM,
        markersize=6,
        markerfacecolor="white",
    )
    accuracy.plot(rows, [p.held_out for p in curve], **line)
    accuracy.legend(
        handles=[
            Line2D([], [], color=PEER, linewidth=2, linestyle=(0, (6, 3))),
            Line2D([], [], color=OURS, **star),
            Line2D([], [], **line),
            Line2D([], [], color=STREAM, marker="o", markerfacecolor="white", linestyle="none"),
        ],
        labels=[
            f"SVC, all {last:,} rows at once: {svc[0]:.1%}",
            f"LASVM after finish(): {finished[0]:.1%}",
            f"LASVM on {HELD_OUT} held-out rows",
            f"LASVM on the next {BLOCK} rows, not yet learned",
        ],
        loc="lower right",
        fontsize=13,
        facecolor="white",
        edgecolor="none",
        framealpha=1,
        labelspacing=0.6,
    )
    lowest = min(min(p.held_out for p in curve), min(p.on_arrival for p in curve[1:]))
    accuracy.set_ylim(min(lowest, 0.9) - 0.02, 1.008)
    accuracy.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    accuracy.set_ylabel("accuracy", fontsize=14)

    size.plot(rows, [p.support_vectors for p in curve], **line)
    size.fill_between(rows, [p.support_vectors for p in curve], color=OURS, alpha=0.12, linewidth=0)
    size.annotate(
        f"SVC: {svc[1]}", (0, svc[1]), (6, -6), textcoords="offset points", va="top", color=PEER, fontsize=13
    )
    size.annotate(
        f"{finished[1]}",
        (last * 1.03, finished[1]),
        (0, -12),
        textcoords="offset points",
        va="top",
        ha="center",
        color=OURS,
        fontsize=13,
    )
    size.set_ylim(0, max(svc[1], finished[1]) * 1.15)
    size.set_xlim(0, last * 1.06)
    size.set_xticks(range(0, last, 200))
    size.set_ylabel("support vectors", fontsize=14)
    size.set_xlabel("rows learned, each once", fontsize=14)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(out="out/digits_stream.png"):
    X, y = load_digits(return_X_y=True)
    X, X_held_out, y, y_held_out = train_test_split(
        X / 16, y, test_size=HELD_OUT, shuffle=True, random_state=SEED
    )
    clf = LASVM(**PARAMETERS)
    curve = follow(clf, X, y, X_held_out, y_held_out)
    show(curve)
    clf.finish()
    finished = clf.score(X_held_out, y_held_out), len(clf.support_)

    at_once = SVC(**PARAMETERS).fit(X, y)
    svc = at_once.score(X_held_out, y_held_out), len(at_once.support_)
    print(RULE)
    print(f"LASVM, one pass and finish: {finished[0]:.1%} with {finished[1]} support vectors")
    print(f"SVC, all rows at once:      {svc[0]:.1%} with {svc[1]} support vectors")
    path = Path(out)
    draw(curve, finished, svc, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
