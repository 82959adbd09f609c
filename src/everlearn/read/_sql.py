"""The rows of an SQL query; needs SQLAlchemy."""

import datetime
import decimal
import importlib
import json
import os
from typing import Any

from ._blocks import Block, BlockReader
from .field import duplicates

_SQLITE = b"SQLite format 3\0"


class SQLReader(BlockReader):
    """The rows of a query; line numbers are row numbers, from 1."""

    def __init__(self, location: str, query: str) -> None:
        try:
            self._sa: Any = importlib.import_module("sqlalchemy")
        except ImportError as error:
            raise ImportError(
                "SQL needs SQLAlchemy, which is not installed: pip install everlearn[stream]."
            ) from error
        self.name = sql_name(location)
        self.bytes_total = None
        errors = (self._sa.exc.SQLAlchemyError, ImportError)
        try:
            self._engine = self._sa.create_engine(database_url(location))
        except errors as error:
            raise ValueError(f"{self.name} cannot be opened: {_words(error)}.") from error
        self._connection: Any = None
        try:
            self._connection = self._engine.connect().execution_options(stream_results=True)
            self._result = self._connection.execute(self._sa.text(query))
            if not self._result.returns_rows:
                raise ValueError(f"The query returns no rows: use SELECT. It is {query!r}.")
        except errors as error:
            self.close()
            raise ValueError(f"The query of {self.name} failed: {_words(error)}.") from error
        except BaseException:
            self.close()
            raise
        self.fields = [str(name) for name in self._result.keys()]  # noqa: SIM118 - not a mapping
        if twice := duplicates(self.fields):
            self.close()
            raise ValueError(f"Duplicate column names {twice} in the query: rename them with AS.")
        self.required = self.used = None
        self.headers_skipped = 0
        self._rows_read = 0

    def read(self, n: int) -> Block | None:
        """The next n rows."""
        rows = self._result.fetchmany(n)
        if not rows:
            return None
        names = self.fields or []
        columns = {
            name: [_cell(row[at]) for row in rows]
            for at, name in enumerate(names)
            if self.used is None or name in self.used
        }
        raw = [
            json.dumps(dict(zip(names, map(_cell, row), strict=True)), default=str, ensure_ascii=False)
            for row in rows
        ]
        lines = list(range(self._rows_read + 1, self._rows_read + len(rows) + 1))
        self._rows_read += len(rows)
        return Block(lines, raw, columns)

    @property
    def bytes_read(self) -> int:
        """The number of rows read: their size is not known."""
        return self._rows_read

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()


def database_url(location: str) -> str:
    """The address of a database: itself, or that of an SQLite file."""
    if "://" in location:
        return location
    if not os.path.isfile(location):
        raise ValueError(
            f"{location} is no database: with a query (--sql), the source is an SQLite file or an address "
            "such as postgresql+psycopg://user@host/database."
        )
    with open(location, "rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            raise ValueError(f"{location} is not an SQLite database: leave out the query (--sql).")
    return f"sqlite:///file:{os.path.abspath(location)}?mode=ro&uri=true"


def sql_name(location: str) -> str:
    """The address without its password."""
    if "://" not in location:
        return location
    head, at, tail = location.rpartition("@")
    scheme, _, user = head.partition("://")
    return f"{scheme}://{user.partition(':')[0]}{':***' if ':' in user else ''}{at}{tail}" if at else location


def _words(error: BaseException) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split())


def _cell(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return value
