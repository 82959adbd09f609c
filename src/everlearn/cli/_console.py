"""Consoles: results go to standard output, everything else to standard error.

All text that is printed is made visible first (see `everlearn._visible`): a console does so for strings and
for the cells of tables; `styled`, `paragraph` and `notice` do so for text with a style. `rich.text.Text` is
not used anywhere else, because it silently drops some control characters. Markup is never interpreted.
"""

import sys
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.style import Style
from rich.text import Text

from .._visible import visible, visible_lines

_WIDTH = 500  # without a terminal: tables are as wide as their content, and nothing is wrapped


class SafeConsole(Console):
    """A console that shows control characters and markup instead of interpreting them."""

    def render_str(self, text: str, **options: Any) -> Text:
        """The string as one line of text."""
        return super().render_str(visible(text), **options | {"markup": False, "emoji": False})


def console() -> Console:
    """For results."""
    return _console(sys.stdout)


def error_console() -> Console:
    """For progress, notes and errors."""
    return _console(sys.stderr)


def styled(text: Any, style: str = "", **options: Any) -> Text:
    """One line of text."""
    return Text(visible(text), style=style, **options)


def paragraph(text: Any, style: str = "", indent: str = "  ") -> Text:
    """Text with several lines, all but the first indented."""
    return Text(visible_lines(text, indent), style=style)


def linked(text: Any, address: str, style: str = "") -> Text:
    """One line of text that is a link, on terminals that have links; the address is escaped."""
    safe = quote(address, safe=":/?#[]@!$&'()*+,;=%~-._")
    return Text(visible(text), style=Style.parse(style) + Style(link=safe))


def notice(text: Any, style: str = "", indent: str = "  ") -> Text:
    """An error or a warning, possibly with several lines."""
    return Text(visible_lines(text, indent, exact=False), style=style)


def show(item: Any, on: Console) -> None:
    """Print a table; without a terminal, without trailing spaces."""
    if on.is_terminal:
        on.print(item)
        return
    with on.capture() as captured:
        on.print(item)
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
