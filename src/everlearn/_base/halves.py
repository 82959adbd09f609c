"""Rows stored in 16 bits (IEEE 754 binary16): which rows these numbers can hold.

A value is rounded by at most 2^-11 of its size, or by 2^-25 if it is below 2^-14. Values from 65520 on would
become infinite. Under a kernel with gamma, small values do no harm as long as its length scale is not below
2^-14. Other kernels have no such scale: each row must have a value of at least 2^-14, unless it is zero or a
center is subtracted from it.
"""

import numpy as np
import numpy.typing as npt

from .. import _core
from .kernels import Kernel
from .validate import Rows, as_block

_LEAST, _MOST = 2.0**-14, 65520.0

Floats = npt.NDArray[np.float64]


def check_range(kernel: Kernel, center: Floats, X: Rows) -> None:
    """Refuse rows that 16 bits cannot hold."""
    highest, lowest = _core.magnitudes(as_block(X), center)
    scale = _length_scale(kernel, X.shape[1])
    if highest >= _MOST:
        problem = f"holds values up to 65504, and X has {highest:.3g}"
    elif scale < _LEAST:
        problem = f"is too coarse for gamma={kernel.gamma:.3g}, under which values of {scale:.2g} matter"
    elif lowest < _LEAST and shortest(kernel, center, X.shape[1]) > 0:
        problem = f"is too coarse for a row whose largest value is {lowest:.2g}, below {_LEAST:.2g}"
    else:
        return
    raise ValueError(
        f"row_dtype='float16' {problem}: scale the features (for example with StandardScaler), or set "
        "row_dtype=None."
    )


def _length_scale(kernel: Kernel, width: int) -> float:
    """The size of values that matter to a kernel with gamma, if all columns have values of that size."""
    if "gamma" not in kernel.uses or kernel.gamma == 0:
        return np.inf
    power = 1 if kernel.measure == "absolute distance" else 2
    return float((kernel.gamma * width) ** (-1 / power))


def shortest(kernel: Kernel, center: Floats, width: int) -> float:
    """A squared length from which on no row is too small; 0 if any may be."""
    return 0.0 if "gamma" in kernel.uses or len(center) else width * _LEAST**2


def longest(kernel: Kernel, center: Floats, width: int) -> float:
    """A squared length below which no row has a value that is too large; 0 if gamma is."""
    if _length_scale(kernel, width) < _LEAST:
        return 0.0
    return float(max(0.0, _MOST - 1 - np.max(np.abs(center), initial=0.0)) ** 2)
