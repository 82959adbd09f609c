"""One-pass learners on a budget: rows a second and prequential AUC, beside what one could use instead.

    python benchmarks/budget.py                  two streams, all learners
    python benchmarks/budget.py --flat           and a million rows: is a row as cheap at their end?
    python benchmarks/budget.py --only agree     one stream: agree or waveform
    python benchmarks/budget.py --quick          a trial on few rows

Ours have a budget of 100 (KOIL and OAM 100 of each class) and learn blocks of 500 rows by `partial_fit`, then
rows in calls of one. Beside them: River's closest learners, by `predict_proba_one` and `learn_one`, and
scikit-learn's `SGDClassifier` on random Fourier features, by blocks. All choose their parameters on another
draw of the stream, by prequential AUC. CPU seconds, one thread, learners in turn, medians of the repeats.

Results go to `--out`: JSON and a Markdown report, also printed. Without River its lines are left out.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from _worker import limit_threads
from lasvm import _chosen

STREAMS = ("agree", "waveform")
PACKAGES = ("everlearn", "numpy", "scipy", "scikit-learn", "river")
# rows of a stream, rows to choose parameters on, rows in calls of one, repeats, rows of the long stream
FULL = (30_000, 4_000, 2_000, 3, 1_000_000)
QUICK = (2_000, 1_000, 100, 1, 20_000)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="STREAMS", help="comma-separated streams: agree, waveform")
    parser.add_argument("--flat", action="store_true", help="a long stream, too")
    parser.add_argument("--repeats", type=int, help="passes of each learner (default 3)")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.repeats is not None and args.repeats < 1:
        parser.error("--repeats must be at least 1")
    return args


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    names = _chosen(args.only, list(STREAMS), "stream")
    if args.flat and "agree" not in names:
        print("--flat needs the stream agree, on which its parameters are chosen.", file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _budget_flat import run_flat
    from _budget_learners import ours, river_peers, sklearn_peers
    from _budget_report import full_report
    from _budget_run import Field, run_stream
    from _budget_streams import Stream, draw
    from _report import Record, _installed, machine, say

    threadpool_limits(1)
    rows, tuning_rows, singles, repeats, long_rows = QUICK if args.quick else FULL
    repeats = args.repeats or repeats
    learners = ours() + sklearn_peers()
    if find_spec("river"):
        learners += river_peers()
    else:
        say("River is not installed: its lines are left out.")
    about = machine(1)
    about["packages"] = {package: _installed(package) for package in PACKAGES}
    settings = {
        "streams": names,
        "quick": args.quick,
        "rows": rows,
        "tuning_rows": tuning_rows,
        "singles": singles,
        "repeats": repeats,
        "long_rows": long_rows if args.flat else None,
    }
    record = Record(args.out, "throughput", about, settings)
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "budget", 1))
    streams = {}
    for name in names:
        stream = Stream(name, *draw(name, rows + 2 * singles, [0, 0]))
        tuning = Stream(name, *draw(name, tuning_rows, [0, 1]))
        fields = Field(stream, rows, singles), Field(tuning, tuning_rows, 0)
        streams[name] = run_stream(learners, *fields, repeats)
        record.add({"stream": name, "learners": streams[name]})
    flat = []
    if args.flat:
        chosen = {name: found["parameters"] for name, found in streams["agree"].items()}
        flat = run_flat(chosen, long_rows)
        record.add({"stream": "agree", "long": flat})
    record.finish(full_report(about, settings, streams, flat))
    return 0


if __name__ == "__main__":
    sys.exit(main())
