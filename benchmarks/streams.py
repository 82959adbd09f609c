"""Streams that never end: how good with few labels, at what cost, and is a batch dearer after a million rows?

    python benchmarks/streams.py --scores   17 streams at 1, 10 and 100 % of the labels, beside peers
    python benchmarks/streams.py --cost     CPU time of a batch, beside a learner with a single LASVM
    python benchmarks/streams.py --size     memory and time by tenths of a million rows, rows a second
    python benchmarks/streams.py --all      all three, about an hour of one core
    python benchmarks/streams.py --develop  the scores on the streams on which the defaults were chosen
    python benchmarks/streams.py --quick ...  a trial on few rows

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine and a Markdown report, also printed. One thread, CPU seconds. `--scores` writes each result at
once; when it is run again, it goes on with what is missing. `--only` takes streams, with --size parts of the
names of learners.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _data_folder_missing

PARTS = ("scores", "cost", "size")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scores", action="store_true", help="few labels, beside peers")
    parser.add_argument("--cost", action="store_true", help="CPU time of a batch")
    parser.add_argument("--size", action="store_true", help="a million rows")
    parser.add_argument("--all", action="store_true", help="all three")
    parser.add_argument("--develop", action="store_true", help="the streams that settings were chosen on")
    parser.add_argument("--only", metavar="NAMES", help="comma-separated streams or learners")
    parser.add_argument("--rates", metavar="SHARES", help="comma-separated shares of labels for --scores")
    parser.add_argument("--rows", type=int, help="rows at most: of a stream, 10,000; of --size, 1,000,000")
    parser.add_argument("--players", choices=("all", "ours", "peers"), default="all", help="whom to run")
    parser.add_argument(
        "--only-ours", dest="players", action="store_const", const="ours", help="without peers"
    )
    parser.add_argument("--again", action="store_true", help="measure anew what is there already")
    parser.add_argument("--report", action="store_true", help="only write the report of --scores anew")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if not (args.all or args.develop or any(getattr(args, part) for part in PARTS)):
        parser.error("say what to run: --all, --develop, --scores, --cost or --size")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if (args.all or args.scores or args.cost or args.develop) and (missing := _data_folder_missing()):
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _report import _installed, machine
    from _streams_cost import run_cost
    from _streams_scores import run_scores
    from _streams_sets import MOST_ROWS
    from _streams_size import ROWS, run_size

    threadpool_limits(1)
    about = machine(1)
    names = ("everlearn", "river", "numpy", "scipy", "scikit-learn")
    about["packages"] = {name: _installed(name) for name in names}
    settings: dict[str, Any] = {
        "quick": args.quick,
        "only": [name.strip() for name in args.only.split(",")] if args.only else None,
        "rates": [float(rate) for rate in args.rates.split(",")] if args.rates else None,
        "rows": args.rows or MOST_ROWS,
        "players": args.players,
        "again": args.again,
        "report": args.report,
    }
    if args.develop:
        run_scores(settings, about, args.out, develop=True)
    if args.all or args.scores:
        run_scores(settings, about, args.out)
    if args.all or args.cost:
        run_cost(settings, about, args.out)
    if args.all or args.size:
        run_size(settings | {"rows": args.rows or ROWS}, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
