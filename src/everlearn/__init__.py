"""Kernel machines for streams that never end and labels you can barely afford."""

from . import _startup  # noqa: F401, I001 - first of all: the rest takes a second in which Ctrl-C may come

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from . import adaptive, calibration, datasets, errors, metrics, query, semi
from ._base.persist import load, save
from .adaptive import AdaptiveSVM
from .auc import KOIL, OAM, OPAUC
from .budget import (
    NORMA,
    RBP,
    AveragedKernelPerceptron,
    BudgetKernelPerceptron,
    Forgetron,
    KernelPA,
    KernelPerceptron,
    Projectron,
    ProjectronPP,
)
from .calibration import CalibratedClassifier
from .imbalance import VIRTUAL
from .query.active import ActiveLearner
from .query.chunks import IncrSVM, QuerySVM
from .query.statq import StatQSVM
from .select import Exemplars
from .semi import QPS3VM, StreamS3VM, SubmodS3VM
from .svm import IDSVM, LASVM, LASVMG, LASVMI, LASVMNC, FullSVM, LocalSVM, OnlineSVMR, RampSVM

if TYPE_CHECKING:
    from . import evaluate, export, read, report, store, stream
    from .stream import NeverEndingLearner

__version__ = version("everlearn")

__all__ = [
    "IDSVM",
    "KOIL",
    "LASVM",
    "LASVMG",
    "LASVMI",
    "LASVMNC",
    "NORMA",
    "OAM",
    "OPAUC",
    "QPS3VM",
    "RBP",
    "VIRTUAL",
    "ActiveLearner",
    "AdaptiveSVM",
    "AveragedKernelPerceptron",
    "BudgetKernelPerceptron",
    "CalibratedClassifier",
    "Exemplars",
    "Forgetron",
    "FullSVM",
    "IncrSVM",
    "KernelPA",
    "KernelPerceptron",
    "LocalSVM",
    "NeverEndingLearner",
    "OnlineSVMR",
    "Projectron",
    "ProjectronPP",
    "QuerySVM",
    "RampSVM",
    "StatQSVM",
    "StreamS3VM",
    "SubmodS3VM",
    "adaptive",
    "calibration",
    "datasets",
    "errors",
    "evaluate",
    "export",
    "load",
    "metrics",
    "query",
    "read",
    "report",
    "save",
    "semi",
    "store",
    "stream",
]

# A learner alone needs no database.
_WHEN_NEEDED = ("evaluate", "export", "read", "report", "store", "stream")


def __getattr__(name: str) -> Any:
    if name in _WHEN_NEEDED:
        return import_module(f".{name}", __name__)
    if name == "NeverEndingLearner":
        return import_module(".stream", __name__).NeverEndingLearner
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
