"""Records that arrive in ten parts against all at once, and one of a hundred forgotten."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown
from ..harness.run import Data, Run
from .tables import TABLES, Table

PARTS, ANSWERS, N_THINGS = 10, 100, 250


def _authors(seed: int) -> Table:
    from everlearn.datasets import make_author_records

    table, person = make_author_records(scale=0.15, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(table))
    return [table[at] for at in order], np.asarray(person)[order]


SETS: dict[str, Callable[[int], Table]] = {"authors": _authors} | {
    name: lambda seed, make=TABLES[name]: make(seed, N_THINGS)  # type: ignore[misc]
    for name in ("restaurants", "people", "products")
}
NAMES = tuple(SETS)


def measure(name: str, seed: int) -> dict[str, Any]:
    """B-cubed F1 of three runs, and whether forgetting leaves what a run without the records gives."""
    from everlearn.linkage import AuthorName, Blocking, NeverEndingLinker, Records, default_blocking

    table, entity = SETS[name](seed)
    rows = [{"id": at, **record} for at, record in enumerate(table)]
    schema = Records(rows).schema
    blocking = Blocking(AuthorName()) if name == "authors" else default_blocking(Records(rows))

    def opened() -> Any:
        return NeverEndingLinker.open(":memory:", schema, blocking=blocking, random_state=seed)

    def asked(linker: Any, n: int) -> dict[Any, bool]:
        given = {}
        while len(given) < n and (questions := linker.ask(1)):
            pair = questions[0].left_id, questions[0].right_id
            given[pair] = bool(entity[pair[0]] == entity[pair[1]])
            linker.tell(questions[0].id, given[pair])
        return given

    def told(linker: Any, given: dict[Any, bool]) -> Any:
        for (a, b), same in sorted(given.items()):
            linker.answer(a, b, same)
        return linker.link()

    found: dict[str, Any] = {"records": len(rows)}
    start = time.process_time()
    with opened() as parts:
        given: dict[Any, bool] = {}
        for part in np.array_split(np.arange(len(rows)), PARTS):
            parts.add([rows[at] for at in part])
            given |= asked(parts, ANSWERS // PARTS)
        clusters = parts.link()
        found["parts"] = _f1(entity, clusters)
        gone = set(np.random.default_rng(seed).permutation(len(rows))[: max(len(rows) // 100, 1)].tolist())
        parts.forget(gone)
        left = parts.link()
    with opened() as once:
        once.add(rows)
        found["once_same_answers"] = _f1(entity, told(once, given))
        found["equal_parts"] = _same(clusters, once.clusters())
    with opened() as once:
        once.add(rows)
        asked(once, ANSWERS)
        found["once"] = _f1(entity, once.link())
    with opened() as without:
        without.add([row for row in rows if row["id"] not in gone])
        kept = {pair: same for pair, same in given.items() if not {*pair} & gone}
        found["equal_forgotten"] = _same(left, told(without, kept))
    return found | {"forgotten": len(gone), "seconds": time.process_time() - start}


def _f1(entity: Any, clusters: dict[Any, int]) -> float:
    from everlearn.linkage import b_cubed_scores

    return 100 * b_cubed_scores([entity[at] for at in clusters], list(clusters.values())).f1


def _same(first: dict[Any, int], second: dict[Any, int]) -> bool:
    """Whether two clusterings are one partition of the same records."""
    if first.keys() != second.keys():
        return False
    pairs = {(first[at], second[at]) for at in first}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def run_part(run: Run) -> None:
    """All sets."""
    for name in run.missing(run.chosen(NAMES, ("restaurants",))):
        runs = []
        for seed in range(run.settings["seeds"]):
            runs.append(measure(name, seed))
            say(f"{name} {seed}: {runs[-1]['parts'] - runs[-1]['once']:+.2f}")
        run.add({"set": name, "runs": runs})


def report(data: Data) -> str:
    """A line for each set."""
    lines, gaps = [], []
    for result in data["results"]:
        runs = result["runs"]
        once, parts, same = (
            float(np.mean([run[key] for run in runs])) for key in ("once", "parts", "once_same_answers")
        )
        gaps.append(parts - once)
        apart = np.array([run["parts"] - run["once"] for run in runs])
        error = f"{apart.std(ddof=1) / len(runs) ** 0.5:.2f}" if len(runs) > 1 else NONE
        lines.append(
            [
                result["set"],
                str(len(runs)),
                f"{np.mean([run['records'] for run in runs]):,.0f}",
                f"{once:.2f}",
                f"{parts:.2f}",
                f"{parts - once:+.2f}",
                error,
                f"{same:.2f}",
                f"{sum(run['equal_parts'] for run in runs)} of {len(runs)}",
                f"{sum(run['equal_forgotten'] for run in runs)} of {len(runs)}",
            ]
        )
    text = f"""B-cubed F1 of clusters in percent after {ANSWERS} answers, mean of the runs
    of a set. "at once": all records are added, then questions are asked. "ten parts": {ANSWERS // PARTS}
    questions after each part. "error": the standard error of the mean difference, whose runs ask different
    questions. "same answers": all records at once, with the answers that the ten parts were
    given; "equal": runs in which its clusters are those of the ten parts. "forgotten": runs in which
    forgetting one of a hundred records leaves the clusters of a store that never had them."""
    columns = [
        "set",
        "runs",
        "records",
        "at once",
        "ten parts",
        "difference",
        "error",
        "same answers",
        "equal",
        "forgotten",
    ]
    mean = f"Mean difference of the sets: {np.mean(gaps):+.2f} points." if gaps else ""
    return "\n".join(
        [
            *head("Record linkage: in parts, and forgotten", data),
            fill(text),
            markdown(columns, lines),
            fill(mean),
        ]
    )
