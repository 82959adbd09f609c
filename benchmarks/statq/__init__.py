"""Statistical queries: StatQSVM, IncrSVM and QuerySVM against a plain implementation, and margin sampling.

Claim: our learners reach the accuracies of the plain implementation within 1.5 of its standard deviations.
Data sets: cancer, twonorm (generated) and covertype, with the sizes of its tables. Nothing was tuned on them.

    python -m benchmarks.statq --only cancer
    python -m benchmarks.statq --covertype-rows 50000

Every learner is linear with C = 1 and sees the same random 90 % of the rows. `used` and `examined` are shares
of these, as the tables count them: without the walk that ends a fit, and without the rows of T. `labels` is
what was really read. In brackets stands what the plain implementation found, on its own splits; `within` says
whether the accuracies differ by at most 1.5 of its SD. Not in the tables: the smooth variants, and margin
sampling (`query.Margin`, 59 drawn, LASVM one row at a time) at the number of labels of the line it names.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (Part("tables", "accuracy, labels and support vectors on three sets", generated=("twonorm",)),),
    (
        Option("--runs", None, "runs of each set (default: 10, 3 and 3)", quick=1, parse=int, least=1),
        Option("--covertype-rows", 8_000, "rows of covertype", least=500),
    ),
)
