"""Learners for label noise against SVC and LASVM, and against the published figures.

Claim: with wrong labels, LASVMG, LASVMNC, LASVMI and OnlineSVMR keep the error low with far fewer support
vectors than SVC.
Data sets: `table` has those of S. Ertekin's thesis (2009), chapter 6, at its C and gamma, `curves` five sets
whose C and gamma were cross-validated for SVC on clean labels. `ramp` and `stream` generate their rows.
Scalings that the thesis does not give were fitted to its figures (`data.py`).

    python -m benchmarks.noise table curves
    python -m benchmarks.noise --quick
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part, names

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("table", "time, error, support vectors and kernel values on the data sets of the thesis"),
        Part("curves", "error and support vectors against label noise of 0 to 40 %"),
        Part("ramp", "OnlineSVMR and its query strategies against offline RampSVM", files=False),
        Part("stream", "cost of a row as the stream grows; recovery after all labels flip", files=False),
        Part("figures", "fixed rows in fixed order, against a plain implementation"),
    ),
    (
        Option("--peers", None, "comma-separated learners of `table` and `curves`", parse=names),
        Option("--rows", None, "at most this many rows of each data set", quick=1_000, parse=int, least=100),
        Option("--seeds", 5, "draws of `curves` and `ramp`", quick=1, least=1),
        Option("--repeats", 5, "fits of a learner in `table` at most", quick=1, least=1),
        Option("--budget", 120.0, "seconds for a learner on a data set of `table`"),
        Option("--limit", 900.0, "seconds until a fit or a stream is stopped"),
        Option("--cache", 1000.0, "kernel cache in MB, where a learner has one"),
    ),
    packages=("scikit-learn-intelex", "threadpoolctl"),
)
