"""One-pass learners. Those with a ``budget`` keep at most that many rows for each binary problem."""

from .forgetron import Forgetron
from .norma import NORMA
from .passive_aggressive import KernelPA
from .perceptrons import AveragedKernelPerceptron, BudgetKernelPerceptron, KernelPerceptron
from .projectron import Projectron, ProjectronPP
from .rbp import RBP

__all__ = [
    "NORMA",
    "RBP",
    "AveragedKernelPerceptron",
    "BudgetKernelPerceptron",
    "Forgetron",
    "KernelPA",
    "KernelPerceptron",
    "Projectron",
    "ProjectronPP",
]
