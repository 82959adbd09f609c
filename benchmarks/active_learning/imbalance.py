"""g-means after 50, 100 and 200 labels on imbalanced sets, asked by `query.Auto` and at random."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .data import RARE, RARE_DEVELOPMENT, RARE_REPORTED, rare

NAMES = tuple(RARE)
QUICK_NAMES = ("vowel 0", "abalone 16+", "segment 2")
STEPS = (50, 100, 200)


def _g_means(model: Any, X: Any, y: np.ndarray) -> float:
    from everlearn.metrics import g_means

    return 100 * float(g_means(y, model.predict(X)))


def asked(query: Any, pool: Any, y: np.ndarray, test: Any, labels: np.ndarray, seed: int) -> list[float]:
    """g-means in % after each of the steps; 0 while one class only has been seen."""
    from everlearn import ActiveLearner

    loop = ActiveLearner(query_strategy=query, random_state=seed)
    found, before = [], 0
    for step in STEPS:
        loop.run(pool, y, step - before, classes=[0, 1])
        before = step
        found.append(_g_means(loop.estimator, test, labels))
    return found


def run_part(run: Run) -> None:
    """Both strategies on the same draws of all sets."""
    from everlearn.query import Auto, Random

    warnings.simplefilter("ignore", ConvergenceWarning)
    names = RARE_DEVELOPMENT if run.settings["develop"] else RARE_REPORTED
    for name in run.missing(run.chosen(names, QUICK_NAMES)):
        runs: dict[str, list[list[float]]] = {"Auto": [], "Random": []}
        share = 0.0
        for seed in range(run.settings["draws"]):
            pool, y, test, labels = rare(name, seed)
            share = float(np.mean(y))
            runs["Auto"].append(asked(Auto(), pool, y, test, labels, seed))
            runs["Random"].append(asked(Random(), pool, y, test, labels, seed))
        means = {key: np.mean(value, axis=0).tolist() for key, value in runs.items()}
        run.add({"set": name, "share": share, "rows": len(y), "runs": runs, "means": means})
        say(f"{name}: " + ", ".join(f"{key} {np.round(value, 1)}" for key, value in means.items()))


def report(data: Data) -> str:
    """g-means of both strategies, and the smallest gap between them."""
    lines, settings = [], data["settings"]
    for result in data["results"]:
        ours, theirs = result["means"]["Auto"], result["means"]["Random"]
        cells = [f"{a:.1f} / {b:.1f}" for a, b in zip(ours, theirs, strict=True)]
        gap = min(a - b for a, b in zip(ours, theirs, strict=True))
        lines.append([result["set"], f"{result['share']:.1%}", f"{result['rows']:,}", *cells, f"{gap:+.1f}"])
    header = ["rare class", "share", "pool", *(f"{step} labels" for step in STEPS), "smallest gap"]
    chosen = (
        "These sets were used to choose the settings."
        if settings["develop"]
        else (f"None of these sets was used to choose a setting; {', '.join(RARE_DEVELOPMENT)} were.")
    )
    text = f"""g-means in % on {settings["draws"]} draws of pool and test rows,
    `ActiveLearner(query_strategy=Auto())` / `ActiveLearner(query_strategy=Random())`, both with the default
    model and without a label to begin with. {chosen}"""
    return "\n".join(
        [*head("Active learning on imbalanced data sets", data), fill(text), markdown(header, lines)]
    )
