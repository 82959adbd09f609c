"""Learning and unlearning one row: cost against retraining, and exactness.

Claim: `IDSVM` forgets single rows exactly, tens to hundreds of times faster than retraining `SVC`.
Data sets: nine of the LASVM table and generated ones, at the same C and gamma; `local` has the setup of
W. Emara's thesis (2012). Nothing was tuned on them.

    python -m benchmarks.incremental forget --only banana,a9a
    python -m benchmarks.incremental --quick

CPU time, one thread, rows in double precision, RBF kernels. scikit-learn's `SVC` has its default tolerance
where it is timed and 1e-6 where decisions are compared.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("forget", "one row of 5,000 withdrawn: IDSVM, LASVM, a new SVC"),
        Part("leave_one_out", "every row of 1,000 left out once, against 1,000 SVCs"),
        Part("long", "10,000 rows one by one: optimality, time, memory"),
        Part("local", "LocalSVM on the setup of the thesis, and a long stream"),
        Part("start", "fit, from_svm, partial_fit: ways to an exact machine"),
    ),
    (
        Option("--rows", 5_000, "rows of `forget` and `start`", quick=400, least=100),
        Option("--forgotten", 40, "rows that `forget` withdraws", quick=5, least=1),
        Option("--left-out", 1_000, "rows of `leave_one_out`", quick=60, least=20),
        Option("--added", 10_000, "rows of `long`", quick=500, least=100),
        Option("--window", 1_000, "window of `long`", quick=50, least=10),
        Option("--splits", 5, "splits of `local`", quick=1, least=1),
        Option("--most", 5_000, "at most this many rows of a set of `local`", quick=200, least=100),
        Option("--stream", 10_000, "rows of the long stream of `local`", quick=500, least=100),
    ),
)
