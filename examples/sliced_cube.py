"""Where unlabeled rows show the gap
=================================

Semi-supervised learning on a stream: a cube cut in two, with a handful of labels.

Points of a cube that is cut across its first axis, with an empty gap between the halves. Each half is flat:
its corners are closer to the other half than to each other. A supervised learner draws its boundary between
the few labeled rows, wherever they are; unlabeled rows show where the gap is.

Batches of 100 rows arrive, with labels in the first batch only. `StreamS3VM` labels each batch and keeps the
labels and a few exemplars of all batches before. For comparison: an SVM with the same kernel on the labels
alone, and `SubmodS3VM` on all rows so far, which a stream cannot keep. All three are told that the halves are
equally large; where the rows of a batch are not quite half and half, some predictions must be wrong.

Prints accuracy by the number of labels and the rows kept at the end, averaged over several streams. Saves the
curves and the last batch of one stream as out/sliced_cube.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter
from sklearn.svm import SVC
from tqdm import tqdm

from everlearn import StreamS3VM, SubmodS3VM
from everlearn.datasets import make_sliced_cube

ROWS, BATCHES = 100, 6
LABELS = (2, 4, 8)
CURVES = 2  # labels of the streams that are drawn
SEEDS = 4
DRAWN = 0  # the stream of the cubes
KERNEL = {"kernel": "rbf", "gamma": 20.0}

WORDS = {"svm": "SVM on the labels alone", "stream": "StreamS3VM", "all": "SubmodS3VM on all rows so far"}
COLORS = {"svm": "#8a8a8a", "stream": "#0b6e99", "all": "#d9820a"}
DASHES = {"svm": (0, (2, 1.4)), "stream": "-", "all": (0, (5, 2))}
ONE, OTHER, INK = "#2a6f97", "#c8553d", "#222222"


def draw_stream(seed, labels):
    """Batches with their true labels, and with only a few labels of the first batch."""
    rng = np.random.default_rng(seed)
    batches = []
    for number in range(BATCHES):
        X, y = make_sliced_cube(ROWS, random_state=1000 * seed + number)
        known = np.full(ROWS, np.nan)
        if number == 0:
            for side in (-1, 1):
                told = rng.permutation(np.flatnonzero(y == side))[: labels // 2]
                known[told] = side
        batches.append((X, y, known))
    return batches


def s3vm():
    """The semi-supervised learner, for all rows or for a stream."""
    return SubmodS3VM(**KERNEL, scaling="none", positive_fraction=0.5, estimator=None)


class Labels:
    """The SVM on the labels so far; the higher-scoring half of a batch is positive."""

    def __init__(self):
        self.X, self.y = [], []

    def label(self, X, known):
        """Label a batch; return the labels and the number of rows kept."""
        told = ~np.isnan(known)
        self.X.append(X[told])
        self.y.append(known[told])
        svm = SVC(C=1, **KERNEL).fit(np.vstack(self.X), np.concatenate(self.y))
        decision = svm.decision_function(X)
        return np.where(decision > np.median(decision), 1, -1), sum(map(len, self.y))


class Stream:
    """StreamS3VM, and the number of rows it keeps."""

    def __init__(self):
        self.model = StreamS3VM(s3vm(), estimator=None, random_state=0)

    def label(self, X, known):
        """Label a batch; return the labels and the number of rows kept."""
        self.model.partial_fit(X, known)
        return self.model.transduction_, self.model.n_stored_


class Everything:
    """SubmodS3VM on all rows so far."""

    def __init__(self):
        self.X, self.y = [], []

    def label(self, X, known):
        """Label a batch; return the labels and the number of rows kept."""
        self.X.append(X)
        self.y.append(known)
        model = s3vm().fit(np.vstack(self.X), np.concatenate(self.y))
        return model.transduction_[-len(X) :], sum(map(len, self.y))


def follow(batches):
    """Accuracy by batch and rows kept at the end, by learner; and the labels of the last batch."""
    learners = {"svm": Labels(), "stream": Stream(), "all": Everything()}
    right = {name: [] for name in learners}
    for X, y, known in batches:
        answers = {name: learner.label(X, known) for name, learner in learners.items()}
        rest = np.isnan(known)
        for name, (labels, _) in answers.items():
            right[name].append(np.mean(labels[rest] == y[rest]))
    return right, {name: held for name, (_, held) in answers.items()}, answers


def compare():
    """Accuracy by learner, number of labels, stream and batch; rows kept at the end."""
    right = {name: np.zeros((len(LABELS), SEEDS, BATCHES)) for name in WORDS}
    held = {name: np.zeros((len(LABELS), SEEDS)) for name in WORDS}
    for i, labels in enumerate(tqdm(LABELS, desc="streams", unit="setting")):
        for seed in range(SEEDS):
            found, kept, _ = follow(draw_stream(seed, labels))
            for name in WORDS:
                right[name][i, seed], held[name][i, seed] = found[name], kept[name]
    return right, held


def show(right, held):
    """Print means over streams and batches."""
    print(f"Accuracy, mean of {BATCHES} batches and {SEEDS} streams (rows kept at the end)")
    print(f"{'labels':>6}" + "".join(f"{words:>32}" for words in WORDS.values()))
    print("-" * (6 + 32 * len(WORDS)))
    for i, labels in enumerate(LABELS):
        cells = [f"{right[name][i].mean():.1%} ({held[name][i].mean():.0f})" for name in WORDS]
        print(f"{labels:>6}" + "".join(f"{cell:>32}" for cell in cells))


def draw_cube(panel, name, batches, labels):
    """The last batch with its predicted labels, and the given labels of the first batch."""
    X, y, _ = batches[-1]
    wrong = labels != y
    for side, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*X[labels == side].T, s=24, color=color, depthshade=False, linewidth=0)
    panel.scatter(*X[wrong].T, s=95, facecolor="none", edgecolor=INK, linewidth=1.3, depthshade=False)
    first, _, known = batches[0]
    for side, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(
            *first[known == side].T, s=420, marker="*", color=color, edgecolor=INK, depthshade=False
        )
    panel.view_init(elev=14, azim=-82)
    panel.set(xticks=[], yticks=[], zticks=[], xlim=(0, 1), ylim=(0, 1), zlim=(0, 1))
    panel.set_xlabel("first axis", fontsize=11, labelpad=-10)
    panel.set_box_aspect((1, 1, 1), zoom=1.16)
    panel.set_title(f"{WORDS[name]}: {np.mean(~wrong):.0%} correct", fontsize=13.5, y=1.0)


def draw_curves(panel, right):
    places = np.arange(1, BATCHES + 1)
    for name, words in WORDS.items():
        values = right[name][LABELS.index(CURVES)]
        if name != "all":
            low, high = values.min(axis=0), values.max(axis=0)
            panel.fill_between(places, low, high, color=COLORS[name], alpha=0.16, linewidth=0)
        style = {"color": COLORS[name], "linestyle": DASHES[name], "linewidth": 2.4}
        panel.plot(places, values.mean(axis=0), label=words, **style)
    panel.grid(axis="y", color="#e6e6e6")
    panel.spines[["top", "right"]].set_visible(False)
    panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.tick_params(labelsize=12)
    panel.set_xlabel("batch", fontsize=13)
    panel.set(ylim=(None, 1.005))
    panel.set_title(f"{CURVES} labels: mean and range of {SEEDS} streams", loc="left", fontsize=13.5)
    panel.legend(fontsize=11.5, frameon=False, loc="lower left")


def draw(right, batches, answers, path):
    """Save the cubes and the curves."""
    figure = Figure(figsize=(16, 6.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
    figure.suptitle(
        f"A cube cut in two, and {CURVES} labels: batch {BATCHES} of a stream",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    left, side = figure.subfigures(1, 2, width_ratios=[1.75, 1])
    panels = left.subplots(1, 2, subplot_kw={"projection": "3d"})
    for panel, name in zip(panels, ("svm", "stream"), strict=True):
        draw_cube(panel, name, batches, answers[name][0])
    dot = {"marker": "o", "linestyle": "none", "markersize": 8}
    left.legend(
        handles=[
            Line2D([], [], color=ONE, **dot),
            Line2D([], [], color=OTHER, **dot),
            Line2D([], [], mfc="none", mec=INK, mew=1.3, **(dot | {"markersize": 10})),
            Line2D([], [], marker="*", linestyle="none", markersize=17, mfc="white", mec=INK),
        ],
        labels=["labeled +1", "labeled -1", "labeled wrongly", "given label (in batch 1)"],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=12,
    )
    draw_curves(side.subplots(), right)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main(out="out/sliced_cube.png"):
    right, held = compare()
    show(right, held)
    batches = draw_stream(DRAWN, CURVES)
    _, _, answers = follow(batches)
    path = Path(out)
    draw(right, batches, answers, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
