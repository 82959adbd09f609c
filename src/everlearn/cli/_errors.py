"""Exceptions as messages and exit codes: 1 for errors, 2 for usage, 130 and 143 for signals."""

import contextlib
import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from ..errors import CoreError, EverlearnError
from ._console import error_console, notice, styled
from ._interrupt import exit_status, message_for, raising

_Command = TypeVar("_Command", bound=Callable[..., Any])
_REMEDIES = {  # what to do at the command line, by the code of an error
    "messages_gone": "To go on without them, use --offset-reset earliest, or latest for new messages only.",
    "other_topic": "Use a store of its own for each topic or stream.",
    "duplicate_id": "Use --duplicate-ids skip to skip such rows.",
    "file_exists": "Choose another name, or use --overwrite.",
    "in_use": "Close it there, or look at it with `everlearn status`.",
    "made_again": "Use --offset-reset earliest to begin with its oldest message, or latest for new ones.",
    "no_header": "Add a header, or use --no-header.",
    "no_max_age": "Create a store with `everlearn run --max-age 30d`, for example.",
    "other_learner": "Leave out --learner and --param.",
    "row_too_long": "If it is CSV, increase --max-row-bytes.",
    "unknown_fields": "Remove them, use --unknown-fields ignore, or create a new store.",
    "wrong_format": "Use --format to choose another format.",
}


def reporting(command: _Command) -> _Command:
    """A command whose errors become one message on standard error and an exit code."""

    @functools.wraps(command)
    def reported(*args: Any, **options: Any) -> Any:
        try:
            with raising(), _short_warnings():
                return command(*args, **options)
        except KeyboardInterrupt as error:
            error_console().print(message_for(error))
            raise interrupted(error) from None
        except BrokenPipeError:
            # The reader of the output has closed it; without this, Python would print another error at exit.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except CoreError:
            raise
        except (ValueError, TypeError, EverlearnError, OSError, ImportError) as error:
            if options.get("traceback"):
                error_console().print(notice(traceback.format_exc(), indent=""))
            _report(message_of(error))
            raise typer.Exit(1) from None
        except MemoryError:
            _report("Out of memory. Use a smaller --batch-size.")
            raise typer.Exit(1) from None

    return reported  # type: ignore[return-value]


def interrupted(error: BaseException) -> typer.Exit:
    """The exception that ends a command after Ctrl-C or SIGTERM."""
    return typer.Exit(exit_status(error))


def show_exception(kind: type[BaseException], error: BaseException, where: Any) -> None:
    """Print the traceback of a bug; a hook for `sys.excepthook`."""
    lines = "".join(traceback.format_exception(kind, error, where)).rstrip("\n")
    error_console().print(notice(lines, indent=""))


def _report(message: str) -> None:
    text = styled("Error: ", style="bold red")
    text.append(notice(message))
    error_console().print(text)


def message_of(error: BaseException) -> str:
    """What went wrong, and what to do about it at the command line."""
    if isinstance(error, ModuleNotFoundError) and error.name and not str(error).count("pip install"):
        package = error.name.partition(".")[0]
        return f"This needs {package}, which is not installed: pip install {package}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
        return f"{name}: {error.strerror}."
    if isinstance(error, EverlearnError) and error.code in _REMEDIES:
        return f"{error.problem} {_REMEDIES[error.code]}"
    return str(error) or type(error).__name__


@contextlib.contextmanager
def _short_warnings() -> Any:
    """Print each warning as one line, without the line of code that it comes from."""
    with warnings.catch_warnings():
        console = error_console()

        def show(message: Any, *_: Any, **__: Any) -> None:
            console.print(notice(f"Warning: {message}", style="yellow"))

        warnings.showwarning = show
        yield
