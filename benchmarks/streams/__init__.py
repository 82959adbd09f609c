"""`NeverEndingLearner` with its defaults on streams: quality with few labels, cost, and growth.

Claim: with nothing tuned and few labels, its Matthews correlation (MCC) is above that of River's and
scikit-learn's learners on most streams, and a batch costs the same after a million rows.
Data sets: `scores` and `cost` report 17 streams of `data.py`. The defaults were chosen on the streams of
`development.py`: `scores --develop` runs these. `size` generates its rows.

    python -m benchmarks.streams                                everything, about an hour of one core
    python -m benchmarks.streams scores --resume FILE.json      go on with what is missing
    python -m benchmarks.streams scores --players ours --only elec2,sea

CPU seconds, one thread. `--only` takes streams, for `size` names of learners.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part, numbers

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("scores", "17 streams at 1, 10 and 100 % of the labels, against peers"),
        Part("cost", "CPU time of a batch, against a single LASVM"),
        Part("size", "memory and time by tenths of a million rows, rows a second", files=False),
    ),
    (
        Option("--rates", None, "comma-separated shares of labels for `scores`", parse=numbers),
        Option("--rows", 10_000, "at most this many rows of a stream", quick=1_000, least=500),
        Option("--long-rows", 1_000_000, "rows of `size`", quick=20_000, least=10_000),
        Option("--players", "all", "whom to run in `scores`", choices=("all", "ours", "peers")),
    ),
    packages=("river",),
    develop=True,
)
