"""The learners for noisy labels beside SVC and LASVM, and beside what the papers report.

    python benchmarks/noise.py --table      time, errors, support vectors, kernel values on the thesis' sets
    python benchmarks/noise.py --noise      errors and support vectors against label noise of 0 to 40 %
    python benchmarks/noise.py --ramp       OnlineSVMR and its query rules beside one RampSVM, generated data
    python benchmarks/noise.py --stream     cost of a row as the stream grows; recovery from turned labels
    python benchmarks/noise.py --figures    results on fixed rows beside those of a plain implementation
    python benchmarks/noise.py --all        everything
    python benchmarks/noise.py --quick ...  a trial: few sets, few rows, one fit each

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine, a Markdown report (also printed) and, for --noise and --stream, PNGs. One thread everywhere.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _chosen, _data_folder_missing

PARTS = ("table", "noise", "ramp", "stream", "figures")
QUICK_ROWS = 1_000
QUICK_SETS = ("usps", "usps+N", "banana", "svmguide1")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="all learners on the sets of the thesis")
    parser.add_argument("--noise", action="store_true", help="curves against label noise")
    parser.add_argument("--ramp", action="store_true", help="online against offline ramp loss")
    parser.add_argument("--stream", action="store_true", help="cost of a row, recovery from a change")
    parser.add_argument("--figures", action="store_true", help="figures on fixed rows")
    parser.add_argument("--all", action="store_true", help="all of these")
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets of --table or --noise")
    parser.add_argument("--peers", metavar="PEERS", help="comma-separated learners of --table or --noise")
    parser.add_argument("--rows", type=int, help="at most so many rows of each set")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of --noise and --ramp (default 5)")
    parser.add_argument("--repeats", type=int, default=5, help="fits in --table at most (default 5)")
    parser.add_argument("--budget", type=float, default=120, help="seconds for a learner on a set of --table")
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds until a fit or a stream is stopped (default 900)"
    )
    parser.add_argument(
        "--cache", type=float, default=1000, help="kernel cache in MB, where a learner has one"
    )
    parser.add_argument("--quick", action="store_true", help="a trial on few rows, without the slow learners")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.seeds < 1 or args.repeats < 1 or (args.rows is not None and args.rows < 100):
        parser.error("--seeds and --repeats must be at least 1, --rows at least 100")
    if not (args.all or any(getattr(args, part) for part in PARTS)):
        parser.error(f"say what to run: --all or one of --{', --'.join(PARTS)}")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    parts = [part for part in PARTS if args.all or getattr(args, part)]
    missing = _data_folder_missing()
    if missing and set(parts) - {"ramp", "stream"}:
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _noise_curves import CURVES, run_curves
    from _noise_figures import run_figures
    from _noise_ramp import run_ramp
    from _noise_sets import FLIPPED, TABLE
    from _noise_stream import run_stream
    from _noise_table import LEARNERS, run_table
    from _report import machine

    threadpool_limits(1)
    about = machine(1)
    settings: dict[str, Any] = {
        "threads": 1,
        "cache": args.cache,
        "repeats": 1 if args.quick else args.repeats,
        "seeds": 1 if args.quick else args.seeds,
        "budget": args.budget,
        "limit": args.limit,
        "rows": args.rows or (QUICK_ROWS if args.quick else None),
        "quick": args.quick,
        "slow": not args.quick or args.peers is not None,
        "command": " ".join(sys.argv[1:]) if argv is None else " ".join(argv),
    }
    chosen = _chosen(args.only, list(dict.fromkeys([*TABLE, *FLIPPED])), "data set")
    if args.quick and args.only is None:
        chosen = list(QUICK_SETS)
    sets = {part: [s for s in known if s in chosen] for part, known in (("table", TABLE), ("noise", FLIPPED))}
    peers = _chosen(args.peers, list(dict.fromkeys([*LEARNERS, *CURVES])), "learner")
    if "table" in parts and sets["table"]:
        run_table(sets["table"], peers, settings, about, args.out)
    if "noise" in parts and sets["noise"]:
        run_curves(sets["noise"], peers, settings, about, args.out)
    if "ramp" in parts:
        run_ramp(settings, about, args.out)
    if "stream" in parts:
        run_stream(settings, about, args.out)
    if "figures" in parts:
        run_figures(settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
