"""Errors of a CUDA device, with a remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ..errors import DeviceError

USE_CPU = "Or set device='cpu'."


@contextmanager
def errors_in_words(module: ModuleType) -> Iterator[None]:
    """Errors of a device as a `DeviceError` with a remedy."""
    try:
        yield
    except module.OutOfDeviceMemory as error:
        raise DeviceError(
            f"The CUDA device ran out of memory: {error}.",
            code="device_memory",
            remedy="Set a smaller cache_size, pass fewer rows, or use float32 rows. " + USE_CPU,
        ) from None
    except module.DeviceError as error:
        raise DeviceError(f"The CUDA device failed: {error}.", code="device_failed", remedy=USE_CPU) from None
