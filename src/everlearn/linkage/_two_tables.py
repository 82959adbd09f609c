"""Two tables whose columns may have different names."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._text import normalized
from .records import Records, columns_of, id_column


def both_tables(
    left: Any,
    right: Any = None,
    schema: Mapping[str, str | None] | None = None,
    columns: Mapping[str, str] | None = None,
) -> tuple[Records, Records | None]:
    """The records of one table, or of two with the same fields.

    ``columns`` says which column of the second table is which of the first. Names that are equal but for
    case, spaces and underscores are the same. With a schema all its fields must be in both tables; without
    one, fields that are only in one are not compared, with a warning.
    """
    if right is None or isinstance(right, Records):
        return left if isinstance(left, Records) else Records(left, schema), right
    second = with_names_of(
        list(left.schema if isinstance(left, Records) else columns_of(left)), right, columns
    )
    if isinstance(left, Records):
        _check_fields(left.schema, second)
        return left, Records(second, left.schema)
    first = columns_of(left)
    if schema is not None:
        made = Records(left, schema)
        _check_fields(made.schema, second)
        return made, Records(second, made.schema)
    fields = [name for name in first if name != id_column(first)]
    others = [name for name in second if name != id_column(second)]
    common = [name for name in fields if name in second]
    if not common:
        raise ValueError(
            f"left and right have no column in common: left has {', '.join(fields) or 'none'}; right has "
            f"{', '.join(others) or 'none'}. Say which are the same, such as "
            f"columns={{{(others or ['surname'])[0]!r}: {(fields or ['name'])[0]!r}}}."
        )
    apart = [
        f"{', '.join(names)} (only in {side})"
        for side, names in (
            ("left", [name for name in fields if name not in common]),
            ("right", [name for name in others if name not in common]),
        )
        if names
    ]
    if apart:
        warnings.warn(
            f"Compared are {', '.join(common)}; not {' and '.join(apart)}. If columns have other names, pass "
            "columns={name in right: name in left}.",
            UserWarning,
            stacklevel=4,
        )
    made = Records(left, dict.fromkeys(common))
    return made, Records(second, made.schema)


def with_names_of(
    wanted: list[str], data: Any, columns: Mapping[str, str] | None = None
) -> dict[str, Sequence[Any]]:
    """The columns of a table with the names of another one, where they have others."""
    found = columns_of(data)
    names = _renamed(list(found), wanted, columns or {})
    return {names.get(name, name): column for name, column in found.items()}


def _renamed(names: list[str], wanted: list[str], columns: Mapping[str, str]) -> dict[str, str]:
    """For names of the second table those of the first."""
    for theirs, ours in columns.items():
        if theirs not in names or ours not in wanted:
            raise ValueError(
                f"columns={dict(columns)!r} must have names of the new table as keys ({', '.join(names)}) "
                f"and those of the first as values ({', '.join(wanted)})."
            )
    taken = {*columns.values(), *(name for name in names if name in wanted)}
    plain = {_plain(name): name for name in wanted if name not in taken}
    found = dict(columns)
    for name in names:
        if name not in found and name not in wanted and _plain(name) in plain:
            found[name] = plain.pop(_plain(name))
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in normalized(name) if letter.isalnum())


def _check_fields(schema: Mapping[str, str], columns: Mapping[str, Any]) -> None:
    if missing := [name for name in schema if name not in columns]:
        raise ValueError(
            f"right has no column {', '.join(map(repr, missing))}; its columns are "
            f"{', '.join(columns) or 'none'}. If they have other names, pass columns={{name in right: "
            "name in left}."
        )
