"""All learners on all sets; `--resume` keeps the learners whose grid is still the same."""

from __future__ import annotations

from typing import Any

from ..harness.machine import say
from ..harness.report import head
from ..harness.run import Data, Run
from .data import NAMES as LINES
from .data import PARTITIONS, base, rows_of
from .report import mean_and_sd, tables
from .runs import BUDGET, ETA, GRIDS, PROJECTION, tune_and_run

NAMES = tuple(dict.fromkeys(base(name) for name in LINES))
QUICK_NAMES, QUICK_ROWS = ("sonar", "glass", "vowel"), 1500


def run_part(run: Run) -> None:
    """One set after the other."""
    step = 3 if run.quick else 1
    grids = {name: {key: values[::step] for key, values in grid.items()} for name, grid in GRIDS.items()}
    run.note(budget=BUDGET, eta=ETA, projectron_eta=PROJECTION, grids=grids)
    chosen = run.chosen(NAMES, QUICK_NAMES)
    for name in [line for line in LINES if base(line) in chosen]:
        earlier = run.find(set=name)
        if earlier is not None:
            run.results.remove(earlier)
        run.add(_one_set(name, grids, run.quick, {} if earlier is None else earlier["learners"]))


def _one_set(
    name: str, grids: dict[str, dict[str, list[float]]], quick: bool, earlier: dict[str, Any]
) -> dict[str, Any]:
    """Every learner on a set; those that were run with the same grid before are not run again."""
    streams, partitions = rows_of(name, QUICK_ROWS if quick else None), 1 if quick else PARTITIONS
    result: dict[str, Any] = {
        "set": name,
        "rows": len(streams.y),
        "features": streams.X.shape[1],
        "positives": int((streams.y > 0).sum()),
        "tuning_rows": int(streams.tuning_rows.sum()),
        "folds": streams.source,
        "runs": 5 * partitions,
        "learners": {},
    }
    for learner, grid in grids.items():
        found = earlier.get(learner)
        if found is None or found.get("grid") != grid or len(found["auc"]) != result["runs"]:
            found = tune_and_run(learner, streams, grid, partitions) | {"grid": grid}
            mean, sd = mean_and_sd(found)
            chosen = ", ".join(f"{key} {value:g}" for key, value in found["parameters"].items())
            seconds = sum(found["cpu_seconds"].values())
            say(f"{name}, {learner}: {mean:.0f}/{sd:.0f}  {chosen}  {seconds:.1f} s")
        result["learners"][learner] = found
    return result


def report(data: Data) -> str:
    """The paper's figures, a plain implementation's, and who wins."""
    return "\n".join([*head("KOIL's table", data), tables(data["results"])])
