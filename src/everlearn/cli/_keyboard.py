"""What a person types: single keys at a terminal, lines anywhere else."""

import contextlib
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import typer

from .._visible import visible

try:
    import termios
except ImportError:  # Windows
    termios = None  # type: ignore[assignment]

_END, _ESCAPE = "\x04", "\x1b"  # Ctrl-D, and the start of an arrow or function key


class Keyboard:
    """Reads keys or lines.

    Parameters
    ----------
    waiting : callable
        Returns a context in which Ctrl-C is raised at once.

    Attributes
    ----------
    has_keys : bool
        Whether single keys can be read, because standard input is a terminal.
    """

    def __init__(self, waiting: Callable[[], AbstractContextManager[Any]]) -> None:
        self._waiting = waiting
        self._typed: deque[str] = deque()  # keys that arrived together
        self.has_keys = sys.stdin.isatty() and sys.stdout.isatty()

    def line(self, prompt: str) -> str | None:
        """A line; None at the end of the input."""
        try:
            with self._waiting():
                return input(visible(prompt)).strip()
        except EOFError:
            print()
            return None

    def key(self, prompt: str) -> str | None:
        """A key, shown after the prompt; "" for Enter, None for Ctrl-D."""
        with self._waiting(), _single_keys():
            print(visible(prompt), end="", flush=True)
            while True:
                typed = self._typed.popleft() if self._typed else self._read()
                if typed.isprintable() or typed in "\r\n" or typed == _END:
                    print(visible(typed) if typed.isprintable() else "")
                    return None if typed == _END else typed.strip("\r\n")

    def _read(self) -> str:
        """The next key; keys that arrive with it are kept for later, those with escape codes are dropped."""
        if termios is None:
            try:
                keys = typer.getchar()
            except EOFError:
                return _END
        else:
            data = os.read(sys.stdin.fileno(), 32)
            keys = data.decode(sys.stdin.encoding or "utf-8", "replace") if data else _END
        if keys.startswith(_ESCAPE):
            return _ESCAPE
        self._typed.extend(keys[1:])
        return keys[0]


@contextlib.contextmanager
def _single_keys() -> Iterator[None]:
    """Within the block, the terminal passes on each key at once; keys typed earlier are not lost."""
    if termios is None:
        yield
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    changed = termios.tcgetattr(terminal)
    changed[3] &= ~(termios.ICANON | termios.ECHO)
    changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
    termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
