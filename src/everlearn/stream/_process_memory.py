"""The memory of this process: measure it, and return free memory to the system."""

import ctypes
import functools
import os
import sys
import time
from typing import Any

_SECONDS_BETWEEN = 0.1
_measured = (float("-inf"), 0.0)  # when, and what the system answered


def recent_resident_mb() -> float:
    """`resident_mb`, at most a tenth of a second old: asking the system takes longer than learning a row."""
    global _measured
    now = time.monotonic()
    if not 0 <= now - _measured[0] < _SECONDS_BETWEEN:
        _measured = now, resident_mb()
    return _measured[1]


def resident_mb() -> float:
    """The resident memory in MiB: now on Linux, at its peak on other POSIX systems, NaN elsewhere."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except OSError:
        return _peak_mb()


def _peak_mb() -> float:
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def give_back_memory() -> None:
    """Return free memory to the system, if the C library is glibc.

    Batches and packed snapshots leave holes between small objects. malloc keeps these holes, so that resident
    memory grows slowly in a long stream although no more of it is in use.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.cache
def _malloc_trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None
