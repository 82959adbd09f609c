"""Two moons with a handful of labels
==================================

Semi-supervised learning on a stream: two moons with a handful of labels, exemplars and questions.

Batches of 100 rows of two interleaving half circles; the first batch has 2, 4 or 8 labels, the others none.
`StreamS3VM` labels each batch from the labels and the similarity of rows, and keeps the last batch and
exemplars of all batches before. The kernel is narrow: only neighbors are similar, and a label spreads from
row to row to the far end of its moon. For comparison, an SVM on the labels alone; both are told that the
moons are equally large. With two labels, an occasional batch is split across the moons; later batches are
right again, because predicted labels are not kept.

Exemplars and questions are selected to be diverse. Without diversity (lam1 near 0) exemplars crowd where rows
are dense, and questions where the model is uncertain. Both are drawn for one batch.

Prints accuracy by batch, averaged over several streams, and the distance from rows to the nearest exemplar
and question. Saves curves, labels, exemplars and questions as out/two_moons.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import Exemplars, StreamS3VM, SubmodS3VM, query
from everlearn.datasets import make_two_moons

ROWS, BATCHES = 100, 8
LABELS = (2, 4, 8)
SEEDS = 4
DRAWN = (0, 2)  # the plotted stream: its number, and its number of labels
EXEMPLARS, QUESTIONS = 20, 8
KERNEL = {"kernel": "rbf", "gamma": 20.0}
OFF = 1e-9  # lam1 of "no diversity"

COLORS = {2: "#0b6e99", 4: "#d9820a", 8: "#5b8c3e"}
ONE, OTHER, INK, PALE = "#2a6f97", "#c8553d", "#333333", "#bdbdbd"


def draw_stream(seed, labels):
    """Batches with their true labels, and with only a few labels of the first batch."""
    rng = np.random.default_rng(seed)
    batches = []
    for number in range(BATCHES):
        X, y = make_two_moons(ROWS, noise=0.1, random_state=1000 * seed + number)
        known = np.full(ROWS, np.nan)
        if number == 0:
            for moon in (-1, 1):
                told = rng.permutation(np.flatnonzero(y == moon))[: labels // 2]
                known[told] = moon
        batches.append((X, y, known))
    return batches


def follow(batches):
    """Accuracy of the stream and of the SVM on the labels alone, batch by batch; then the stream itself."""
    s3vm = SubmodS3VM(**KERNEL, scaling="none", positive_fraction=0.5)
    stream = StreamS3VM(s3vm, estimator=None, random_state=0)
    X, _, known = batches[0]
    told = ~np.isnan(known)
    svm = SVC(C=1, **KERNEL).fit(X[told], known[told])
    found, alone = [], []
    for X, y, known in batches:
        stream.partial_fit(X, known)
        rest = np.isnan(known)
        found.append(np.mean(stream.transduction_[rest] == y[rest]))
        decision = svm.decision_function(X)
        half = np.where(decision > np.median(decision), 1, -1)
        alone.append(np.mean(half[rest] == y[rest]))
    return found, alone, stream


def compare():
    """Accuracy by number of labels, stream and batch, of StreamS3VM and of the SVM."""
    found, alone = (np.zeros((len(LABELS), SEEDS, BATCHES)) for _ in range(2))
    for i, labels in enumerate(tqdm(LABELS, desc="streams", unit="setting")):
        for seed in range(SEEDS):
            found[i, seed], alone[i, seed], _ = follow(draw_stream(seed, labels))
    return found, alone


def choose(batches):
    """Exemplars of two batches and questions about one more, with and without diversity."""
    (X1, _, known1), (X2, _, known2) = batches[0], batches[1]
    X, known = np.vstack([X1, X2]), np.concatenate([known1, known2])
    told = ~np.isnan(known)
    chosen = {}
    for words, lam1 in (("diverse", 1.0), ("diversity off", OFF)):
        exemplars = Exemplars(EXEMPLARS, weights=(lam1, 1.0, 1.0), scaling="none", **KERNEL).fit(X, known)
        # The thesis' weights, 2 n / (number of labels) for the disagreement of the labels.
        strategy = query.Submodular((lam1, 2 * QUESTIONS / told.sum(), 0.0), scaling="none", **KERNEL)
        asked = strategy.query(None, X2, QUESTIONS, labeled=(X[told], known[told]))
        chosen[words] = X[exemplars.indices_], X2[asked]
    return (X, X2, X[told], known[told]), chosen


def distance(rows, points):
    """Mean distance from a row to the nearest point."""
    return np.linalg.norm(rows[:, np.newaxis] - points, axis=2).min(axis=1).mean()


def show(found, alone, places, chosen):
    """Print the curves and the distances."""
    print(f"Accuracy, mean of {SEEDS} streams (in brackets: SVM on the labels alone)")
    print(f"{'batch':>5}" + "".join(f"{f'{labels} labels':>20}" for labels in LABELS))
    print("-" * (5 + 20 * len(LABELS)))
    for number in range(BATCHES):
        cells = [
            f"{f'{found[i, :, number].mean():.1%} ({alone[i, :, number].mean():.1%})':>20}"
            for i in range(len(LABELS))
        ]
        print(f"{number + 1:>5}" + "".join(cells))
    rows, last, _, _ = places
    print("Mean distance from a row to the nearest selected row:")
    for words, (exemplars, questions) in chosen.items():
        far = distance(rows, exemplars), distance(last, questions)
        print(f"  {words:<14} exemplars {far[0]:.2f}, questions {far[1]:.2f}")


def plain(panel, title):
    panel.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.45, 2.45), ylim=(-0.95, 1.4))
    panel.spines[:].set_color("#cccccc")
    panel.set_title(title, loc="left", fontsize=12.5)


def draw_labels(panel, batches, stream):
    """The last batch with its predicted labels, and the given labels."""
    X, y, _ = batches[-1]
    found = stream.transduction_
    for moon, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*X[found == moon].T, s=26, color=color, linewidth=0)
    wrong = found != y
    panel.scatter(*X[wrong].T, s=90, facecolor="none", edgecolor=INK, linewidth=1.4)
    first, _, known = batches[0]
    for moon, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*first[known == moon].T, s=330, marker="*", color=color, edgecolor="white", zorder=4)
    plain(panel, f"batch {BATCHES} from {DRAWN[1]} labels of batch 1: {np.mean(~wrong):.0%} correct")


def draw_chosen(panel, rows, points, told, labels, title, marker):
    panel.scatter(*rows.T, s=14, color=PALE, linewidth=0)
    panel.scatter(*points.T, s=105, marker=marker, color=INK, edgecolor="white", linewidth=0.9, zorder=3)
    for moon, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*told[labels == moon].T, s=260, marker="*", color=color, edgecolor="white", zorder=4)
    plain(panel, title)


def draw_curves(panel, found, alone):
    places = np.arange(1, BATCHES + 1)
    for i, labels in enumerate(LABELS):
        color = COLORS[labels]
        panel.plot(places, found[i].mean(axis=0), color=color, linewidth=2.4, marker="o", markersize=5.5)
        panel.plot(places, alone[i].mean(axis=0), color=color, linewidth=1.6, linestyle=(0, (2, 1.4)))
    panel.grid(axis="y", color="#e6e6e6")
    panel.spines[["top", "right"]].set_visible(False)
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.tick_params(labelsize=11)
    panel.set(xlabel="batch", ylim=(0.37, 1.005))
    panel.set_title(f"accuracy, mean of {SEEDS} streams", loc="left", fontsize=12.5)
    handles = [Line2D([], [], color=COLORS[n], linewidth=2.4, marker="o", markersize=5.5) for n in LABELS]
    handles.append(Line2D([], [], color=INK, linewidth=1.6, linestyle=(0, (2, 1.4))))
    words = [f"{labels} labels" for labels in LABELS] + ["SVM on the labels alone"]
    panel.legend(handles, words, fontsize=11, frameon=False, loc="lower center", ncols=2)


def draw(found, alone, batches, stream, places, chosen, path):
    """Save the picture."""
    rows, last, told, labels = places
    figure = Figure(figsize=(16, 8.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.suptitle(
        "A handful of labels, batch by batch: what is labeled, kept and asked about",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    panels = figure.subplots(2, 3, width_ratios=[1.05, 1, 1])
    draw_labels(panels[0, 0], batches, stream)
    draw_curves(panels[1, 0], found, alone)
    for column, (words, (exemplars, questions)) in enumerate(chosen.items(), start=1):
        title = f"{EXEMPLARS} exemplars of {len(rows)} rows, {words}"
        draw_chosen(panels[0, column], rows, exemplars, told, labels, title, "o")
        title = f"{QUESTIONS} questions about {len(last)} rows, {words}"
        draw_chosen(panels[1, column], last, questions, told, labels, title, "D")
    star = {"marker": "*", "linestyle": "none", "markersize": 16}
    figure.legend(
        handles=[
            Line2D([], [], color=ONE, **star),
            Line2D([], [], color=OTHER, **star),
            Line2D([], [], marker="o", linestyle="none", markersize=9, mfc="none", mec=INK, mew=1.4),
            Line2D([], [], marker="o", linestyle="none", markersize=9, color=INK),
            Line2D([], [], marker="D", linestyle="none", markersize=8, color=INK),
        ],
        labels=["label", "label of the other moon", "labeled wrongly", "exemplar", "question"],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=12,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main(out="out/two_moons.png"):
    found, alone = compare()
    batches = draw_stream(*DRAWN)
    _, _, stream = follow(batches)
    places, chosen = choose(batches)
    show(found, alone, places, chosen)
    path = Path(out)
    draw(found, alone, batches, stream, places, chosen, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
