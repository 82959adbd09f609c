"""Asking for the labels that matter: what it saves, and what it costs to ask.

    python benchmarks/asking.py --pools      the nearest of 59 drawn rows against the nearest of all
    python benchmarks/asking.py --questions  500 questions to 60,000 rows, beside loops that train anew
    python benchmarks/asking.py --table      stopping by itself against an SVM on all rows, thesis table 4.3
    python benchmarks/asking.py --noise      random, active and gradient selection with wrong labels
    python benchmarks/asking.py --all        everything
    python benchmarks/asking.py --quick ...  a trial: few rows, few questions, one run

The folder with the data sets is taken from EVERLEARN_DATA; --questions compares with scikit-activeml where it
is installed. Results go to `--out`: JSON with a description of the machine, a Markdown report (also printed)
and, for --noise, a PNG. One thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _chosen, _data_folder_missing

PARTS = ("pools", "questions", "table", "noise")
QUICK_ROWS = 2_000


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pools", action="store_true", help="59 drawn rows against a full search")
    parser.add_argument("--questions", action="store_true", help="time of a question, beside other loops")
    parser.add_argument("--table", action="store_true", help="early stopping against all rows")
    parser.add_argument("--noise", action="store_true", help="selection rules with wrong labels")
    parser.add_argument("--all", action="store_true", help="all of these")
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets of --pools or --table")
    parser.add_argument("--runs", type=int, default=3, help="runs of --pools and --table (default 3)")
    parser.add_argument("--seeds", type=int, default=2, help="draws of --noise (default 2)")
    parser.add_argument(
        "--limit", type=float, default=600, help="CPU seconds until a loop of --questions is stopped"
    )
    parser.add_argument("--cache", type=float, default=500, help="kernel cache in MB, for all (default 500)")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.runs < 1 or args.seeds < 1:
        parser.error("--runs and --seeds must be at least 1")
    if not (args.all or any(getattr(args, part) for part in PARTS)):
        parser.error(f"say what to run: --all or one of --{', --'.join(PARTS)}")
    return args


def _activeml() -> str | None:
    try:
        return version("scikit-activeml")
    except PackageNotFoundError:
        return None


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    parts = [part for part in PARTS if args.all or getattr(args, part)]
    if missing := _data_folder_missing():
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _asking_noise import run_noise
    from _asking_pools import POOLS, run_pools
    from _asking_questions import run_questions
    from _asking_table import QUICK_SETS, TABLE, run_table
    from _report import machine

    threadpool_limits(1)
    about = machine(1)
    about["packages"]["scikit-activeml"] = _activeml()
    settings: dict[str, Any] = {
        "threads": 1,
        "cache": args.cache,
        "runs": 1 if args.quick else args.runs,
        "seeds": 1 if args.quick else args.seeds,
        "limit": args.limit,
        "rows": QUICK_ROWS if args.quick else None,
        "quick": args.quick,
        "command": " ".join(sys.argv[1:]) if argv is None else " ".join(argv),
    }
    chosen = _chosen(args.only, list(TABLE), "data set")
    if "pools" in parts and (sets := [name for name in POOLS if name in chosen]):
        run_pools(sets, settings, about, args.out)
    if "questions" in parts:
        run_questions(settings, about, args.out)
    if "table" in parts:
        sets = [name for name in chosen if name in QUICK_SETS] if args.quick and not args.only else chosen
        run_table(sets, settings, about, args.out)
    if "noise" in parts:
        run_noise(settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
