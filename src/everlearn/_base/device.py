"""Fits and predictions on a CUDA device: which device, the exact SVM, and decision values.

The module ``everlearn._cuda`` is built with ``-DEVERLEARN_CUDA=ON`` and is not part of every installation.
What it computes is handed over to an ordinary machine, which continues on the CPU.
"""

import importlib
from types import ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DeviceError
from .device_errors import USE_CPU, errors_in_words
from .device_table import DeviceTable, like
from .machine import Machine
from .user_warnings import warn_user
from .validate import Ints, Rows

DEVICES = ("cpu", "cuda", "auto")
_KERNELS = ("linear", "poly", "rbf", "sigmoid", "cosine", "laplacian")
_LEAST_CAPABILITY = (8, 0)
# Products of entries from which on rows are scored on a device: a fraction of a second on a CPU.
_WORTH_COPYING = 2**31


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
            remedy="Build everlearn with CUDA: EVERLEARN_CUDA=1 pip install . in a checkout. " + USE_CPU,
        ) from None
    try:
        devices = module.devices()
    except RuntimeError as error:
        raise DeviceError(
            f"No CUDA device can be used: {error}.", code="no_device", remedy="Check nvidia-smi. " + USE_CPU
        ) from None
    if not devices:
        raise DeviceError("This machine has no CUDA device.", code="no_device", remedy=USE_CPU)
    name, *capability, _, block_memory = devices[0]
    if tuple(capability) < _LEAST_CAPABILITY:
        raise DeviceError(
            f"The CUDA device {name} has compute capability {capability[0]}.{capability[1]}: 8.0 is needed.",
            code="old_device",
            remedy=USE_CPU,
        )
    if block_memory < module.block_memory:
        raise DeviceError(
            f"The CUDA device {name} has {block_memory // 1024} KB of shared memory for a block of threads: "
            f"{module.block_memory // 1024} KB are needed, which GPUs of data centers have.",
            code="small_device",
            remedy=USE_CPU,
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
        warn_of_cpu(error)
        return None


def warn_of_cpu(error: DeviceError, work: str = "Training") -> None:
    """Warn, in the line of the user's code, that work takes the CPU, and say why."""
    warn_user(f"{work} on the CPU: {error}", RuntimeWarning)


def kernel_obstacle(kernel: Any) -> str | None:
    """Why a kernel cannot be used on a device, if so."""
    if kernel in _KERNELS:
        return None
    name = repr(kernel) if isinstance(kernel, str) else "a callable"
    return f"kernel={name} runs on the CPU only; choose one of {', '.join(_KERNELS)}."


def _kernel_options(machine: Machine) -> dict[str, Any]:
    options = {name: machine.spec[name] for name in ("kernel", "gamma", "coef0", "degree")}
    return options | {"shift": np.asarray(machine.spec["center"], dtype=np.float64)}


def _csr(X: Rows) -> tuple[Any, ...]:
    """A CSR matrix as the module takes it."""
    return (
        np.ascontiguousarray(X.data),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        X.shape[1],
    )


def solve(
    module: ModuleType,
    machine: Machine,
    X: Rows | DeviceTable,
    edge: npt.NDArray[np.float64],
    tol: float,
    cache_bytes: int,
) -> DeviceFit:
    """Solve the SVM of all rows on the device.

    ``edge`` has a line for each binary problem: the cost of each row, with the sign of its label.
    """
    options = _kernel_options(machine)
    options |= {"edge": np.ascontiguousarray(edge), "tol": float(tol), "cache_bytes": cache_bytes}
    try:
        with errors_in_words(module):
            if sparse.issparse(X):
                found = module.solve_sparse(*_csr(X), **options)
            else:
                rows = X.source if isinstance(X, DeviceTable) else np.ascontiguousarray(X)
                found = module.solve(rows, **options)
    except module.NotFinite:
        raise _overflow("X has values") from None
    if not np.isfinite(found["g"]).all():
        raise _overflow(f"The {machine.kernel.name} kernel has sums")
    return DeviceFit(found["alpha"], found["g"], int(found["rounds"]))


def _overflow(what: str) -> DeviceError:
    return DeviceError(
        f"{what} that are too large for the device, which computes in single precision.",
        code="device_overflow",
        remedy="Scale the features (for example with StandardScaler). " + USE_CPU,
    )


def nearest_dropped(
    fit: DeviceFit, signs: npt.NDArray[np.float64], bias: npt.NDArray[np.float64], usable: Ints, most: int
) -> tuple[Ints, npt.NDArray[np.float64]]:
    """Up to ``most`` rows with the smallest margins that are no support vectors, and these margins."""
    margins = (1 - signs * (fit.gradients - bias[:, np.newaxis])).min(axis=0)
    others = usable[~fit.alpha[:, usable].any(axis=0)]
    if len(others) > most:
        of_others = margins[others]
        last = np.partition(of_others, most - 1)[most - 1] if most > 0 else -np.inf
        nearer, equal = np.flatnonzero(of_others < last), np.flatnonzero(of_others == last)
        others = np.sort(others[np.concatenate([nearer, equal[: most - len(nearer)]])])
    return others, margins[others]


class _Loaded(NamedTuple):
    """A model on a device, and what tells whether it is still the present one."""

    iterations: int
    steps: int
    ids: Ints
    alpha: npt.NDArray[np.float64]
    scorer: Any


_loaded: WeakKeyDictionary[Machine, _Loaded] = WeakKeyDictionary()


def _on_device(module: ModuleType, machine: Machine) -> Any:
    """The model on the device; copied there if it has changed."""
    native = machine.native
    slots = machine.support()
    ids, alpha = native.ids[slots], np.array(native.alpha[:, slots])
    last = _loaded.get(machine)
    if (
        last is None
        or (last.iterations, last.steps) != (native.iterations, native.steps)
        or not (np.array_equal(last.ids, ids) and np.array_equal(last.alpha, alpha))
    ):
        vectors = machine.rows(slots)
        vectors = np.ascontiguousarray(vectors.toarray() if sparse.issparse(vectors) else vectors)
        scorer = module.Scorer(vectors, alpha.astype(np.float32), **_kernel_options(machine))
        last = _loaded[machine] = _Loaded(native.iterations, native.steps, ids, alpha, scorer)
    return last.scorer


def worth_copying(machine: Machine, X: Rows) -> bool:
    """Whether scoring rows of the host costs enough to do it on a device."""
    return bool(X.shape[0] * X.shape[1] * machine.native.size >= _WORTH_COPYING)


def scores(module: ModuleType, machine: Machine, X: Rows | DeviceTable) -> Any:
    """Decision values of rows, computed on the device, in the memory that the rows are in.

    There is a column for each binary problem. None is for rows with NaN, infinity, and values that are too
    large for the device.
    """
    bias = [float(value) for value in machine.native.bias]
    with errors_in_words(module):
        scorer = _on_device(module, machine)
        try:
            if sparse.issparse(X):
                return scorer.scores_sparse(*_csr(X), bias)
            if not isinstance(X, DeviceTable):
                return scorer.scores(np.ascontiguousarray(X), bias)
            found = scorer.scores(X.source, bias)
            return like(X.given, found) if X.on_device else found
        except module.NotFinite:
            return None
