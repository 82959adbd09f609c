"""The Typer application: its help, its version, and a decorator that adds commands."""

import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._visible import visible
from ._errors import reporting, show_exception
from ._interrupt import deliver_again


class Group(TyperGroup):
    """The commands; usage errors are made visible, because they can quote file names."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the arguments before the command."""
        with _visible_usage_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the arguments of the command, and run it."""
        with _visible_usage_errors():
            return super().invoke(ctx)


@contextlib.contextmanager
def _visible_usage_errors() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = visible(error.message, exact=False)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="everlearn",
    cls=Group,
    help="Learn from an endless stream of rows, and ask for the labels that help most.",
    epilog=(
        "[dim]Example:[/dim]\n  everlearn run data.csv --store data.everlearn\n"
        "  everlearn ask data.everlearn\n  everlearn report data.everlearn --open"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class DefaultGroup(Group):
    """Commands of a command: `everlearn link FILE` is `everlearn link records FILE`."""

    default = "records"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the name of the default command, unless there is one."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def command(
    *examples: str, to: typer.Typer | None = None, **options: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a command with examples, to a group of commands if one is given; its docstring is its help."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        paragraphs = (inspect.getdoc(function) or "").split("\n\n")
        text = "\n\n".join(" ".join(part.split()) for part in paragraphs)  # the terminal wraps the lines
        epilog = "\n".join(["[dim]Example:[/dim]", *(f"  {line}" for line in examples)])
        (app if to is None else to).command(help=text, epilog=epilog, **options)(reporting(function))
        return function

    return add


def main() -> None:
    """Run the command line."""
    sys.excepthook, sys.unraisablehook = show_exception, deliver_again
    app(prog_name="everlearn")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"everlearn {version('everlearn')}")
        raise typer.Exit


@app.callback()
def _global_options(
    shows_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
