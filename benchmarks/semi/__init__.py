"""Learning from few labels and many unlabeled rows: accuracy, size, streams, and which labels to query.

Questions: where do unlabeled rows help `SubmodS3VM`, and where not? What do 805,050 rows cost? Does
`StreamS3VM` with a small summary of the past label a batch as if everything were kept?
Data sets: those of W. Emara's thesis (2012, chapter III) or the nearest at hand, and the published splits of
Chapelle et al. (`data.py`). The share of positives is given to all methods marked "+ r".

    python -m benchmarks.semi                 everything, ten minutes of one core
    python -m benchmarks.semi accuracy --only sonar,usps
"""

from __future__ import annotations

from ..harness.command import Benchmark, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("accuracy", "six baselines, on worst and on published splits"),
        Part("size", "seconds and memory on up to 805,050 rows: kdd-99, covtype, cod-rna"),
        Part("streams", "batch by batch: accuracy, time, storage, exemplars or random rows"),
        Part("questions", "querying some rows of a batch, against random queries"),
    ),
)
