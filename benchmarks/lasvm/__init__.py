"""LASVM against every kernel SVM that one could install instead, on the same rows in the same run.

Claim: LASVM is the SVM that the others compute, in a fraction of their training time. "Single pass" is the
algorithm of the paper, which leaves rows out.
Data sets: usps, letter, a9a, ijcnn1, mnist8, covtype, banana, reuters, mnist10, letter26, ijcnn1_hard and
mnist10_all, at the fixed C and gamma of `harness/data.py`. Block sizes and thresholds of the core were tuned
on these same sets.

    python -m benchmarks.lasvm table                     all data sets, all peers
    python -m benchmarks.lasvm table --only usps,banana  some of them
    python -m benchmarks.lasvm table --quick             LASVM, the lower bound, SVC, intelex

One process per peer, interleaved fits, medians, and the same number of threads for all.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part, names, numbers


def _integers(text: str) -> list[int]:
    return [int(value) for value in numbers(text)]


BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("table", "time, error, size and memory of all peers on all data sets"),
        Part("exact", "difference from the model of SVC, on sets of no other table"),
        Part("growth", "time and memory against the number of rows, on covtype"),
        Part("threads", "wall-clock time with one thread and with two", generated=("banana_made",)),
        Part("throughput", "rows a second of partial_fit and predict"),
        Part("embeddings", "rows of embeddings in 16 bits: memory, time and accuracy"),
        Part("selection", "error and support vectors against labels used, per query strategy"),
    ),
    (
        Option("--peers", None, "comma-separated peers of `table`", parse=names),
        Option("--threads", 1, "threads for every peer", least=1),
        Option("--cache", 1000.0, "kernel cache in MB, where a peer has one"),
        Option("--repeats", 5, "fits of a peer at most", quick=1, least=1),
        Option("--budget", 120.0, "seconds for a peer on a data set"),
        Option("--limit", 900.0, "seconds until a fit is stopped"),
        Option("--rows", None, "at most this many rows of each data set", quick=1_000, parse=int, least=100),
        Option("--sizes", None, "comma-separated numbers of rows of `growth`", parse=_integers),
    ),
    packages=("scikit-learn-intelex", "libsvm-official", "vowpalwabbit", "threadpoolctl"),
)
