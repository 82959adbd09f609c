"""Ctrl-C: once, to stop after the batch; twice, to stop at once."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any


class Interrupt:
    """While it is entered, Ctrl-C is noted and not raised, unless it comes again or nothing is under way.

    Parameters
    ----------
    notice : callable
        Called once, when it is noted.
    """

    def __init__(self, notice: Callable[[], None]) -> None:
        self._notice = notice
        self._before: Any = None
        self.asked = False
        self._waiting = False

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def at_once(self, really: bool = True) -> Iterator[None]:
        """While this lasts Ctrl-C is raised: nothing is under way that should be finished first."""
        self._waiting = really
        try:
            yield
        finally:
            self._waiting = False

    def _note(self, *_: Any) -> None:
        if self.asked or self._waiting:
            self.asked = True
            raise KeyboardInterrupt
        self.asked = True
        with contextlib.suppress(RuntimeError):  # it came while something was being printed
            self._notice()
