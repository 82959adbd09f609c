"""KOIL's table: is the paper met on its fourteen sets, and what do the others reach when they are tuned, too?

    python benchmarks/koil_table.py                      all sets, about half an hour
    python benchmarks/koil_table.py --only sonar,glass   some of them
    python benchmarks/koil_table.py --resume FILE.json   take what FILE has from there
    python benchmarks/koil_table.py --quick              a trial: one partition, coarse grids, few rows

Four partitions into five folds, hence 20 runs: the authors' where the data sets have them, own stratified
ones otherwise (shuttle). Features from 0 to 1, one pass in the order given, AUC with ties as one half. KOIL
keeps 100 rows of each class (10 neighbours, eta = 0.01), OAM as many, the others 200. Parameters are chosen
together by cross-validation inside the first training part, on all of its rows: sigma and C for KOIL and
NORMA (learning rate 0.01 C, regularization 1/C), sigma for RBP, Forgetron and Projectron (eta = 0.1), C for
OAM; all grids are powers of two. OPAUC has eta = 0.01 as in the paper and, in a column of its own, eta and
alpha tuned; a second NORMA is tuned in its shrinking, too, which with rare positives is better than 0.01.
`poker, raw` is poker as the authors distribute it, not scaled.

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON and a Markdown
report, also printed. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

from _koil_sets import NAMES, PARTITIONS, rows_of
from _worker import limit_threads
from lasvm import _data_folder_missing

QUICK_ROWS = 1500


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets; poker is both its lines")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="JSON of an earlier run to go on from")
    parser.add_argument("--quick", action="store_true", help="a trial: one partition, coarse grids, few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.resume is not None and not args.resume.is_file():
        parser.error(f"--resume: there is no file {args.resume}")
    return args


def _sets(only: str | None) -> list[str]:
    from lasvm import _chosen

    plain = [name for name in NAMES if "," not in name]
    chosen = _chosen(only, plain, "data set")
    return [name for name in NAMES if name.partition(",")[0] in chosen]


def grids(quick: bool) -> dict[str, dict[str, list[float]]]:
    from _koil_runs import GRIDS

    step = 3 if quick else 1
    return {name: {key: values[::step] for key, values in grid.items()} for name, grid in GRIDS.items()}


def earlier_results(path: Path | None, quick: bool) -> dict[str, dict[str, Any]]:
    """By set, what an earlier run found for learners whose grid is still the same."""
    if path is None:
        return {}
    kept = json.loads(path.read_text())
    if kept["settings"]["quick"] != quick:
        sys.exit("--resume: a trial and a full run do not go together")
    now, then = grids(quick), kept["settings"]["grids"]
    return {
        result["set"]: {
            name: found for name, found in result["learners"].items() if then[name] == now.get(name)
        }
        for result in kept["results"]
    }


def one_set(name: str, quick: bool, earlier: dict[str, Any]) -> dict[str, Any]:
    """Every learner on a set; those that an earlier run has are not run again."""
    from _koil_report import mean_and_sd
    from _koil_runs import run
    from _report import say

    streams = rows_of(name, QUICK_ROWS if quick else None)
    result: dict[str, Any] = {
        "set": name,
        "rows": len(streams.y),
        "features": streams.X.shape[1],
        "positives": int((streams.y > 0).sum()),
        "tuning_rows": int(streams.tuning_rows.sum()),
        "folds": streams.source,
        "runs": 5 * (1 if quick else PARTITIONS),
        "learners": {},
    }
    for learner, grid in grids(quick).items():
        if learner in earlier:
            result["learners"][learner] = earlier[learner]
            continue
        found = run(learner, streams, grid, 1 if quick else PARTITIONS)
        result["learners"][learner] = found
        mean, sd = mean_and_sd(found)
        chosen = ", ".join(f"{key} {value:g}" for key, value in found["parameters"].items())
        say(f"{name}, {learner}: {mean:.0f}/{sd:.0f}  {chosen}  {sum(found['cpu_seconds'].values()):.1f} s")
    return result


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    sets = _sets(args.only)
    missing = _data_folder_missing()
    if missing:
        print(missing.replace("lasvm.py", "koil_table.py"), file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _koil_report import table_report
    from _koil_runs import BUDGET, ETA, PROJECTION
    from _report import Record, machine, machine_lines, say

    threadpool_limits(1)
    about = machine(1)
    earlier = earlier_results(args.resume, args.quick)
    settings = {"sets": sets, "quick": args.quick, "budget": BUDGET, "eta": ETA, "projectron_eta": PROJECTION}
    record = Record(args.out, "table", about, settings | {"grids": grids(args.quick)})
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "koil", 1))
    for name in sets:
        record.add(one_set(name, args.quick, earlier.get(name, {})))
    say(f"{process_time():.0f} s of CPU")
    parts = ["# KOIL's table\n", machine_lines(about)]
    if args.quick:
        parts.append(
            f"**A trial on at most {QUICK_ROWS} rows of each set and coarse grids, not the table.**\n"
        )
    record.finish("\n".join([*parts, table_report(record.data["results"])]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
