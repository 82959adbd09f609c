"""Data to learn from: the synthetic sets of the papers, and a loader for the real ones.

The generators draw any number of rows from the distributions the papers use; `load` reads a real set from
the folder named by the environment variable ``EVERLEARN_DATA``, and `available` lists what is there.
"""

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
    "make_banana",
    "make_checkerboard",
    "make_fraud_stream",
    "make_gaussians",
    "make_sliced_cube",
    "make_two_moons",
    "make_twonorm",
    "make_waveform",
]
