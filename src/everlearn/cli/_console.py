"""Consoles: results go to standard output, all that is said about them to standard error.

This is where text from data meets a terminal. Every string that is printed is made visible first (see
`everlearn._visible`): a console does so with what is printed and with the cells of tables, `styled`,
`paragraph` and `notice` with text that has a style. `rich.text.Text` is not used anywhere else, because it
drops some control characters without a trace. No markup is interpreted.
"""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from .._visible import visible, visible_lines

_WIDTH = 500  # where there is no terminal: tables are as wide as what is in them, and nothing is folded


class SafeConsole(Console):
    """A console that shows strings as they are and lets nothing in them act."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The string as text of one line."""
        return super().render_str(visible(text), **options | {"markup": False, "emoji": False})


def console() -> Console:
    """For results."""
    return _console(sys.stdout)


def error_console() -> Console:
    """For progress, notes and errors."""
    return _console(sys.stderr)


def styled(text: Any, style: str = "", **options: Any) -> Text:
    """Text of one line."""
    return Text(visible(text), style=style, **options)


def paragraph(text: Any, style: str = "") -> Text:
    """Text of several lines, all but the first indented."""
    return Text(visible_lines(text), style=style)


def notice(text: Any, style: str = "", indent: str = "  ") -> Text:
    """An error or a warning, which may have several lines and quote by `repr`."""
    return Text(visible_lines(text, indent, exact=False), style=style)


def show(thing: Any, on: Console) -> None:
    """Print a table; into a file without the blanks that fill its lines up."""
    if on.is_terminal:
        on.print(thing)
        return
    with on.capture() as captured:
        on.print(thing)
    on.print(Text("\n".join(line.rstrip() for line in captured.get().splitlines())))


def _console(file: Any) -> Console:
    plain = not file.isatty()
    return SafeConsole(
        file=file,
        width=_WIDTH if plain else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=plain,
    )
