"""Support vector machines that learn from a stream."""

from .idsvm import IDSVM
from .lasvm import LASVM
from .lasvm_g import LASVMG, LASVMI, LASVMNC, FullSVM
from .leave_one_out import LeaveOneOut
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
