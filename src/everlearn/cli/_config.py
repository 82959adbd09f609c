"""Options in a TOML file: its keys are the names of options, and the command line wins over it."""

import difflib
import sys
from pathlib import Path
from typing import Any

import typer

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_TABLES = ("kind", "param")  # options NAME=VALUE, which are tables in the file
_NOT_IN_FILES = ("config", "help", "traceback")


def load_config(context: typer.Context, path: Path | None) -> Path | None:
    """A callback of the option --config: the values in the file become the defaults of all other options."""
    if path is not None:
        names = {option.name: option for option in context.command.params if option.name}
        context.default_map = {**(context.default_map or {}), **read_config(path, names)}
    return path


def read_config(path: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The values in a file by the names of options; ``options`` are those of the command, by name."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise typer.BadParameter(f"{str(path)!r}: {error.strerror}.", param_hint="--config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(
            f"{str(path)!r} is not valid TOML: {error}.", param_hint="--config"
        ) from None
    known = {name: option for name, option in options.items() if name not in _NOT_IN_FILES}
    names = {spelling: name for name, option in known.items() for spelling in _spellings(name, option)}
    values: dict[str, Any] = {}
    for key, value in found.items():
        name = names.get(key.replace("-", "_"))
        if name is None:
            close = difflib.get_close_matches(key.replace("-", "_"), names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(sorted(known))}."
            raise typer.BadParameter(
                f"{str(path)!r} has the unknown key {key!r}: {hint}", param_hint="--config"
            )
        if name in values:
            raise typer.BadParameter(f"{str(path)!r} has {name!r} twice.", param_hint="--config")
        values[name] = _value(path, name, value, getattr(known[name], "multiple", False))
    return values


def _spellings(name: str, option: Any) -> set[str]:
    """The name of a parameter, and those of its long options, with underscores."""
    return {name, *(text[2:].replace("-", "_") for text in option.opts if text.startswith("--"))}


def _value(path: Path, name: str, value: Any, several: bool) -> Any:
    if name in _TABLES:
        if not isinstance(value, dict):
            raise typer.BadParameter(
                f"{str(path)!r}: {name!r} must be a table, such as [{name}] with a line for each value.",
                param_hint="--config",
            )
        return [f"{key}={item if isinstance(item, str) else repr(item)}" for key, item in value.items()]
    if isinstance(value, dict) or isinstance(value, list) != several:
        wanted = "a list" if several else "a single value"
        raise typer.BadParameter(f"{str(path)!r}: {name!r} must be {wanted}.", param_hint="--config")
    return [str(item) for item in value] if several else value
