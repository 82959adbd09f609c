"""Learning and unlearning one row: what it costs beside training anew, and how exact it is.

    python benchmarks/incremental.py                    all parts
    python benchmarks/incremental.py --forget           one row of 5,000 withdrawn: IDSVM, LASVM, a new SVC
    python benchmarks/incremental.py --leave-one-out    every row of 1,000 left out once, beside 1,000 SVCs
    python benchmarks/incremental.py --long             10,000 rows one by one: optimality, time, memory
    python benchmarks/incremental.py --local            LocalSVM on the set-up of W. Emara's thesis (2012)
    python benchmarks/incremental.py --start            fit, from_svm, partial_fit: ways to an exact machine
    python benchmarks/incremental.py --quick            a trial on few rows
    python benchmarks/incremental.py --report FILE      the report of an earlier run again

CPU time, one thread. Rows are in double precision, kernels are RBF, and all machines on a set share C and
gamma. scikit-learn's `SVC` has its default tolerance where it is timed and 1e-6 where decisions are compared.

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine, and a Markdown report, also printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _data_folder_missing

PARTS = ("forget", "leave_one_out", "long", "local", "start")
PACKAGES = ("everlearn", "numpy", "scipy", "scikit-learn")
LEAVING = ("banana", "waveform", "letter A", "cod_rna", "ijcnn1", "a9a")
LONG = ("banana", "ijcnn1", "a9a")
STREAMS = ("banana", "ijcnn1")
START = ("banana", "letter A", "cod_rna", "ijcnn1", "a9a")
# most: rows of a set for LocalSVM; stream: rows of its long stream
FULL = {
    "rows": 5_000,
    "forgotten": 40,
    "left_out": 1_000,
    "added": 10_000,
    "window": 1_000,
    "splits": 5,
    "most": 5_000,
    "stream": 10_000,
}
QUICK = {
    "rows": 400,
    "forgotten": 5,
    "left_out": 60,
    "added": 500,
    "window": 50,
    "splits": 1,
    "most": 200,
    "stream": 500,
}


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--forget", action="store_true", help="withdraw single rows")
    parser.add_argument("--leave-one-out", action="store_true", help="leave every row out once")
    parser.add_argument("--long", action="store_true", help="add many rows one by one")
    parser.add_argument("--local", action="store_true", help="answer in the neighbourhood only")
    parser.add_argument("--start", action="store_true", help="ways to begin")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--report", type=Path, metavar="FILE", help="print the report of an earlier run")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    limit_threads(1)  # before NumPy comes in with any of these
    if args.report:
        from _incremental_report import full_report

        print(full_report(json.loads(args.report.read_text())))
        return 0
    missing = _data_folder_missing()
    if missing:
        print(missing.replace("lasvm.py", "incremental.py"), file=sys.stderr)
        return 2

    from threadpoolctl import threadpool_limits

    from _incremental_report import full_report
    from _report import Record, _installed, machine, say

    threadpool_limits(1)
    parts = [part for part in PARTS if getattr(args, part)] or list(PARTS)
    about = machine(1)
    about["packages"] = {package: _installed(package) for package in PACKAGES}
    settings = (QUICK if args.quick else FULL) | {"quick": args.quick, "parts": parts}
    record = Record(args.out, "incremental", about, settings)
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm-", "", 1))
    _warm_up()
    for part in parts:
        say(part.replace("_", " "))
        for found in _run(part, settings):
            record.add({"part": part, **found})
    record.finish(full_report(record.data))
    return 0


def _run(part: str, settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The results of a part, one by one."""
    from _incremental_forget import run_forget, run_leave_one_out
    from _incremental_local import run_local, run_local_stream
    from _incremental_long import run_long, run_start
    from _incremental_sets import EXACT, LOCAL

    if part == "forget":
        for name in EXACT:
            yield run_forget(name, settings["rows"], settings["forgotten"])
    elif part == "leave_one_out":
        for name in LEAVING:
            yield run_leave_one_out(name, settings["left_out"])
    elif part == "long":
        for name in LONG:
            for window in (None, settings["window"]):
                yield run_long(name, settings["added"], window)
    elif part == "local":
        for name in LOCAL:
            yield run_local(name, settings["splits"], settings["most"])
        for name in STREAMS:
            for found in run_local_stream(name, settings["stream"]):
                yield found | {"part": "local_stream"}
    else:
        for name in START:
            yield run_start(name, settings["rows"])


def _warm_up() -> None:
    """Load what is loaded lazily, before anything is measured."""
    from sklearn.svm import SVC

    from everlearn import IDSVM, LASVM, LocalSVM
    from everlearn.datasets import make_banana

    X, y = make_banana(200, random_state=0)
    for learner in (IDSVM(), LASVM(), LocalSVM()):
        learner.fit(X, y).partial_fit(X[:1], y[:1]).decision_function(X)
    IDSVM.from_svm(SVC().fit(X, y), X, y).forget(0).leave_one_out()


if __name__ == "__main__":
    sys.exit(main())
