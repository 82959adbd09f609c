"""Generated tables: what the defaults reach, beside a random forest.

Nothing was chosen on the first ones. Two of the others showed what was then changed: of two tables, average
linkage counted records of one table as far apart (citations), and dates and prices in other forms than a few
were text (concerts).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .curves import f1
from .data import SharedFeatures, Task, blocked
from .more_tables import MORE_TABLES, Tables
from .tables import TABLES

NAMES = (*TABLES, *MORE_TABLES)
POINTS = (50, 100, 200)


def drawn(name: str, seed: int) -> Tables:
    """One table or two, and the entity of each record."""
    if name in MORE_TABLES:
        return MORE_TABLES[name](seed)
    table, entity = TABLES[name](seed)
    return table, None, entity, None


def of_clusters(task: Task, clusters: np.ndarray) -> float:
    """B-cubed F1; of two tables F1 of the matches, since records of one table are not compared."""
    from everlearn.linkage import b_cubed_scores

    if task.right is None:
        return 100 * b_cubed_scores(task.person, clusters).f1
    left, right = clusters[: len(task.left)], clusters[len(task.left) :]
    return f1(task, np.where(left[task.pool.left] == right[task.pool.right], 1.0, -1.0))


def asked(name: str, seed: int) -> dict[str, Any]:
    """F1 of pairs and of clusters after some numbers of answers."""
    from sklearn.ensemble import RandomForestClassifier

    from everlearn.linkage import ActiveLinker, PairwiseLinker, Records, average_linkage

    first, second, entity, others = drawn(name, seed)
    start = time.process_time()
    features = SharedFeatures()
    loop = ActiveLinker(PairwiseLinker(features=features), random_state=seed).start(Records(first), second)
    left, right = loop.linker.records()
    task = blocked(left, right, entity, others)
    rows = features.transform(task.pool.left, task.pool.right)
    labeled: list[int] = []
    n = len(left) if right is None else len(left) + len(right)
    found: dict[str, Any] = {"records": n, "pairs": len(task.pool)}
    found["blocking_recall"] = 100 * float(task.y.sum() / max(task.n_matches, 1))
    while loop.n_answers < max(POINTS) and (questions := loop.ask()):
        labeled.append(questions[0].id)
        loop.tell(questions[0].id, bool(task.y[questions[0].id]))
        if loop.n_answers in POINTS:
            scores = loop.linker.model.decision_function(rows)
            found[str(loop.n_answers)] = f1(task, scores), of_clusters(task, loop.link().clusters)
    found["seconds"] = time.process_time() - start
    forest = RandomForestClassifier(300, random_state=seed).fit(rows[labeled], task.y[labeled])
    scores = forest.predict_proba(rows)[:, 1] - 0.5
    ends = task.pool.left, task.pool.right + n - (n if right is None else len(right))
    tables = None if right is None else np.arange(n) >= len(left)
    clusters = average_linkage(n, *ends, 0.5 - scores, eps=0.5, tables=tables)
    found["forest"] = f1(task, scores), of_clusters(task, clusters)
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
    `everlearn.linkage`. citations, long_products and patients are two tables; instead of B-cubed F1 they have
    that of the matches which `link` returns."""
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
