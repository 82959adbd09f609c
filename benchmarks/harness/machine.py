"""Threads, memory, and a description of the machine. Imports neither NumPy nor anything that does."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

BASE_PACKAGES = ("everlearn", "numpy", "scipy", "scikit-learn")


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout is the report."""
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


def limit_threads(threads: int) -> None:
    """Give every thread pool its size; must come before NumPy is imported."""
    for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB"):
        suffix = "MAXIMUM_THREADS" if name == "VECLIB" else "NUM_THREADS"
        os.environ[f"{name}_{suffix}"] = str(threads)


def memory() -> dict[str, float]:
    """Resident memory of this process now and at its peak, in MB."""
    try:
        status = Path("/proc/self/status").read_text().splitlines()
        fields = {line.split(":")[0]: line.split()[1] for line in status if line.startswith("Vm")}
        return {"now": int(fields["VmRSS"]) / 1024, "peak": int(fields["VmHWM"]) / 1024}
    except (OSError, KeyError):
        import resource

        unit = 1024**2 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
        return {"now": peak, "peak": peak}


def reset_peak() -> None:
    """Count the peak of `memory` from now on, where the system allows it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def trimmed_memory() -> float | None:
    """Resident memory in MB after the allocator has returned its free pages; None where it cannot."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return None
    return memory()["now"]


def installed(package: str) -> str | None:
    """The version of a package, None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str | None:
    """The commit of the checkout, with a plus sign if files differ from it; None outside a repository."""
    folder = Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def describe(threads: int, packages: Iterable[str] = ()) -> dict[str, Any]:
    """The machine, and the versions of the packages under test."""
    from threadpoolctl import threadpool_info

    info: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            info.setdefault(key.strip(), value.strip())
    flags = set(info.get("flags", "").split())
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        size = None
    pools = [f"{p.get('internal_api')} {p.get('version') or ''}".strip() for p in threadpool_info()]
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": info.get("model name") or platform.processor() or platform.machine(),
        "cpu_family_model": "/".join(info[k] for k in ("cpu family", "model") if k in info),
        "simd": [f for f in ("avx", "fma", "avx2", "avx512f", "avx512_bf16", "amx_tile") if f in flags],
        "cores": os.cpu_count(),
        "memory_gb": None if size is None else round(size, 1),
        "load_before": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": commit(),
        "packages": {p: installed(p) for p in (*BASE_PACKAGES, *packages)},
        "thread_pools": sorted(set(pools)),
        "threads": threads,
    }
