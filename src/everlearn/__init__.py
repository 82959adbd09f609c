"""Kernel machines for streams that never end and labels you can barely afford."""

from importlib.metadata import version

from . import datasets, errors, metrics, query, semi
from ._persist import load, save
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
from .imbalance import VIRTUAL
from .query.active import ActiveLearner
from .query.chunks import IncrSVM, QuerySVM
from .query.statq import StatQSVM
from .select import Exemplars
from .semi import QPS3VM, StreamS3VM, SubmodS3VM
from .svm import IDSVM, LASVM, LASVMG, LASVMI, LASVMNC, FullSVM, LocalSVM, OnlineSVMR, RampSVM

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
    "AveragedKernelPerceptron",
    "BudgetKernelPerceptron",
    "Exemplars",
    "Forgetron",
    "FullSVM",
    "IncrSVM",
    "KernelPA",
    "KernelPerceptron",
    "LocalSVM",
    "OnlineSVMR",
    "Projectron",
    "ProjectronPP",
    "QuerySVM",
    "RampSVM",
    "StatQSVM",
    "StreamS3VM",
    "SubmodS3VM",
    "datasets",
    "errors",
    "load",
    "metrics",
    "query",
    "save",
    "semi",
]
