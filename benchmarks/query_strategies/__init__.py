"""Margin-based query strategies: how many labels they save, and what a query costs.

Claim: the best of 59 randomly drawn rows is as good a query as the best of all rows, 100 times faster than
loops that retrain after every label, and early stopping loses at most half a point of g-means.
Data sets: those of S. Ertekin's thesis (2009), chapters 3 and 4, at its C and gamma. Scalings that it does
not give were fitted to its figures (`data.py`). No default of everlearn was tuned on them.

    python -m benchmarks.query_strategies questions
    python -m benchmarks.query_strategies --quick
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("pools", "the nearest of 59 drawn rows against the nearest of all"),
        Part("questions", "500 queries on 60,000 rows, against loops that retrain"),
        Part("table", "early stopping against an SVM on all rows, thesis table 4.3"),
        Part("noise", "random, active and gradient selection with wrong labels"),
    ),
    (
        Option("--runs", 3, "runs of `pools` and `table`", quick=1, least=1),
        Option("--seeds", 2, "draws of `noise`", quick=1, least=1),
        Option("--rows", None, "at most this many rows of each data set", quick=2_000, parse=int, least=100),
        Option("--limit", 600.0, "CPU seconds until a loop of `questions` is stopped"),
        Option("--cache", 500.0, "kernel cache in MB, for all"),
    ),
    packages=("scikit-activeml", "threadpoolctl"),
)
