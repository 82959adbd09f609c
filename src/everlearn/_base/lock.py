"""Locks of an object: methods called from several threads run one after another."""

import functools
from collections.abc import Callable
from threading import RLock
from typing import Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Locked(Protocol):
    """An object with a lock."""

    _lock: RLock


class Writable(Protocol):
    """An object with a lock for those who change it, which they take before the lock of all."""

    _writing: RLock


S = TypeVar("S", bound=Locked)
W = TypeVar("W", bound=Writable)


def locked(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Decorate a method to hold the (reentrant) lock of its object."""

    @functools.wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return call


def one_writer(method: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
    """Decorate a method to hold the (reentrant) lock of those who write; others may read meanwhile."""

    @functools.wraps(method)
    def call(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._writing:
            return method(self, *args, **kwargs)

    return call
