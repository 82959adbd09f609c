"""`DistributedSVM` on workers in processes of their own, against one `LASVM` on the same rows.

Claim: the same model (dual within 1e-5, 99.99 % of the decisions), for at most 2.5 times the kernel values of
one machine, falling with more rows. The machine is one: ratios and bytes are measured, not the speed of a
cluster.
Data sets: those of the `lasvm` table at its C and gamma. How many rows of a partition its local model learns,
and how many violators a partition sends at once, was chosen on them.

    python -m benchmarks.distributed same --only a9a,ijcnn1  some data sets
    python -m benchmarks.distributed dislib                  the settings of dislib's cascade SVM
    python -m benchmarks.distributed --quick                 a trial
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("same", "model, rounds, bytes and kernel values against one machine"),
        Part("dislib", "dislib's published settings: ijcnn1 and KDD-99, C = 10,000, gamma = 0.01"),
        Part("clusters", "partitions by kernel k-means against partitions as they come; the early answer"),
        Part("plan", "what a row costs at three sizes, extrapolated to 10^9 rows"),
        Part("memory", "memory of a scheduler in a process of its own, fit after fit", files=False),
    ),
    (
        Option("--workers", 2, "worker processes", least=1),
        Option("--partitions", 4, "partitions of the rows", least=1),
        Option("--rows", None, "at most this many rows of each data set", quick=2_000, parse=int, least=100),
    ),
    packages=("dask", "distributed"),
)
