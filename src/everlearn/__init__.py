"""Kernel machines for streams that never end and labels you can barely afford."""

from importlib.metadata import version

from . import datasets, errors, metrics, query
from ._persist import load, save
from .imbalance import VIRTUAL
from .query.active import ActiveLearner
from .query.chunks import IncrSVM, QuerySVM
from .query.statq import StatQSVM
from .svm import LASVM, LASVMG, LASVMI, LASVMNC, FullSVM, OnlineSVMR, RampSVM

__version__ = version("everlearn")

__all__ = [
    "LASVM",
    "LASVMG",
    "LASVMI",
    "LASVMNC",
    "VIRTUAL",
    "ActiveLearner",
    "FullSVM",
    "IncrSVM",
    "OnlineSVMR",
    "QuerySVM",
    "RampSVM",
    "StatQSVM",
    "datasets",
    "errors",
    "load",
    "metrics",
    "query",
    "save",
]
