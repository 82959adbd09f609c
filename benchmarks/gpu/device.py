"""Arrays in the memory of the device, by PyTorch or CuPy, and clocks that wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import cache
from statistics import median
from typing import Any


@cache
def library() -> Any:
    """PyTorch or CuPy."""
    try:
        import torch

        return torch
    except ImportError:
        import cupy

        return cupy


def there(array: Any) -> Any:
    """A copy in the memory of the device."""
    lib = library()
    return lib.asarray(array, **({"device": "cuda"} if lib.__name__ == "torch" else {}))


def random_rows(rows: int, columns: int, seed: int) -> Any:
    """Standard normal rows in float32, drawn on the device."""
    lib = library()
    if lib.__name__ == "torch":
        generator = lib.Generator(device="cuda").manual_seed(seed)
        return lib.randn(rows, columns, generator=generator, device="cuda")
    return lib.random.RandomState(seed).standard_normal((rows, columns), dtype="float32")


def wait() -> None:
    """Until the device has done everything."""
    lib = library()
    lib.cuda.synchronize() if lib.__name__ == "torch" else lib.cuda.Device().synchronize()


def _memory() -> tuple[int, int]:
    """Bytes of the device that are free, and all."""
    lib = library()
    free, total = lib.cuda.mem_get_info() if lib.__name__ == "torch" else lib.cuda.Device().mem_info
    return int(free), int(total)


def free_bytes() -> int:
    """Memory of the device that is not used."""
    return _memory()[0]


def used_bytes() -> int:
    """Memory of the device that somebody uses."""
    free, total = _memory()
    return total - free


class Peak:
    """The most memory of the device in use meanwhile, by anybody; looked at fifty times a second."""

    def __enter__(self) -> Peak:
        self.bytes, self._over = used_bytes(), threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.bytes = max(self.bytes, used_bytes())


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Median and range of wall-clock seconds, after one call that does not count, and the last result."""
    result = work()
    times = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        result = work()
        wait()
        times.append(time.perf_counter() - start)
    return median(times), max(times) - min(times), result
