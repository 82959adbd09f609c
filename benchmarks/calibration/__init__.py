"""Calibration of probabilities: on streams against River, on tables against CalibratedClassifierCV.

Question: how well calibrated are `OnlineCalibrator` and `AdaptiveConformal` along a stream, and
`CalibratedClassifier` with one machine on a table?
Data sets: eight streams and eight tables on which nothing was chosen. The method, its prior, ridges and
half-life were chosen on the streams of `streams --develop`, the ridges for tables on heart_statlog,
ionosphere, sonar, svmguide1, vehicle, satimage, ijcnn1, mushrooms, creditcard_sample, glass and fourclass.

    python -m benchmarks.calibration            both, about ten minutes of one core
    python -m benchmarks.calibration streams --develop
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("streams", "eight streams at 10 and 100 % of the labels"),
        Part("tables", "eight data sets of 500 rows"),
    ),
    (
        Option("--rows", 10_000, "at most this many rows of a stream", quick=1_000, least=500),
        Option("--splits", 5, "splits of a table", quick=1, least=1),
    ),
    packages=("river",),
    develop=True,
)
