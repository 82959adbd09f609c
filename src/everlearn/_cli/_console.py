"""Consoles: results go to standard output, all that is said about them to standard error."""

import sys
from typing import Any

from rich.console import Console

_WIDTH = 500  # where there is no terminal: tables are as wide as what is in them, and nothing is folded


def console() -> Console:
    """For results."""
    return _console(sys.stdout)


def error_console() -> Console:
    """For progress, notes and errors."""
    return _console(sys.stderr)


def show(thing: Any, on: Console) -> None:
    """Print a table; into a file without the blanks that fill its lines up."""
    if on.is_terminal:
        on.print(thing)
        return
    with on.capture() as captured:
        on.print(thing)
    lines = captured.get().splitlines()
    on.print("\n".join(line.rstrip() for line in lines), markup=False)


def _console(file: Any) -> Console:
    plain = not file.isatty()
    return Console(file=file, width=_WIDTH if plain else None, highlight=False, soft_wrap=plain)
