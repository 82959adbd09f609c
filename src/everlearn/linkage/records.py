"""Records: a table of records with the kind of each field."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kinds import KINDS, infer_kind

_EMPTY = {"", "nan", "none", "null", "nat", "<na>"}


class Records:
    """A table of records with a schema: the kind of each field.

    Cells are kept as text, "" where a value is missing. Each field also has its distinct values and the code
    of every record, so that whatever is computed for a value is computed once.

    Parameters
    ----------
    data : DataFrame, Arrow table, dict of columns or sequence of dicts
        The table: of pandas, polars or Arrow, a dict of column name to values, or a dict for each record.
    schema : dict of str to str, default=None
        The fields to compare, with the kind of each: "name", "text", "email", "url", "date", "number",
        "category" or "address"; None as a kind infers it. Without a schema all columns but the ids are used
        and the kinds are inferred from column names and values.
    id : str or False, default=None
        The column with the ids, which must be distinct. None takes a column called "id" if there is one;
        otherwise, or with False, records are numbered from 0.

    Attributes
    ----------
    schema : dict of str to str
        The kind of each field.
    ids : list
        The id of each record.

    Examples
    --------
    >>> from everlearn.linkage import Records
    >>> people = Records([{"name": "Ann Lee", "born": "1980-02-01"}, {"name": "Anne Lee", "born": None}])
    >>> people.schema
    {'name': 'name', 'born': 'date'}
    >>> people[1]
    {'name': 'Anne Lee', 'born': ''}
    """

    def __init__(
        self, data: Any, schema: Mapping[str, str | None] | None = None, *, id: str | bool | None = None
    ) -> None:
        columns = columns_of(data)
        ids_in = id_column(columns, id)
        n = len(next(iter(columns.values()))) if columns else 0
        ids = list(range(n)) if ids_in is None else list(columns[ids_in])
        if ids_in is not None:
            _check_ids(ids, ids_in)
            _check_distinct(ids, ids_in)
        if schema is None:
            schema = {name: None for name in columns if name != ids_in}
        _check_schema(schema, columns)
        self.ids = ids
        self.schema: dict[str, str] = {}
        self._fields: dict[str, tuple[list[str], NDArray[np.intp]]] = {}
        self._place: dict[Any, int] | None = None
        for name, kind in schema.items():
            values, codes = _distinct([_text(cell) for cell in columns[name]])
            self._fields[name] = values, codes
            self.schema[name] = infer_kind(name, values, codes) if kind is None else kind

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> dict[str, str]:
        """The fields of a record, by its place in the table."""
        return {name: values[codes[place]] for name, (values, codes) in self._fields.items()}

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}: {kind}" for name, kind in self.schema.items())
        return f"<Records: {len(self):,} records; {fields}>"

    def distinct(self, field: str) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct values of a field and their code for each record.

        Parameters
        ----------
        field : str
            The field.

        Returns
        -------
        tuple of (list of str, ndarray of shape (n_records,))
            Values, "" for a missing one, and for each record the place of its value in that list.
        """
        if field not in self._fields:
            raise ValueError(
                f"There is no field {field!r}; the fields are {', '.join(self.schema) or 'none'}."
            )
        return self._fields[field]

    def values(self, field: str) -> list[str]:
        """Return the value of a field for each record.

        Parameters
        ----------
        field : str
            The field.

        Returns
        -------
        list of str
            The values; "" for a missing one.
        """
        values, codes = self.distinct(field)
        return [values[code] for code in codes]

    def place_of(self, id: Any) -> int:
        """Return the place of a record in the table.

        Parameters
        ----------
        id : object
            The id of the record.

        Returns
        -------
        int
            Its place, from 0.
        """
        if self._place is None:
            self._place = {known: place for place, known in enumerate(self.ids)}
        if id not in self._place:
            raise ValueError(f"There is no record with the id {id!r}.")
        return self._place[id]


def as_records(data: Any, schema: Mapping[str, str | None] | None = None) -> Records:
    """The records themselves, or a table made to records."""
    return data if isinstance(data, Records) else Records(data, schema)


def without_repeats(data: Any, id: str | bool | None = None) -> Any:
    """A table without records whose id an earlier one of them has; the table itself if there are none."""
    columns = columns_of(data)
    name = id_column(columns, id)
    if name is None:
        return data
    _check_ids(columns[name], name)
    if len(set(columns[name])) == len(columns[name]):
        return data
    first = {given: at for at, given in reversed(list(enumerate(columns[name])))}
    kept = sorted(first.values())
    return {other: [column[at] for at in kept] for other, column in columns.items()}


def has_ids(data: Any, id: str | bool | None = None) -> bool:
    """Whether a table has a column of ids."""
    return id_column(columns_of(data), id) is not None


