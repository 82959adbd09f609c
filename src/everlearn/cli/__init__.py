"""The command line: each command parses its arguments, calls the library and prints the result.

Public are `app` (the Typer application) and `main` (the entry point). The command `everlearn NAME` is in
`NAME.py`; modules with an underscore support the commands.
"""

try:
    from ._app import app, main
except ModuleNotFoundError as error:
    if error.name not in ("typer", "rich"):
        raise
    raise ModuleNotFoundError(
        f'The command line needs {error.name}: pip install "everlearn[cli]".', name=error.name
    ) from error

from . import run, watch, ask, predict, status, report, export, schema, backup, erase, expire, bench  # noqa: F401, I001 - in the order of the help

__all__ = ["app", "main"]
