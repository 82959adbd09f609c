"""Functions in a process of their own, so that memory and lazily loaded code are their own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any


def _one_thread(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)
    return function(*args)


def in_own_process(function: Callable[..., Any], *args: Any) -> Any:
    """Call a module-level function in a new process, with one thread, and return its result."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        found = pool.apply(_one_thread, (function, args))
        pool.close()
        pool.join()  # let the process end by itself: a terminated one cannot clean up
    return found
