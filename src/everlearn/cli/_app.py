"""The application: its commands, each with examples, and its version."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .._visible import visible
from ._errors import reporting


class Group(TyperGroup):
    """The commands; what a usage error says is made visible, because it can quote names of files."""

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
    help="Learn from a stream that never ends, and ask for the labels that are worth it.",
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


def command(*examples: str, **options: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with examples; its docstring is its help, whose lines are folded by the terminal."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        paragraphs = (inspect.getdoc(function) or "").split("\n\n")
        words = "\n\n".join(" ".join(part.split()) for part in paragraphs)
        epilog = "\n".join(["[dim]Example:[/dim]", *(f"  {line}" for line in examples)])
        app.command(help=words, epilog=epilog, **options)(reporting(function))
        return function

    return add


def _version(wanted: bool) -> None:
    if wanted:
        print(f"everlearn {version('everlearn')}")
        raise typer.Exit


@app.callback()
def _everything(
    shows_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
