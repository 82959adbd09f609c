"""Rows that a CUDA device reads as they are: arrays in its memory, and plain arrays in that of the host.

Nothing of them is converted on the host: the device looks for NaN, and reads bytes and numbers of 16 bits.
"""

import sys
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .device_errors import errors_in_words

_CUDA = 2  # the device type of DLPack
_TYPES = ("<f8", "<f4", "<f2", "|u1")
_FORMAT = "X in the memory of a CUDA device must be float64, float32, float16 or uint8, in C order; got {}."


class Summary(NamedTuple):
    """What must be known of rows before they are learned."""

    sum: float  # of all entries
    squares: float  # of all entries minus the center
    longest: float  # largest squared length of a row
    finite: bool


class DeviceTable:
    """Rows that go to the device as they are.

    Parameters
    ----------
    module : module
        The module for CUDA devices.
    source : ndarray, or array of ``module``
        The rows, in the memory of the host or of the device.
    kind : str
        The type of the entries, as NumPy writes it.
    given : object
        What the user passed.
    """

    ndim = 2

    def __init__(self, module: ModuleType, source: Any, kind: str, given: Any) -> None:
        self.module, self.source, self.given = module, source, given
        self.shape: tuple[int, int] = tuple(given.shape)
        # What rows are when they come back to the host.
        self.dtype = np.dtype(np.float64 if kind == "<f8" else np.float32)
        self.on_device = not isinstance(source, np.ndarray)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> npt.NDArray[Any]:
        """Some rows as an array in the memory of the host."""
        if not self.on_device:
            return np.ascontiguousarray(self.source[which], dtype=self.dtype)
        numbers = np.arange(len(self))[which].astype(np.int64)
        with errors_in_words(self.module):
            return np.asarray(self.module.take(self.source, numbers), dtype=self.dtype)

    def on_host(self) -> npt.NDArray[Any]:
        """All rows, in their own type if they are on the host."""
        return self[:] if self.on_device else np.asarray(self.source)

    def summarize(self, center: float = 0.0) -> Summary:
        """What the device finds out about all rows."""
        with errors_in_words(self.module):
            return Summary(*self.module.summarize(self.source, float(center)))

    @cached_property
    def summary(self) -> Summary:
        """The same around 0; found once."""
        return self.summarize()

    def variance(self) -> float:
        """The variance of all entries."""
        count = self.shape[0] * self.shape[1]
        return self.summarize(self.summary.sum / count).squares / count


def in_device_memory(array: Any) -> bool:
    """Whether an array is in the memory of a CUDA device."""
    if isinstance(array, np.ndarray):
        return False
    if getattr(array, "__cuda_array_interface__", None) is not None:
        return True
    return hasattr(array, "__dlpack_device__") and int(array.__dlpack_device__()[0]) == _CUDA


def table_of(module: ModuleType, X: Any) -> DeviceTable | None:
    """Rows as the device reads them; None for what has to be converted on the host first."""
    if type(X) is np.ndarray:
        plain = X.ndim == 2 and X.size > 0 and X.flags.c_contiguous and X.dtype.str in _TYPES
        return DeviceTable(module, X, X.dtype.str, X) if plain else None
    if not in_device_memory(X):
        return None
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X must have two dimensions, rows and features, got shape {tuple(X.shape)}.")
    interface = getattr(X, "__cuda_array_interface__", None)
    if interface is None:
        kind = np.dtype(str(X.dtype)).str
        if kind not in _TYPES:
            raise ValueError(_FORMAT.format(X.dtype))
        return DeviceTable(module, _Exported(X), kind, X)
    kind, (rows, columns) = interface["typestr"], interface["shape"]
    strides = interface.get("strides")
    if kind not in _TYPES:
        raise ValueError(_FORMAT.format(kind))
    if strides is not None and tuple(strides) != (columns * int(kind[-1]), int(kind[-1])):
        raise ValueError(_FORMAT.format(f"strides {tuple(strides)}"))
    return DeviceTable(module, module.array_at(interface["data"][0], rows, columns, kind, X), kind, X)


class _Exported:
    """An array that hands itself out by DLPack, on the stream that others wait for."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **_: Any) -> Any:
        return self._array.__dlpack__(stream=1)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()


def on_host(module: ModuleType, array: Any) -> Any:
    """Labels or weights in the memory of the host; what is there already is returned as it is."""
    interface = getattr(array, "__cuda_array_interface__", None)
    if isinstance(array, np.ndarray) or interface is None:
        return np.asarray(array) if in_device_memory(array) else array
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    if interface.get("strides") not in (None, (dtype.itemsize,)):
        raise ValueError("Arrays in the memory of a CUDA device must be in C order.")
    size = int(np.prod(shape)) * dtype.itemsize
    with errors_in_words(module):
        values = module.to_host(interface["data"][0], size) if size else b""
    return np.frombuffer(values, dtype=dtype).reshape(shape)


def like(given: Any, array: Any) -> Any:
    """An array of ``module`` as one of the library that another array comes from."""
    library = _library(given)
    return library.from_dlpack(array) if hasattr(library, "from_dlpack") else array


def labels_like(scores: Any, classes: npt.NDArray[Any]) -> Any:
    """The labels of decision values in device memory: there if they are numbers, else on the host."""
    library = _library(scores)
    numbers = (scores > 0) * 1 if len(scores.shape) == 1 else scores.argmax(1)
    if classes.dtype.kind in "biuf":
        options = {"device": scores.device} if library.__name__ == "torch" else {}
        return library.asarray(classes, **options)[numbers]
    to_host = getattr(numbers, "get", None) or getattr(numbers, "cpu", None)  # CuPy, torch; others convert
    return classes[np.asarray(to_host() if to_host else numbers)]


def _library(array: Any) -> Any:
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]
