"""Fits on a CUDA device: which device, and the exact SVM that its module computes.

The module ``everlearn._cuda`` is built with ``-DEVERLEARN_CUDA=ON`` and is not part of every installation.
What it computes is handed over to an ordinary machine, which continues on the CPU.
"""

import importlib
import warnings
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DeviceError
from .machine import Machine
from .validate import Ints, Rows

DEVICES = ("cpu", "cuda", "auto")
_KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine")
_LEAST_CAPABILITY = (8, 0)
_USE_CPU = "Or set device='cpu'."


class DeviceFit(NamedTuple):
    """The solution of a fit: a line for each binary problem, an entry for each row."""

    alpha: npt.NDArray[np.float64]
    gradients: npt.NDArray[np.float64]
    rounds: int


def cuda_module() -> ModuleType:
    """The module for CUDA devices; a `DeviceError` says what is missing."""
    try:
        module = importlib.import_module("everlearn._cuda")
    except ImportError as error:
        raise DeviceError(
            f"device='cuda' needs everlearn's CUDA module, which this installation does not have ({error}).",
            code="no_cuda_module",
            remedy="Build everlearn with nvcc: pip install . -C cmake.define.EVERLEARN_CUDA=ON. " + _USE_CPU,
        ) from None
    try:
        devices = module.devices()
    except RuntimeError as error:
        raise DeviceError(
            f"No CUDA device can be used: {error}.", code="no_device", remedy="Check nvidia-smi. " + _USE_CPU
        ) from None
    if not devices:
        raise DeviceError("This machine has no CUDA device.", code="no_device", remedy=_USE_CPU)
    name, *capability, _ = devices[0]
    if tuple(capability) < _LEAST_CAPABILITY:
        raise DeviceError(
            f"The CUDA device {name} has compute capability {capability[0]}.{capability[1]}: 8.0 is needed.",
            code="old_device",
            remedy=_USE_CPU,
        )
    return module


def choose_device(device: str, obstacle: str | None) -> ModuleType | None:
    """The module for the device of a fit, None for the CPU.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        What the user asked for. "auto" takes the CPU, with a warning that says why, where "cuda" raises.
    obstacle : str or None
        Why this fit cannot run on a device, with the remedy.
    """
    if device == "cpu":
        return None
    try:
        if obstacle is not None:
            raise DeviceError(f"device='cuda' cannot be used: {obstacle}", code="not_on_device")
        return cuda_module()
    except DeviceError as error:
        if device == "cuda":
            raise
        warnings.warn(f"Training on the CPU: {error}", RuntimeWarning, stacklevel=4)
        return None


def kernel_obstacle(kernel: Any) -> str | None:
    """Why a kernel cannot be used on a device, if so."""
    if kernel in _KERNELS:
        return None
    name = repr(kernel) if isinstance(kernel, str) else "a callable"
    return f"kernel={name} runs on the CPU only; choose one of {', '.join(_KERNELS)}."


def solve(
    module: ModuleType, machine: Machine, X: Rows, edge: npt.NDArray[np.float64], tol: float, cache_bytes: int
) -> DeviceFit:
    """Solve the SVM of all rows on the device.

    ``edge`` has a line for each binary problem: the cost of each row, with the sign of its label.
    """
    spec = machine.spec
    options = {name: spec[name] for name in ("kernel", "gamma", "coef0", "degree")}
    options |= {"edge": np.ascontiguousarray(edge), "tol": float(tol), "cache_bytes": cache_bytes}
    try:
        if sparse.issparse(X):
            found = module.solve_sparse(
                np.ascontiguousarray(X.data),
                np.ascontiguousarray(X.indices, dtype=np.int32),
                np.ascontiguousarray(X.indptr, dtype=np.int64),
                X.shape[1],
                **options,
            )
        else:
            center = spec["center"]
            moved = (X - center).astype(X.dtype) if len(center) else X
            found = module.solve(np.ascontiguousarray(moved), **options)
    except module.OutOfDeviceMemory as error:
        raise DeviceError(
            f"The CUDA device ran out of memory: {error}.",
            code="device_memory",
            remedy="Set a smaller cache_size, learn fewer rows, or use float32 rows. " + _USE_CPU,
        ) from None
    except module.DeviceError as error:
        raise DeviceError(
            f"The CUDA device failed: {error}.", code="device_failed", remedy=_USE_CPU
        ) from None
    return DeviceFit(found["alpha"], found["g"], int(found["rounds"]))


def nearest_dropped(
    fit: DeviceFit, signs: npt.NDArray[np.float64], bias: npt.NDArray[np.float64], usable: Ints, most: int
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Up to ``most`` rows with the smallest margins that are no support vectors, and these margins."""
    margins = (1 - signs * (fit.gradients - bias[:, np.newaxis])).min(axis=0)
    others = usable[~fit.alpha[:, usable].any(axis=0)]
    order = np.argsort(margins[others], kind="stable")[:most]
    chosen = np.sort(others[order])
    return chosen, margins[chosen]
