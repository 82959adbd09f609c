"""Which way of learning a rare class: as it is, undersampled, with costs, SMOTE, active, VIRTUAL.

    python benchmarks/imbalance.py                        all sets: waveform-2 to -32, ten categories of
                                                          Reuters, abalone, breast, letter, satimage
    python benchmarks/imbalance.py --only letter,corn     some of them
    python benchmarks/imbalance.py --quick                a trial: few rows, two runs
    python benchmarks/imbalance.py --report FILE.json     the report of an earlier run again

All learners have the same C and gamma and learn the same rows. These are the thesis' (S. Ertekin 2009, table
4.2) where it gives them, and its sets: rows of letter and satimage are left as they are, since at its gamma
the batch SVM comes near its g-means on them and on standardised rows does not; acq, corn, earn and trade have
those of money-fx, breast C = 1 and gamma = 0.1 on rows in [0, 1]. A run draws rows by its number: waveform
anew, abalone and breast by a stratified split of the thesis' size, of the others 90 % of the training part.

batch           LASVM, three epochs and the finishing step, on the rows as they are
undersampled    on all positives and as many negatives, drawn at random
costs           class_weight="balanced"
SMOTE           on as many positives as negatives, made by imbalanced-learn
SMOTE x2        on twice the positives, as in the thesis
active          VIRTUAL(n_virtual=0): the nearest of 59 rows, until the support vectors hardly change
VIRTUAL         with its defaults: the same, and a row made for each positive support vector

The folder with the data sets is taken from EVERLEARN_DATA; waveform needs none. Results go to `--out`: JSON
and a Markdown report, also printed. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _chosen, _data_folder_missing

RUNS = 10
QUICK_RUNS = 2


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets")
    parser.add_argument("--runs", type=int, help=f"runs of each set (default {RUNS})")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--report", type=Path, metavar="FILE", help="print the report of an earlier run")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.runs is not None and args.runs < 1:
        parser.error("--runs must be at least 1")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _imbalance_learners import run_set
    from _imbalance_report import report
    from _imbalance_sets import SETS
    from _report import Record, machine, machine_lines, say

    if args.report:
        data: dict[str, Any] = json.loads(args.report.read_text())
        print(_text(machine_lines(data["machine"]), data["settings"], report(data["results"])))
        return 0
    sets = _chosen(args.only, list(SETS), "data set")
    missing = _data_folder_missing()
    if missing and any(not name.startswith("waveform") for name in sets):
        print(missing, file=sys.stderr)
        return 2
    threadpool_limits(1)
    about = machine(1)
    about["packages"] = {
        **{name: about["packages"][name] for name in ("everlearn", "numpy", "scipy", "scikit-learn")},
        "imbalanced-learn": version("imbalanced-learn"),
    }
    runs = args.runs or (QUICK_RUNS if args.quick else RUNS)
    record = Record(args.out, "table", about, {"sets": sets, "runs": runs, "quick": args.quick})
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "imbalance", 1))
    for name in sets:
        record.add(run_set(name, SETS[name], runs, args.quick, say))
    record.finish(_text(machine_lines(about), record.data["settings"], report(record.data["results"])))
    return 0


def _text(about: str, settings: dict[str, Any], report: str) -> str:
    trial = "**A trial on few rows: no figure here means anything.**\n\n" if settings["quick"] else ""
    return f"# Ways to learn a rare class\n\n{about}\n{trial}{report}"


if __name__ == "__main__":
    sys.exit(main())
