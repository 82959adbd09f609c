"""Labeling with the service: its accuracy, stop signal, suspected mistakes and near-duplicates.

Question: does the interval of the accuracy contain the accuracy on rows that nobody labeled? What do labels
after the stop signal bring? How many suspected mistakes are mistakes? How often do near-duplicates have the
same label?
Data sets: two generated ones, spambase and satimage, on which nothing was chosen. The thresholds were
chosen on those of `--develop`: two other generated ones, svmguide1 and segment.

    python -m benchmarks.serving                about ten minutes of one core
    python -m benchmarks.serving sessions --develop
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("sessions", "somebody labels, with some mistakes: accuracy, stop signal, suspected mistakes"),
        Part("duplicates", "labels of rows that are more similar than a threshold"),
    ),
    (
        Option("--labels", 500, "labels of a session", quick=60, least=60),
        Option("--mistakes", 0.08, "fraction of wrong answers", least=0.0),
        Option("--sessions", 3, "for each kind of answers, with different rows", quick=1, least=1),
        Option("--seed", 0, "of the generated rows and of the answers"),
    ),
    develop=True,
)
