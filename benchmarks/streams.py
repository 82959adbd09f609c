"""Streams that never end: how good with few labels, and does a batch cost more after a million rows?

    python benchmarks/streams.py --scores   five streams at 1, 10 and 100 % of the labels, beside River
    python benchmarks/streams.py --size     memory and time by tenths of a million rows, rows a second
    python benchmarks/streams.py --all      both, a quarter of an hour of one core
    python benchmarks/streams.py --develop  the streams on which the settings were chosen, of both sides
    python benchmarks/streams.py --quick ...  a trial on few rows

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine and a Markdown report, also printed. One thread, CPU seconds. `--only` takes streams, with --size
parts of the names of learners.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _data_folder_missing

PARTS = ("scores", "size")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", action="store_true", help="few labels, beside River")
    parser.add_argument("--size", action="store_true", help="a million rows")
    parser.add_argument("--all", action="store_true", help="both")
    parser.add_argument("--develop", action="store_true", help="the streams that settings are chosen on")
    parser.add_argument("--only", metavar="NAMES", help="comma-separated streams or learners")
    parser.add_argument("--jobs", type=int, default=1, help="streams at a time with --scores, each on a core")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if not (args.all or args.develop or any(getattr(args, part) for part in PARTS)):
        parser.error("say what to run: --all, --develop, --scores or --size")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if (args.all or args.scores or args.develop) and (missing := _data_folder_missing()):
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _report import _installed, machine
    from _streams_scores import run_development, run_scores
    from _streams_size import run_size

    threadpool_limits(1)
    about = machine(1)
    names = ("everlearn", "river", "numpy", "scipy", "scikit-learn")
    about["packages"] = {name: _installed(name) for name in names}
    settings: dict[str, Any] = {
        "quick": args.quick,
        "jobs": args.jobs,
        "only": [name.strip() for name in args.only.split(",")] if args.only else None,
    }
    if args.develop:
        run_development(settings, about, args.out)
    if args.all or args.scores:
        run_scores(settings, about, args.out)
    if args.all or args.size:
        run_size(settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
