"""One-pass learners on a budget: rows a second and prequential AUC, against River and scikit-learn.

Claim: at a budget of 100 rows and in blocks, our learners take at least ten times as many rows a second as
River's closest, and a row costs the same after a million rows.
Data sets: two generated streams; parameters are chosen on another draw of the same stream.

    python -m benchmarks.budget                    all parts
    python -m benchmarks.budget throughput --only waveform

Ours have a budget of 100 (KOIL and OAM 100 of each class) and learn blocks of 500 rows by `partial_fit`, then
rows in calls of one. River's learners use `predict_proba_one` and `learn_one`, scikit-learn's `SGDClassifier`
on random Fourier features learns by blocks. CPU seconds, one thread, learners in turn, medians of the
repeats. Without River its lines are left out.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("throughput", "rows a second and AUC of all learners on two streams", files=False),
        Part("calls", "calls a second with one row each, beside the goals and River", files=False),
        Part("flat", "a million rows: does a row cost as much at the end?", files=False),
    ),
    (
        Option("--repeats", 3, "passes of each learner", quick=1, least=1),
        Option("--rows", 30_000, "rows of a stream", quick=1_000, least=1_000),
        Option("--tuning-rows", 4_000, "rows to choose parameters on", quick=600, least=600),
        Option("--singles", 2_000, "rows in calls of one", quick=100, least=1),
        Option("--long-rows", 1_000_000, "rows of `flat`", quick=20_000, least=10_000),
    ),
    packages=("river",),
)
