"""Support vector machines that learn from a stream."""

from .lasvm import LASVM
from .lasvm_g import LASVMG, LASVMI, LASVMNC, FullSVM
from .online_svmr import OnlineSVMR
from .ramp_svm import RampSVM

__all__ = ["LASVM", "LASVMG", "LASVMI", "LASVMNC", "FullSVM", "OnlineSVMR", "RampSVM"]
