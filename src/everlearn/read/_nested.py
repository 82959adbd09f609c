"""Nested objects: the values inside become fields of their own, named "outer.inner"."""

from collections.abc import Iterable, Mapping
from typing import Any

_MOST_KEYS = 200  # of an object that is a record; one with more is a dictionary of its own kind


def flattened(columns: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns with objects replaced by the values inside; an object with too many keys stays as it is."""
    found: dict[str, list[Any]] = {}
    for name, cells in columns.items():
        inner = _inside(name, cells)
        if inner is None or any(key in columns for key in inner):
            found[name] = cells
        else:
            found |= flattened(inner)
    return found


def _inside(name: str, cells: list[Any]) -> dict[str, list[Any]] | None:
    """The columns inside of a column of objects; None if it is something else."""
    keys: dict[str, None] = {}
    for cell in cells:
        if isinstance(cell, dict):
            keys |= dict.fromkeys(map(str, cell))
            if len(keys) > _MOST_KEYS:
                return None
        elif cell is not None:
            return None
    if not keys:
        return None
    return {f"{name}.{key}": [cell.get(key) if cell else None for cell in cells] for key in keys}


def outer_names(names: Iterable[str]) -> set[str]:
    """The names and, for "a.b.c", also "a" and "a.b": the fields in which they may be found."""
    found = set()
    for name in names:
        parts = name.split(".")
        found |= {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return found


def find(columns: Mapping[str, Any], name: str) -> Any | None:
    """The cells of a field, inside of an object if need be; None if there are none."""
    if name in columns:
        return columns[name]
    parts = name.split(".")
    for n in range(len(parts) - 1, 0, -1):
        outer = columns.get(".".join(parts[:n]))
        if outer is not None:
            return [_value(cell, parts[n:]) for cell in outer]
    return None


def _value(cell: Any, path: list[str]) -> Any:
    """The value at a path of keys, which may contain points themselves."""
    if not path:
        return cell
    if not isinstance(cell, dict):
        return None
    for n in range(len(path), 0, -1):
        key = ".".join(path[:n])
        if key in cell:
            return _value(cell[key], path[n:])
    return None
