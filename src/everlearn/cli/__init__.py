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

from . import run, watch, ask, questions, label, withdraw, predict, status  # noqa: F401, I001 - in this order in the help
from . import link, serve, reconcile, report, export, schema, backup, erase, expire, bench, reproduce  # noqa: F401

__all__ = ["app", "main"]
