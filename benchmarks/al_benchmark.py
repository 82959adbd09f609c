"""Asking as it comes: the public active-learning benchmark, imbalanced sets, and the cost of a query.

    python benchmarks/al_benchmark.py --aubc       accuracy over all queries, beside the published figures
    python benchmarks/al_benchmark.py --imbalance  g-means after 50, 100 and 200 labels, beside random asking
    python benchmarks/al_benchmark.py --speed      milliseconds a query, beside refitting SVC
    python benchmarks/al_benchmark.py --all        everything
    python benchmarks/al_benchmark.py --develop …  the sets on which the settings were chosen

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

PARTS = ("aubc", "imbalance", "speed")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--aubc", action="store_true", help="the public benchmark")
    parser.add_argument("--imbalance", action="store_true", help="imbalanced sets")
    parser.add_argument("--speed", action="store_true", help="the cost of a query")
    parser.add_argument("--all", action="store_true", help="all of these")
    parser.add_argument("--develop", action="store_true", help="the sets that settings are chosen on")
    parser.add_argument("--only", metavar="SETS", help="comma-separated sets")
    parser.add_argument("--seeds", type=int, default=100, help="splits of sets below 2,000 rows")
    parser.add_argument("--large-seeds", type=int, default=10, help="splits of larger sets")
    parser.add_argument("--svc-seeds", type=int, default=20, help="splits on which SVC is refitted")
    parser.add_argument("--draws", type=int, default=5, help="draws of imbalanced sets")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if not (args.all or any(getattr(args, part) for part in PARTS)):
        parser.error(f"say what to run: --all or one of --{', --'.join(PARTS)}")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    parts = [part for part in PARTS if args.all or getattr(args, part)]
    if parts != ["speed"] and (missing := _data_folder_missing()):
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _al_aubc import run_aubc
    from _al_imbalance import run_imbalance
    from _al_speed import run_speed
    from _report import _installed, machine

    threadpool_limits(1)
    about = machine(1)
    about["packages"] = {name: _installed(name) for name in ("everlearn", "numpy", "scipy", "scikit-learn")}
    settings: dict[str, Any] = {
        "seeds": args.seeds,
        "large_seeds": args.large_seeds,
        "svc_seeds": args.svc_seeds,
        "develop": args.develop,
        "only": [name.strip() for name in args.only.split(",")] if args.only else None,
    }
    if "aubc" in parts:
        run_aubc(settings, about, args.out)
    if "imbalance" in parts:
        run_imbalance(settings | {"seeds": args.draws}, about, args.out)
    if "speed" in parts:
        run_speed(settings, about, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
