"""Author names told apart with few answers
========================================

Which "J. Smith" is it? Author names told apart with few answers.

Ten ambiguous names, as in Ertekin's thesis, on generated records: name, email, url, affiliation and address,
many of them missing or misspelled. Pairs of records with the same last name and first initial are compared. A
classifier learns from answers about pairs of three names which records are the same person; it then clusters
the records of the other seven names, which it has not seen.

The questions go to pairs near the decision boundary (`ActiveLinker`) or to random pairs. Prints the error on
pairs and the F1 of the clusters, and saves out/authors.png.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from everlearn import LASVM, query
from everlearn.datasets import make_author_records
from everlearn.linkage import (
    ActiveLinker,
    AuthorName,
    Blocking,
    PairFeatures,
    PairwiseLinker,
    Records,
    b_cubed_scores,
    pairwise_scores,
)

TRAIN = ("johnson", "anderson", "jones")
POINTS = (50, 100, 200, 300)
COLORS = {"near the boundary": "#0b6e99", "at random": "#d9820a"}


def new_linker():
    """The classifier, features, blocks and clusters of the thesis."""
    return PairwiseLinker(
        LASVM(C=1, gamma=0.05),
        features=PairFeatures("thesis"),
        blocking=Blocking(AuthorName()),
        clustering="dbscan",
        eps=0.3,
    )


def split(table, person):
    """Records and people of the three names that are asked about, and of each of the others."""
    last = np.array([record["name"].split()[-1].lower() for record in table])
    parts = {name: ([table[i] for i in np.flatnonzero(last == name)], person[last == name]) for name in last}
    train = [parts.pop(name) for name in TRAIN]
    return (
        [record for records, _ in train for record in records],
        np.concatenate([p for _, p in train]),
    ), parts


def scores(linker, parts):
    """Mean error on pairs, and mean F1 of the clusters: pairwise and B-cubed."""
    found = []
    for records, person in parts.values():
        linkage = linker.link(records)
        pairs = linkage.predictions.pairs
        wrong = linkage.predictions.match != (person[pairs.left] == person[pairs.right])
        clusters = linkage.clusters
        found.append(
            (wrong.mean(), pairwise_scores(person, clusters).f1, b_cubed_scores(person, clusters).f1)
        )
    return np.mean(found, axis=0)


def ask(train, parts, strategy):
    """Scores after some numbers of answers."""
    records, person = train
    curve = []

    def score(loop):
        if loop.n_answers in POINTS:
            curve.append(scores(loop.linker, parts))

    loop = ActiveLinker(new_linker(), strategy, random_state=0)
    loop.run(Records(records), oracle=person, max_labels=max(POINTS), on_answer=score)
    return np.array(curve), loop


def draw(curves, level, path):
    """Save error and F1 against the number of answers."""
    figure = Figure(figsize=(11, 5), layout="constrained")
    panels = figure.subplots(1, 2)
    for column, (panel, title) in enumerate(
        zip(panels, ("Wrong decisions on pairs (%)", "B-cubed F1 of the clusters (%)"), strict=True)
    ):
        which = 0 if column == 0 else 2
        for name, curve in curves.items():
            panel.plot(
                POINTS, 100 * curve[:, which], color=COLORS[name], linewidth=2.2, label=f"asked {name}"
            )
        panel.axhline(100 * level[which], color="#8a8a8a", linestyle="--", label="all labels")
        panel.set_title(title, loc="left", fontweight="bold")
        panel.set_xlabel("answers")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main(out="out/authors.png"):
    table, person = make_author_records(random_state=0)
    train, parts = split(table, person)
    records = Records(train[0])
    pairs = Blocking(AuthorName()).pairs(records)
    same = train[1][pairs.left] == train[1][pairs.right]
    print(f"{len(table)} records of {len(np.unique(person))} people; {len(pairs):,} pairs of three names")
    level = scores(new_linker().fit(records, pairs=pairs, y=same), parts)
    curves = {}
    print(f"{'':28}{'pair error':>12}{'pairwise F1':>13}{'B-cubed F1':>12}")
    for name, strategy in (("near the boundary", query.Margin(50)), ("at random", query.Random())):
        curves[name], loop = ask(train, parts, strategy)
        for n, line in zip(POINTS, curves[name], strict=True):
            print(
                f"{n:>4} asked {name:<18}"
                + "".join(f"{100 * v:>{w}.1f}" for v, w in zip(line, (12, 13, 12), strict=True))
            )
        print(f"     {loop.n_implied} more labels followed from these answers")
    print(
        f"{f'all {len(pairs):,} labels':<28}"
        + "".join(f"{100 * v:>{w}.1f}" for v, w in zip(level, (12, 13, 12), strict=True))
    )
    draw(curves, level, Path(out))
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
