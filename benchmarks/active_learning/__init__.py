"""Active learning with the default query strategy, against published figures, SVC and random queries.

Claim: `ActiveLearner` with its defaults is as accurate as margin sampling with a retrained SVC, helps on
imbalanced data, and a query takes milliseconds.
Data sets: `aubc` reports those of the public benchmark (Lu, Li, Lin, arXiv 2306.08954), `imbalance` eight
imbalanced ones. `query.Auto` was tuned on others: `--develop` runs these. `speed` generates its rows.

    python -m benchmarks.active_learning
    python -m benchmarks.active_learning aubc imbalance --develop
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("aubc", "accuracy over all queries, and the published figures"),
        Part("imbalance", "g-means after 50, 100 and 200 labels, against random queries"),
        Part("speed", "milliseconds per query, against retraining SVC", files=False),
    ),
    (
        Option("--seeds", 100, "splits of data sets below 2,000 rows", quick=2, least=1),
        Option("--large-seeds", 10, "splits of larger data sets", quick=1, least=1),
        Option("--svc-seeds", 20, "splits on which SVC is retrained", quick=1, least=0),
        Option("--draws", 5, "draws of imbalanced data sets", quick=1, least=1),
    ),
    develop=True,
)
