"""Where a store is: a file, a database, memory; and who may write to it: one process."""

import contextlib
import os
import secrets
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..errors import StoreError

_OURS = {"meta", "events", "rows", "marks", "snapshots"}
_LOCK = 0x65766572  # the number of the lock in a PostgreSQL database
_PATIENCE = 30.0  # seconds to wait for another process that is writing a page


class Place:
    """A database to write to, alone, or to look at.

    Parameters
    ----------
    place : str or path-like
        A file, a URL of SQLAlchemy, or ":memory:".
    read_only : bool
        Whether to look only.
    """

    def __init__(self, place: Any, read_only: bool) -> None:
        self.name: str = os.fspath(place)
        self._lock: FileLock | None = None
        self._connection: Any = None
        self.durable = self.name != ":memory:"
        if not self.durable:
            self._open_memory()
        elif "://" in self.name:
            self._open_url(read_only)
        else:
            self._open_file(Path(self.name), read_only)

    def __str__(self) -> str:
        if "://" in self.name:  # never show a password
            shown: str = sa.make_url(self.name).render_as_string(hide_password=True)
            return shown
        return self.name

    def close(self) -> None:
        """Close all connections, and let others in."""
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()
        if self._lock is not None:
            self._lock.release()

    def _open_memory(self) -> None:
        address = f"file:everlearn-{secrets.token_hex(8)}?mode=memory&cache=shared"

        def connect() -> sqlite3.Connection:
            db = sqlite3.connect(address, uri=True, check_same_thread=False)
            db.execute("PRAGMA read_uncommitted=1")  # one process: readers need not wait for the writer
            return db

        self.engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)
        self._connection = self.engine.connect()  # the database lives as long as one connection does

    def _open_file(self, path: Path, read_only: bool) -> None:
        path = path.resolve()  # by whatever name it is opened, it has one lock
        if path.is_dir():
            raise StoreError(f"{path} is a folder; a store is a file.")
        if not path.parent.is_dir():
            raise StoreError(f"{path} cannot be opened: there is no folder {path.parent}.")
        if read_only and not path.exists():
            raise StoreError(f"There is no store at {path}.")
        if path.exists():
            _refuse_foreign(path)
        if not read_only:
            self._take(path)
        address = _address(path, "ro" if read_only else "rwc")

        def connect() -> sqlite3.Connection:
            db = sqlite3.connect(address, uri=True, timeout=_PATIENCE, check_same_thread=False)
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")  # acknowledged is durable, power cuts included
            return db

        self.engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)

    def _take(self, path: Path) -> None:
        """Be the only one; a lock of a process that was killed is gone with it."""
        self._lock = FileLock(f"{path}-lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreError(
                f"{path} is open in another process, or twice in this one: close it there, or open it here "
                "with read_only=True."
            ) from None
        except OSError as exc:
            raise StoreError(f"{path} cannot be written to: {exc.strerror or exc}.") from exc

    def _open_url(self, read_only: bool) -> None:
        try:
            self.engine = sa.create_engine(self.name)
        except (ArgumentError, ImportError) as exc:
            raise StoreError(f"{self.name.split('://')[0]}://... cannot be opened: {exc}.") from exc
        if self.engine.dialect.name != "postgresql":
            raise StoreError(f"{self} cannot be opened: a store is a file, or a PostgreSQL database.")
        if read_only:
            return
        try:
            self._connection = self.engine.connect()
            free = self._connection.scalar(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})"))
            self._connection.commit()
        except SQLAlchemyError as exc:
            self.engine.dispose()
            raise StoreError(f"{self} cannot be opened: {getattr(exc, 'orig', exc)}.") from exc
        if not free:
            self.close()
            raise StoreError(
                f"{self} is open in another process: close it there, or open it here with read_only=True."
            )


def _address(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def _refuse_foreign(path: Path) -> None:
    """Look before anything is written: a file of somebody else is left as it is."""
    if not path.is_file():
        raise StoreError(f"{path} is not a file.")
    ask = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    try:
        with contextlib.closing(sqlite3.connect(_address(path, "ro"), uri=True, timeout=_PATIENCE)) as db:
            tables = {name for (name,) in db.execute(ask)}
    except sqlite3.Error as exc:
        raise StoreError(f"{path} cannot be opened: {exc}.") from exc
    if not tables <= _OURS:
        raise StoreError(f"{path} is not a store of everlearn, but another SQLite database.")
