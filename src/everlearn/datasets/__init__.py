"""Data sets: generators of the papers' synthetic data, and a loader for real data.

The generators draw any number of rows from the distributions that the papers use. `load` reads a real data
set from the folder named by the environment variable ``EVERLEARN_DATA``; `available` lists its data sets.
"""

from everlearn.datasets.authors import make_author_records
from everlearn.datasets.generators import (
    make_banana,
    make_checkerboard,
    make_gaussians,
    make_sliced_cube,
    make_two_moons,
    make_twonorm,
    make_waveform,
)
from everlearn.datasets.loaders import Dataset, available, load
from everlearn.datasets.streams import FraudStream, make_fraud_stream

__all__ = [
    "Dataset",
    "FraudStream",
    "available",
    "load",
    "make_author_records",
    "make_banana",
    "make_checkerboard",
    "make_fraud_stream",
    "make_gaussians",
    "make_sliced_cube",
    "make_two_moons",
    "make_twonorm",
    "make_waveform",
]
