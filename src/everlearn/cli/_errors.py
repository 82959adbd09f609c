"""From exceptions to messages and exit codes: 1 for data and stores, 2 for usage, 130 and 143 for signals."""

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
from ._interrupt import exit_status, raising, words_for

_Command = TypeVar("_Command", bound=Callable[..., Any])
_REMEDY_OF = {  # what to do at a terminal, by the code of an error
    "in_use": "Close it there, or look at it with `everlearn status`.",
    "duplicate_id": "--duplicate-ids skip passes over such rows.",
    "other_learner": "Leave --learner and --param out.",
    "file_exists": "Give another name, or pass --overwrite.",
    "no_max_age": "Make a store with `everlearn run --max-age 30d`, for example.",
}
_REMEDIES = {  # what the library advises a programmer to do, in words for a terminal
    'pass unknown_fields="ignore"': "pass --unknown-fields ignore",
    "pass header=False": "pass --no-header",
    "infer a new schema": "begin a new store",
}


def reporting(command: _Command) -> _Command:
    """A command whose mistakes end in one message on standard error, and in an exit code."""

    @functools.wraps(command)
    def reported(*args: Any, **options: Any) -> Any:
        try:
            with raising(), _short_warnings():
                return command(*args, **options)
        except KeyboardInterrupt as error:
            error_console().print(words_for(error))
            raise interrupted(error) from None
        except BrokenPipeError:
            # Whoever read our output has had enough; Python would complain about it once more at exit.
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
            _report("There is not enough memory. Take in fewer rows at a time with --batch-size.")
            raise typer.Exit(1) from None

    return reported  # type: ignore[return-value]


def interrupted(error: BaseException) -> typer.Exit:
    """What to raise after Ctrl-C or SIGTERM, once everything is said."""
    return typer.Exit(exit_status(error))


def show_exception(kind: type[BaseException], error: BaseException, where: Any) -> None:
    """An error of the program itself, in full; a hook for `sys.excepthook`."""
    lines = "".join(traceback.format_exception(kind, error, where)).rstrip("\n")
    error_console().print(notice(lines, indent=""))


def _report(words: str) -> None:
    text = styled("Error: ", style="bold red")
    text.append(notice(words))
    error_console().print(text)


def message_of(error: BaseException) -> str:
    """What went wrong and what to do, for someone at a terminal."""
    if isinstance(error, ModuleNotFoundError) and error.name and not str(error).count("pip install"):
        package = error.name.partition(".")[0]
        return f"This needs {package}, which is not installed: pip install {package}"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else error.filename
        return f"{name}: {error.strerror}."
    if isinstance(error, EverlearnError) and error.code in _REMEDY_OF:
        return f"{error.problem} {_REMEDY_OF[error.code]}"
    text = str(error) or type(error).__name__
    for advice, words in _REMEDIES.items():
        text = text.replace(advice, words)
    return text


@contextlib.contextmanager
def _short_warnings() -> Any:
    """Warnings as a line each, without the file and the line of code that they come from."""
    with warnings.catch_warnings():
        console = error_console()

        def show(message: Any, *_: Any, **__: Any) -> None:
            console.print(notice(f"Note: {message}", style="yellow"))

        warnings.showwarning = show
        yield
