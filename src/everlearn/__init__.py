"""Kernel machines for streams that never end and labels you can barely afford."""

from importlib.metadata import version

from . import datasets, errors, metrics
from ._persist import load, save
from .svm import LASVM

__version__ = version("everlearn")

__all__ = ["LASVM", "datasets", "errors", "load", "metrics", "save"]