def columns_of(data: Any) -> dict[str, Sequence[Any]]:
    """Columns of equal length, whatever holds them."""
    columns: dict[str, Sequence[Any]]
    if isinstance(data, Mapping):
        columns = {str(name): list(column) for name, column in data.items()}
    elif hasattr(data, "column_names") and hasattr(data, "to_pydict"):  # Arrow
        _check_names(data.column_names)
        columns = {str(name): column for name, column in data.to_pydict().items()}
    elif hasattr(data, "get_columns"):  # polars
        columns = {column.name: column.to_list() for column in data.get_columns()}
    elif hasattr(data, "columns") and hasattr(data, "iloc"):  # pandas
        _check_names(data.columns)
        columns = {str(name): data.iloc[:, i].tolist() for i, name in enumerate(data.columns)}
    elif (
        isinstance(data, Sequence) and not isinstance(data, str) and all(isinstance(r, Mapping) for r in data)
    ):
        names = dict.fromkeys(str(name) for record in data for name in record)
        columns = {name: [record.get(name) for record in data] for name in names}
    else:
        raise TypeError(
            f"data must be a pandas, polars or Arrow table, a dict of columns or a sequence of dicts, got "
            f"{_described(data)}."
        )
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"data has columns of different lengths: {lengths}.")
    return columns


def _check_names(names: Iterable[Any]) -> None:
    """Refuse names of columns that repeat: only one of them would be read."""
    texts = [str(name) for name in names]
    if repeated := [name for name in dict.fromkeys(texts) if texts.count(name) > 1]:
        raise ValueError(f"data has several columns called {repeated[0]!r}: rename all but one of them.")


def _described(data: Any) -> str:
    """The type of a table, and of its first record."""
    name = type(data).__name__
    return f"{name} of {type(data[0]).__name__}" if isinstance(data, list | tuple) and data else name


def id_column(columns: Mapping[str, Any], id: str | bool | None = None) -> str | None:
    """The column with the ids; None if records are numbered."""
    if id is None:
        return next((name for name in columns if name.lower() == "id"), None)
    if id is False:
        return None
    if id not in columns:
        raise ValueError(f"id={id!r} names a missing column; the columns are {', '.join(columns)}.")
    return str(id)


def _check_ids(ids: Sequence[Any], column: str) -> None:
    """Refuse missing ids, which would be taken for one id that repeats, and values that cannot be ids."""
    instead = "name another column as id, or pass id=False (--id none) to number the records."
    for given in ids:
        if _is_missing(given):
            raise ValueError(f"Some records have no id in column {column!r}: {instead}")
        try:
            hash(given)
        except TypeError:
            raise ValueError(f"Column {column!r} has {given!r}, which cannot be an id: {instead}") from None


def _is_missing(given: Any) -> bool:
    return not (given.strip() if isinstance(given, str) else _text(given))


def _check_distinct(ids: list[Any], column: str) -> None:
    if len(set(ids)) == len(ids):
        return
    seen: set[Any] = set()
    repeated = list(dict.fromkeys(i for i in ids if i in seen or seen.add(i)))  # type: ignore[func-returns-value]
    raise ValueError(
        f"The ids of column {column!r} must be distinct, but {len(repeated)} of them repeat, such as "
        f"{repeated[0]!r}: name another column as id, or pass id=False (--id none) to number the records."
    )


def _check_schema(schema: Mapping[str, str | None], columns: Mapping[str, Any]) -> None:
    check_kinds(schema)
    missing = [name for name in schema if name not in columns]
    if missing:
        raise ValueError(
            f"schema names a missing column: {', '.join(map(repr, missing))}; the columns are "
            f"{', '.join(columns) or 'none'}."
        )


def check_kinds(schema: Mapping[str, str | None]) -> None:
    """Refuse kinds of fields that do not exist."""
    if not isinstance(schema, Mapping):
        raise TypeError(f"schema must be a dict such as {{'name': 'name', 'born': 'date'}}, got {schema!r}.")
    for name, kind in schema.items():
        if kind is not None and kind not in KINDS:
            raise ValueError(f"schema has the kind {kind!r} for {name!r}; the kinds are {', '.join(KINDS)}.")


def _text(cell: Any) -> str:
    """The text of a cell; "" for a missing one."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        text = cell.strip()
        return "" if text.lower() in _EMPTY else text
    if isinstance(cell, datetime):
        return (
            "" if cell != cell else (cell.date() if cell.time() == datetime.min.time() else cell).isoformat()
        )
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, float | np.floating):
        if math.isnan(cell):
            return ""
        return str(int(cell)) if float(cell).is_integer() else repr(float(cell))
    return _text(str(cell))


def _distinct(cells: list[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Distinct values in order of appearance, and the code of each cell."""
    known: dict[str, int] = {}
    codes = np.fromiter((known.setdefault(c, len(known)) for c in cells), dtype=np.intp, count=len(cells))
    return list(known), codes
