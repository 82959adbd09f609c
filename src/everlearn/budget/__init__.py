"""One-pass learners; all but the first three keep at most a fixed number of rows, their budget."""

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
