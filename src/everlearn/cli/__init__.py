"""The command line: parse, call, print."""

try:
    from ._app import app
    from .commands import main
except ModuleNotFoundError as error:
    if error.name not in ("typer", "rich"):
        raise
    raise ModuleNotFoundError(
        f'The command line needs {error.name}: pip install "everlearn[cli]".', name=error.name
    ) from error

__all__ = ["app", "main"]
