"""LASVM beside every kernel SVM that one could install instead, on the same rows in the same run.

    python benchmarks/lasvm.py                        the table: nine data sets, all peers
    python benchmarks/lasvm.py --only usps,banana     some of the sets
    python benchmarks/lasvm.py --quick                one fit each of ours, the floor, SVC and intelex
    python benchmarks/lasvm.py --growth               time and memory against the number of rows
    python benchmarks/lasvm.py --throughput           rows a second of partial_fit and predict
    python benchmarks/lasvm.py --active               error and support vectors against labels used
    python benchmarks/lasvm.py --all                  everything

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine, a Markdown report (also printed) and, for --active, a PNG.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets")
    parser.add_argument("--peers", metavar="PEERS", help="comma-separated peers")
    parser.add_argument("--threads", type=int, default=1, help="threads for every peer (default 1)")
    parser.add_argument("--cache", type=float, default=1000, help="kernel cache in MB, where a peer has one")
    parser.add_argument("--repeats", type=int, default=5, help="fits of a peer at most (default 5)")
    parser.add_argument("--budget", type=float, default=120, help="seconds for a peer on a set (default 120)")
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds until a fit is stopped (default 900)"
    )
    parser.add_argument("--rows", type=int, help="at most so many rows of each set: a trial, not a benchmark")
    parser.add_argument("--quick", action="store_true", help="few peers, one fit each")
    parser.add_argument("--growth", action="store_true", help="time and memory against rows, on covtype")
    parser.add_argument("--throughput", action="store_true", help="rows a second")
    parser.add_argument("--active", action="store_true", help="curves of the selection rules")
    parser.add_argument("--all", action="store_true", help="the table and all of these")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.threads < 1 or args.repeats < 1:
        parser.error("--threads and --repeats must be at least 1")
    return args


def _data_folder_missing() -> str | None:
    folder = os.environ.get("EVERLEARN_DATA")
    if not folder:
        return (
            "EVERLEARN_DATA is not set. Set it to the folder that holds the data sets (usps.npz, letter.npz, "
            "a9a.npz, ...):\n    EVERLEARN_DATA=/path/to/data python benchmarks/lasvm.py"
        )
    if not Path(folder).is_dir():
        return (
            f"EVERLEARN_DATA is {folder!r}, which is not a folder. Set it to the folder with the data sets."
        )
    return None


def _chosen(text: str | None, known: list[str], what: str) -> list[str]:
    if text is None:
        return known
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"unknown {what}: {', '.join(unknown)}; there are {', '.join(known)}")
    return [name for name in known if name in names]


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    missing = _data_folder_missing()
    if missing:
        print(missing, file=sys.stderr)
        return 2
    limit_threads(args.threads)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _peers import PEERS, QUICK
    from _report import machine
    from _sets import SETS

    threadpool_limits(args.threads)
    sets = _chosen(args.only, list(SETS), "data set")
    peers = _chosen(args.peers, list(PEERS), "peer")
    if args.quick and args.peers is None:
        peers = list(QUICK)
    about = machine(args.threads)
    settings: dict[str, Any] = {
        "threads": args.threads,
        "cache": args.cache,
        "repeats": 1 if args.quick else args.repeats,
        "budget": args.budget,
        "limit": args.limit,
        "rows": args.rows,
        "exact": not args.quick,
        "peers": peers,
        "sets": sets,
        "command": " ".join(sys.argv[1:]) if argv is None else " ".join(argv),
    }
    parts = [part for part in ("growth", "throughput", "active") if args.all or getattr(args, part)]
    if args.all or not parts:
        from _table import run_table

        run_table(sets, peers, settings, about, args.out)
    if "growth" in parts:
        from _growth import run_growth

        run_growth(settings, about, args.out)
    if "throughput" in parts:
        from _throughput import run_throughput

        run_throughput(sets, settings, about, args.out)
    if "active" in parts:
        from _active import run_active

        run_active(sets, settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
