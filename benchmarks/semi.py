"""Learning from few labels and many rows: what unlabelled rows bring, how far it goes, and in streams.

    python benchmarks/semi.py --accuracy   accuracy beside six baselines, on worst and published splits
    python benchmarks/semi.py --size       seconds and memory on up to 805,050 rows: kdd-99, covtype, cod-rna
    python benchmarks/semi.py --streams    batch by batch: accuracy, time, storage, exemplars or random rows
    python benchmarks/semi.py --questions  asking about some rows of a batch, against asking at random
    python benchmarks/semi.py --all        everything, ten minutes of one core
    python benchmarks/semi.py --quick ...  a trial on few rows

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine and a Markdown report, also printed. One thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _data_folder_missing

PARTS = ("accuracy", "size", "streams", "questions")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accuracy", action="store_true", help="labels for unlabelled rows")
    parser.add_argument("--size", action="store_true", help="time and memory on large sets")
    parser.add_argument("--streams", action="store_true", help="batch by batch")
    parser.add_argument("--questions", action="store_true", help="which labels to ask for")
    parser.add_argument("--all", action="store_true", help="all of these")
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if not (args.all or any(getattr(args, part) for part in PARTS)):
        parser.error(f"say what to run: --all or one of --{', --'.join(PARTS)}")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if missing := _data_folder_missing():
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _report import machine
    from _semi_accuracy import run_accuracy
    from _semi_questions import run_questions
    from _semi_size import run_size
    from _semi_streams import run_streams

    threadpool_limits(1)
    about = machine(1)
    names = ("everlearn", "numpy", "scipy", "scikit-learn")
    about["packages"] = {name: about["packages"][name] for name in names}
    settings: dict[str, Any] = {
        "quick": args.quick,
        "only": [name.strip() for name in args.only.split(",")] if args.only else None,
    }
    runs = {
        "accuracy": run_accuracy,
        "size": run_size,
        "streams": run_streams,
        "questions": run_questions,
    }
    for part, run in runs.items():
        if args.all or getattr(args, part):
            run(settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
