"""Questions near the boundary against questions that would merge or split clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown
from ..harness.run import Data, Run
from .curves import f1
from .data import DEVELOPMENT, SharedFeatures, Task, blocked

POINTS = (50, 100, 150, 200)
HOW = ("boundary", "clusters")


def _authors(seed: int) -> Task:
    from everlearn.datasets import make_author_records
    from everlearn.linkage import AuthorName, Blocking, Records

    table, person = make_author_records(scale=0.25, random_state=100 + seed)
    records = Records(table)
    task, pairs = blocked(records, None, person, None), Blocking(AuthorName()).pairs(records)
    y = (person[pairs.left] == person[pairs.right]).astype(int)
    return replace(task, pool=pairs, y=y, test=pairs, y_test=y, n_matches=int(y.sum()))


SETS: dict[str, Callable[[int], Task]] = {
    "authors": _authors,
    "febrl2": lambda _: DEVELOPMENT["febrl2"](),
    "amazon_google_valid": lambda _: DEVELOPMENT["amazon_google_valid"](),
    "dblp_acm_valid": lambda _: DEVELOPMENT["dblp_acm_valid"](),
}
NAMES = tuple(SETS)


def asked(task: Task, features: SharedFeatures, prefer: str, seed: int) -> dict[str, list[float]]:
    """F1 of pairs and, if the entities are known, B-cubed F1 of clusters after some numbers of answers."""
    from everlearn.linkage import ActiveLinker, PairwiseLinker, b_cubed_scores

    loop = ActiveLinker(PairwiseLinker(features=features), random_state=seed, prefer=prefer)
    loop.start(task.left, task.right, pairs=task.pool)
    rows = features.transform(task.test.left, task.test.right)
    found: dict[str, list[float]] = {"pairs": [], "clusters": []}
    while loop.n_answers < max(POINTS) and (questions := loop.ask()):
        loop.tell(questions[0].id, bool(task.y[questions[0].id]))
        if loop.n_answers in POINTS:
            found["pairs"].append(f1(task, loop.linker.model.decision_function(rows)))
            if task.person is not None:
                found["clusters"].append(100 * b_cubed_scores(task.person, loop.link().clusters).f1)
    return found


def run_part(run: Run) -> None:
    """All sets."""
    for name in run.missing(run.chosen(NAMES, ("amazon_google_valid",))):
        runs = []
        for seed in range(run.settings["seeds"]):
            task, features = SETS[name](seed), SharedFeatures()
            features.fit(task.left, task.right)
            runs.append({how: asked(task, features, how, seed) for how in HOW})
        run.add({"set": name, "runs": runs})
        say(name)


def report(data: Data) -> str:
    """Two lines for each set."""
    lines = []
    for result in data["results"]:
        for how in HOW:
            cells = [result["set"] if how == HOW[0] else "", how]
            for measure in ("pairs", "clusters"):
                values = np.array([run[how][measure] for run in result["runs"]])
                means = values.mean(axis=0) if values.size else []
                cells += [f"{value:.1f}" for value in means] or [NONE] * len(POINTS)
            lines.append(cells)
    text = f"""F1 of pairs and B-cubed F1 of clusters in percent after a number of answers, mean of
    {data["settings"]["seeds"]} runs, on sets for choosing. "clusters": ``ActiveLinker(prefer="clusters")``,
    every other question goes to a pair whose answer would merge or split large clusters."""
    columns = ["set", "prefer", *(f"pairs {n}" for n in POINTS), *(f"clusters {n}" for n in POINTS)]
    return "\n".join([*head("Record linkage: which questions", data), fill(text), markdown(columns, lines)])
