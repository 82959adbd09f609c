"""Author names: the pipeline of the thesis on generated records, and two sets of real author pairs."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown
from ..harness.run import Data, Run

NAMES = ("generated", "generated_styles", "inspire_pairs", "medline_pairs", "inspire_clusters")
TRAIN = (3, 4, 8)  # of the ten names: D. Johnson, J. Anderson, M. Jones
LABELS = {"generated": (300, 600, 1200), "inspire_pairs": (250, 500, 1000), "medline_pairs": (100, 250, 500)}
CLUSTER_LABELS = 500
POOL = 50
Curve = dict[str, list[float]]


STYLES = ((0.8, 0.1, 0.1), (0.6, 0.2, 0.2), (0.4, 0.3, 0.3))


def _blocks(seed: int, **options: Any) -> list[tuple[np.ndarray, Any, np.ndarray, np.ndarray]]:
    """For each name: people, pairs, thesis features and labels."""
    from everlearn.datasets import make_author_records
    from everlearn.linkage import AuthorName, Blocking, PairFeatures, Records

    table, person = make_author_records(random_state=seed, **options)
    last = np.array([record["name"].split()[-1] for record in table])
    found = []
    for name in dict.fromkeys(last.tolist()):
        rows = np.flatnonzero(last == name)
        records = Records([table[i] for i in rows], dict.fromkeys(table[0]))
        pairs = Blocking(AuthorName()).pairs(records)
        X = PairFeatures("thesis").fit(records).transform(pairs.left, pairs.right)
        people = person[rows]
        found.append((people, pairs, X, people[pairs.left] == people[pairs.right]))
    return found


def _active(
    make: Callable[[], Any], X: Any, y: Any, score: Callable[[Any], float], points: Any, seed: int
) -> Any:
    """The score after some numbers of labels: near the boundary in small random pools, and at random."""
    from everlearn import ActiveLearner, query

    found: dict[str, list[float]] = {}
    for how, strategy in (("active", query.Margin(POOL)), ("random", query.Random())):
        loop = ActiveLearner(make(), strategy, random_state=seed)
        loop.start(X, classes=np.array([0, 1]))
        order = np.random.default_rng(seed).permutation(len(y))
        first = [int(order[y[order] == c][0]) for c in (0, 1)]
        loop.tell(first, y[first].astype(int))
        found[how] = []
        for n in range(len(first) + 1, max(points) + 1):
            row = loop.ask(1)
            loop.tell(row, y[row].astype(int))
            if n in points:
                found[how].append(score(loop.estimator))
    return found


def generated(seed: int) -> dict[str, Any]:
    """Mean pair error and F1 of clusters over seven names, after training on three."""
    from sklearn.svm import SVC

    from everlearn import LASVM
    from everlearn.linkage import b_cubed_scores, dbscan, pairwise_scores

    blocks = _blocks(seed)
    X, y = (np.concatenate([blocks[i][part] for i in TRAIN]) for part in (2, 3))
    tests = [block for i, block in enumerate(blocks) if i not in TRAIN]

    def error(model: Any) -> float:
        return float(np.mean([100 * np.mean((model.decision_function(Z) > 0) != t) for *_, Z, t in tests]))

    result: dict[str, Any] = {"n_pairs": len(y), "matches": 100 * float(y.mean())}
    for name, model in (("LASVM", LASVM(C=1, gamma=0.05)), ("SVC", SVC(C=1, gamma=0.05, tol=1e-4))):
        model.fit(X, y.astype(int))
        scores = []
        for people, pairs, Z, _ in tests:
            distance = 1 / (1 + np.exp(model.decision_function(Z)))
            clusters = dbscan(len(people), pairs.left, pairs.right, distance, eps=0.3)
            scores.append([s(people, clusters).f1 for s in (pairwise_scores, b_cubed_scores)])
        pairwise, b_cubed = 100 * np.mean(scores, axis=0)
        result[name] = {"error": error(model), "pairwise": pairwise, "b_cubed": b_cubed}
    return result | _active(partial(LASVM, C=1, gamma=0.05), X, y, error, LABELS["generated"], seed)


def generated_styles(seed: int) -> dict[str, Any]:
    """Mean pair error over seven names by the shares of name styles, which the reference leaves open."""
    from sklearn.svm import SVC

    found = {}
    for styles in STYLES:
        blocks = _blocks(seed, styles=styles)
        X, y = (np.concatenate([blocks[i][part] for i in TRAIN]) for part in (2, 3))
        model = SVC(C=1, gamma=0.05).fit(X, y.astype(int))
        tests = [block for i, block in enumerate(blocks) if i not in TRAIN]
        errors = [100 * np.mean((model.decision_function(Z) > 0) != t) for *_, Z, t in tests]
        label = ", ".join(f"{100 * share:.0f} %" for share in styles)
        found[f"full, middle initial, initials: {label}"] = {"error": float(np.mean(errors))}
    return found


def _pairs(name: str, seed: int) -> tuple[Any, ...]:
    found = np.load(Path(os.environ["EVERLEARN_DATA"]) / f"{name}.npz")
    X, y = found["X"].astype(np.float64), found["y"].astype(int)
    if "train_idx" in found.files:
        train, test = found["train_idx"], found["test_idx"]
    else:  # the draw of the reference figures
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:4000], order[4000:10_000]
    scale = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(scale > 0, scale, 1)
    return X[train], y[train], X[test], y[test]


def real_pairs(name: str, file: str, seed: int) -> dict[str, Any]:
    """Error and F1 of pairs with ready-made features, beside a random forest."""
    from sklearn.ensemble import RandomForestClassifier

    from everlearn import LASVM
    from everlearn.linkage import pair_scores

    X, y, Z, truth = _pairs(file, 0 if seed == 0 else seed)
    models = {
        "LASVM": LASVM(C=1, gamma=0.05),
        "LASVM, C=10": LASVM(C=10, gamma=0.05),
        "LASVM, Laplacian kernel, C=10 (the default of linkage)": LASVM(
            C=10, kernel="laplacian", gamma="auto"
        ),
        "random forest": RandomForestClassifier(500, random_state=seed),
    }
    result: dict[str, Any] = {}
    for label, model in models.items():
        found = model.fit(X, y).predict(Z)
        result[label] = {"error": 100 * np.mean(found != truth), "f1": 100 * pair_scores(truth, found).f1}

    def error(model: Any) -> float:
        return float(100 * np.mean((model.decision_function(Z) > 0) != truth))

    return result | _active(lambda: LASVM(C=1, gamma=0.05), X, y, error, LABELS[name], seed)


def clusters(seed: int) -> dict[str, Any]:
    """Clusters of signatures from their text, with answers that `ActiveLinker` asked for."""
    from sklearn.ensemble import RandomForestClassifier

    from everlearn.linkage import ActiveLinker, average_linkage, b_cubed_scores, pairwise_scores

    from .data import REPORTED

    task = REPORTED["inspire"]()
    loop = ActiveLinker(random_state=seed).start(task.left, pairs=task.pool)
    rows: list[int] = []
    while loop.n_answers < CLUSTER_LABELS and (questions := loop.ask()):
        rows.append(questions[0].id)
        loop.tell(questions[0].id, bool(task.y[questions[0].id]))

    def scored(found: Any) -> dict[str, float]:
        return {
            "pairwise": 100 * pairwise_scores(task.person, found).f1,
            "b_cubed": 100 * b_cubed_scores(task.person, found).f1,
        }

    result = {"LASVM, asked": scored(loop.link().clusters)}
    X = loop.linker.transform(task.pool)
    random = np.random.default_rng(seed).permutation(len(task.y))[:CLUSTER_LABELS]
    for label, chosen in (("random forest, the same labels", rows), ("random forest, random labels", random)):
        forest = RandomForestClassifier(500, random_state=seed).fit(X[chosen], task.y[chosen])
        distance = 1 - forest.predict_proba(X)[:, 1]
        found = average_linkage(len(task.left), task.pool.left, task.pool.right, distance, eps=0.5)
        result[label] = scored(found)
    return result


def run_part(run: Run) -> None:
    """All sets."""
    work: dict[str, Callable[[int], dict[str, Any]]] = {
        "generated": generated,
        "generated_styles": generated_styles,
        "inspire_pairs": lambda seed: real_pairs("inspire_pairs", "inspire_wang_pairs", seed),
        "medline_pairs": lambda seed: real_pairs("medline_pairs", "and_medline_pairs", seed),
        "inspire_clusters": clusters,
    }
    for name in run.missing(run.chosen(NAMES, ("medline_pairs",))):
        run.add({"set": name, "runs": [work[name](seed) for seed in range(run.settings["seeds"])]})
        say(name)


def report(data: Data) -> str:
    """A table of models for each set, and of labels."""
    parts = [*head("Record linkage: author names", data)]
    for result in data["results"]:
        name, runs = result["set"], result["runs"]
        models = [key for key, value in runs[0].items() if isinstance(value, dict)]
        kinds = list(runs[0][models[0]])
        lines = []
        for model in models:
            values = np.array([[run[model][kind] for kind in kinds] for run in runs])
            lines.append([model, *(f"{v.mean():.2f} ({v.min():.2f} to {v.max():.2f})" for v in values.T)])
        parts.append(fill(f"**{name}**: mean (least to most) of {len(runs)} runs, in percent."))
        parts.append(markdown(["", *kinds], lines))
        if "active" in runs[0]:
            lines = []
            for how in ("active", "random"):
                values = np.array([run[how] for run in runs])
                lines.append([how, *(f"{v.mean():.2f} ({v[0]:.2f})" for v in values.T)])
            parts.append(fill("Error on pairs in percent by the number of labels: mean (first run)."))
            parts.append(markdown(["labels", *map(str, LABELS[name])], lines))
    return "\n".join(parts or [NONE])
