"""The same paper in two libraries
===============================

The same paper in two libraries, found with 200 answers.

    python examples/citations.py

With the folder of data sets (EVERLEARN_DATA) it links DBLP and ACM: 4,681 records with title, authors, venue
and year, and the labeled candidate pairs of Magellan. Without, it links generated citations. It asks about
200 pairs, prints F1 on pairs that were not asked about, and saves out/citations.png.
"""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from everlearn import query
from everlearn.linkage import ActiveLinker, Pairs, Records, default_blocking, pair_scores

POINTS = (20, 30, 50, 75, 100, 150, 200)
COLORS = {"asked": "#0b6e99", "at random": "#d9820a"}
TOPICS = ["indexing", "joins", "mining", "streams", "caching", "recovery", "views", "graphs", "sampling"]
WAYS = ["efficient", "adaptive", "scalable", "approximate", "parallel", "incremental", "robust", "online"]
PLACES = ["networks", "warehouses", "sensors", "clouds"]
NAMES = [
    "Ada Bell",
    "Bo Cruz",
    "Cy Diaz",
    "Di Evans",
    "Ed Fox",
    "Flo Gray",
    "Gil Hall",
    "Hana Ito",
    "Ian Jain",
]
VENUES = {"VLDB": "Very Large Data Bases", "SIGMOD": "Management of Data", "ICDE": "Data Engineering"}


def generated(n=500, seed=0):
    """Two tables of citations and the paper of each record.

    Half of the papers are in both tables. A third follow up the one before: a word of the title is new.
    """
    rng = np.random.default_rng(seed)
    tables, papers = ([], []), ([], [])
    words, authors, year = [], [], 2000
    for paper in range(n):
        if words and rng.random() < 0.35:
            words = list(words)
            words[rng.choice([0, 1, 3, 4])] = str(rng.choice(WAYS + TOPICS))
            year += int(rng.integers(2))
        else:
            a, b = rng.choice(TOPICS, 2, replace=False)
            words = [rng.choice(WAYS), a, "for", rng.choice(WAYS), b, "in", rng.choice(PLACES)]
            authors, year = rng.choice(NAMES, rng.integers(1, 4), False), int(rng.integers(1995, 2004))
        venue = str(rng.choice(list(VENUES)))
        for side in (0, 1) if rng.random() < 0.5 else (int(rng.integers(2)),):
            title, names = list(words), list(authors)
            if side and rng.random() < 0.3:
                del title[rng.integers(len(title))]
            if side and rng.random() < 0.5:
                names = [f"{name[0]}. {name.split()[1]}" for name in names]
            row = {"title": " ".join(title), "authors": ", ".join(names), "year": year + (rng.random() < 0.1)}
            tables[side].append({**row, "venue": VENUES[venue] if side else venue})
            papers[side].append(paper)
    left = Records(tables[0])
    right = Records(tables[1], left.schema)
    pairs = default_blocking(left).pairs(left, right)
    same = np.array(papers[0])[pairs.left] == np.array(papers[1])[pairs.right]
    test = rng.random(len(pairs)) < 0.3
    return left, right, pairs, same, test


def dblp_acm(folder):
    """DBLP and ACM: both tables, the labeled pairs, and which of them are for testing."""

    def rows(name):
        with gzip.open(folder / f"dblp_acm_{name}.csv.gz", "rt", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    left = Records(rows("left"))
    right = Records(rows("right"), left.schema)
    labeled = rows("pairs")
    pairs = Pairs(
        np.array([left.place_of(row["left"]) for row in labeled]),
        np.array([right.place_of(row["right"]) for row in labeled]),
    )
    same = np.array([row["match"] == "1" for row in labeled])
    return left, right, pairs, same, np.array([row["part"] == "test" for row in labeled])


def ask(left, right, pairs, same, test, strategy):
    """F1 on the test pairs after some numbers of answers about the others."""
    pool, answers = pairs[~test], same[~test]
    curve = []

    def score(loop):
        if loop.n_answers in POINTS:
            found = loop.linker.predict_pairs(pairs[test]).match
            curve.append(100 * pair_scores(same[test], found).f1)

    ActiveLinker(query_strategy=strategy, random_state=0).run(
        left,
        right,
        pairs=pool,
        oracle=lambda question: bool(answers[question.id]),
        max_labels=max(POINTS),
        on_answer=score,
    )
    return curve


def draw(curves, title, path):
    """Save F1 against the number of answers."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    for name, curve in curves.items():
        panel.plot(POINTS[: len(curve)], curve, color=COLORS[name], linewidth=2.2, marker="o", label=name)
    panel.set_title(title, loc="left", fontweight="bold")
    panel.set_xlabel("answers")
    panel.set_ylabel("F1 on pairs not asked about (%)")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main(out="out/citations.png"):
    folder = Path(os.environ.get("EVERLEARN_DATA", "")) / "records"
    real = (folder / "dblp_acm_pairs.csv.gz").is_file()
    left, right, pairs, same, test = dblp_acm(folder) if real else generated()
    title = "DBLP-ACM" if real else "Generated citations"
    print(f"{title}: {len(left):,} and {len(right):,} records, {len(pairs):,} pairs, {same.sum():,} matches")
    curves = {}
    for name, strategy in (("asked", None), ("at random", query.Random())):
        curves[name] = ask(left, right, pairs, same, test, strategy)
        print(
            f"{name:>10}: " + ", ".join(f"{n}: {v:.1f}" for n, v in zip(POINTS, curves[name], strict=False))
        )
    draw(curves, title, Path(out))
    print(f"Picture: {out}")


if __name__ == "__main__":
    main()
