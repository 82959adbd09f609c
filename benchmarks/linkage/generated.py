"""Generated tables on which nothing was chosen: what the defaults reach, beside a random forest."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .curves import f1
from .data import SharedFeatures, blocked
from .tables import TABLES

NAMES = tuple(TABLES)
POINTS = (50, 100, 200)


def asked(name: str, seed: int) -> dict[str, Any]:
    """F1 of pairs and B-cubed F1 of clusters after some numbers of answers."""
    from sklearn.ensemble import RandomForestClassifier

    from everlearn.linkage import ActiveLinker, PairwiseLinker, Records, average_linkage, b_cubed_scores

    table, entity = TABLES[name](seed)
    start = time.process_time()
    task, features = blocked(Records(table), None, entity, None), SharedFeatures()
    loop = ActiveLinker(PairwiseLinker(features=features), random_state=seed)
    loop.start(task.left, pairs=task.pool)
    rows = features.transform(task.pool.left, task.pool.right)
    labeled: list[int] = []
    found: dict[str, Any] = {"records": len(table), "pairs": len(task.pool)}
    found["blocking_recall"] = 100 * float(task.y.sum() / max(task.n_matches, 1))
    while loop.n_answers < max(POINTS) and (questions := loop.ask()):
        labeled.append(questions[0].id)
        loop.tell(questions[0].id, bool(task.y[questions[0].id]))
        if loop.n_answers in POINTS:
            scores = loop.linker.model.decision_function(rows)
            clusters = loop.link().clusters
            found[str(loop.n_answers)] = f1(task, scores), 100 * b_cubed_scores(entity, clusters).f1
    found["seconds"] = time.process_time() - start
    forest = RandomForestClassifier(300, random_state=seed).fit(rows[labeled], task.y[labeled])
    scores = forest.predict_proba(rows)[:, 1] - 0.5
    clusters = average_linkage(len(table), task.pool.left, task.pool.right, 0.5 - scores, eps=0.5)
    found["forest"] = f1(task, scores), 100 * b_cubed_scores(entity, clusters).f1
    return found


def run_part(run: Run) -> None:
    """All tables."""
    for name in run.missing(run.chosen(NAMES, ("names_only",))):
        run.add({"set": name, "runs": [asked(name, seed) for seed in range(run.settings["seeds"])]})
        say(name)


def report(data: Data) -> str:
    """A line for each table."""
    lines = []
    for result in data["results"]:
        runs = result["runs"]
        cells = [
            "/".join(f"{value:.1f}" for value in np.mean([run[point] for run in runs], axis=0))
            for point in (*map(str, POINTS), "forest")
        ]
        records, pairs, recall, seconds = (
            np.mean([run[key] for run in runs]) for key in ("records", "pairs", "blocking_recall", "seconds")
        )
        lines.append(
            [
                result["set"],
                f"{records:,.0f}",
                f"{pairs / records:.0f}",
                f"{recall:.1f}",
                *cells,
                f"{seconds:.1f}",
            ]
        )
    text = f"""F1 of pairs and B-cubed F1 of clusters in percent after {", ".join(map(str, POINTS))} answers,
    mean of {data["settings"]["seeds"]} runs; matches that the blocking misses count as missed. "forest": a
    random forest on the same features and the labels of all answers. All settings are the defaults of
    `everlearn.linkage`."""
    columns = [
        "table",
        "records",
        "pairs each",
        "recall of the blocking",
        *map(str, POINTS),
        "forest",
        "CPU s",
    ]
    return "\n".join([*head("Record linkage: generated tables", data), fill(text), markdown(columns, lines)])
