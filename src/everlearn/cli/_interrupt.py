"""Ctrl-C and SIGTERM: the first one stops after the current step, the second one immediately.

Before a command runs, either signal ends the process with one line (`everlearn._startup`). While a command
runs, both are raised as exceptions (`raising`), so that files are closed and temporary files are removed.
Where a batch or an answer should be finished first, an `Interrupt` only takes note of the first signal.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from .. import _startup

_SIGNALS = tuple(_startup.WORDS)


class Terminated(KeyboardInterrupt):
    """SIGTERM; handled like Ctrl-C, but with another exit status."""


def exit_status(error: BaseException) -> int:
    """128 plus the number of the signal."""
    return 128 + (signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT)


def message_for(error: BaseException) -> str:
    """The message of a command that was interrupted."""
    return _startup.WORDS[signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT]


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Within the block, both signals are raised as exceptions, unless another handler is installed."""
    before = {}
    if _in_main_thread():
        for number in _SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, _startup.end_at_once):
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupt:
    """Within the block, the first signal is noted; the second is raised as an exception.

    Parameters
    ----------
    notice : callable, default=lambda: None
        Called when the first signal arrives.
    """

    def __init__(self, notice: Callable[[], None] = lambda: None) -> None:
        self._notice = notice
        self._before: dict[int, Any] = {}
        self._waiting = False
        self.error: KeyboardInterrupt | None = None

    @property
    def asked(self) -> bool:
        """Whether a signal has arrived."""
        return self.error is not None

    def __enter__(self) -> "Interrupt":
        if _in_main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def at_once(self, enabled: bool = True) -> Iterator[None]:
        """Within the block, signals are raised at once: there is nothing to finish first."""
        self._waiting = enabled
        try:
            if enabled and self.error is not None:
                raise self.error  # it arrived earlier
            yield
        finally:
            self._waiting = False

    def _note(self, number: int, _: Any) -> None:
        again, self.error = self.asked, _error_of(number)
        if again or self._waiting:
            raise self.error
        with contextlib.suppress(RuntimeError):  # it arrived while something was being printed
            self._notice()


def deliver_again(unraisable: Any) -> None:
    """A hook for `sys.unraisablehook`: an interrupt that was lost in a callback is sent again."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    number = signal.SIGTERM if issubclass(unraisable.exc_type, Terminated) else signal.SIGINT

    def send() -> None:
        time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=send, daemon=True).start()


def _raise(number: int, _: Any) -> None:
    raise _error_of(number)


def _error_of(number: int) -> KeyboardInterrupt:
    return Terminated() if number == signal.SIGTERM else KeyboardInterrupt()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
