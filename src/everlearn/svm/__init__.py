"""Support vector machines that learn from a stream."""

from .idsvm import IDSVM, LeaveOneOut
from .lasvm import LASVM
from .lasvm_g import LASVMG, LASVMI, LASVMNC, FullSVM
from .local_svm import LocalSVM
from .online_svmr import OnlineSVMR
from .ramp_svm import RampSVM

__all__ = [
    "IDSVM",
    "LASVM",
    "LASVMG",
    "LASVMI",
    "LASVMNC",
    "FullSVM",
    "LeaveOneOut",
    "LocalSVM",
    "OnlineSVMR",
    "RampSVM",
]
