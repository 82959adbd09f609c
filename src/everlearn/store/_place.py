"""The database of a store (a file, PostgreSQL or memory), and the lock that lets one process write to it."""

import contextlib
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..errors import StoreError
from ._tables import NAMES, TABLES

SIDE_FILES = ("-wal", "-shm", "-journal", "-lock")  # that a store has beside it
SCHEMA = "everlearn"  # of the tables in a PostgreSQL database
_LOCK = 0x65766572  # the number of the lock in a PostgreSQL database
PATIENCE = 30.0  # seconds to wait for another process that is writing a page


class Place:
    """The database of a store, open for exclusive writing or for reading.

    Parameters
    ----------
    place : str or path-like
        A file, a URL of SQLAlchemy, or ":memory:".
    read_only : bool
        Whether to read only.
    create : bool
        Whether to make a file that is not there.
    """

    def __init__(self, place: Any, read_only: bool, create: bool) -> None:
        self.name: str = os.fspath(place)
        self._lock: FileLock | None = None
        self._connection: Any = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self.path: Path | None = None  # of a file
        self.lacked_log = False  # whether a file had no write-ahead log beside it when it was opened
        self.durable = self.name != ":memory:"
        if not self.durable:
            self._open_memory()
        elif "://" in self.name:
            self._open_url(read_only)
        else:
            self._open_file(Path(self.name), read_only, create)

    def __str__(self) -> str:
        if "://" in self.name:  # never show a password
            shown: str = sa.make_url(self.name).render_as_string(hide_password=True)
            return shown
        return self.name

    def close(self) -> None:
        """Close all connections and release the lock."""
        if self._finalizer is not None:
            self._finalizer()
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()
        if self._lock is not None:
            self._lock.release()

    def has_tables(self) -> bool:
        """Whether there is a store."""
        return bool(sa.inspect(self.engine).has_table("meta", schema=self._schema))

    @property
    def _schema(self) -> str | None:
        return SCHEMA if self.engine.dialect.name == "postgresql" else None

    def prepare(self, db: Any) -> None:
        """Make the tables that are missing, as part of a transaction.

        In PostgreSQL they have a schema of their own: tables of other programs are not in the way.
        """
        if self._schema is None:
            db.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none for CREATE TABLE
        elif not sa.inspect(db).has_schema(SCHEMA):  # the right to make one is asked for even if it exists
            db.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        fresh = not sa.inspect(db).has_table("rows", schema=self._schema)
        TABLES.create_all(db)
        if fresh and self._schema is not None:
            _keep_out_of_statistics(db)
        for table in TABLES.sorted_tables:  # one of another program by the same name fails here
            db.execute(sa.select(table).limit(0))

    def begin_use(self) -> None:
        """Note, in the file itself, that a write-ahead log belongs to it until it is closed."""
        if self.path is not None:
            if self._finalizer is None:
                self._finalizer = weakref.finalize(self, _end_use, self._connect, os.getpid())
            with contextlib.suppress(sa.exc.DBAPIError):  # a full disk: then the note is in the log
                self.checkpoint()  # which is not emptied: it is known by not being empty

    def has_log(self) -> bool:
        """Whether there is a write-ahead log beside the file; an empty one is made by whoever reads."""
        log = Path(f"{self.path}-wal")
        return log.exists() and log.stat().st_size > 0

    def qualified(self, table: str) -> str:
        """The name of a table for a statement in words."""
        return f"{SCHEMA}.{table}" if self.engine.dialect.name == "postgresql" else table

    def checkpoint(self, mode: str = "PASSIVE") -> bool:
        """Move the write-ahead log into the file; whether no reader was in the way.

        PASSIVE waits for nobody and moves what it can; TRUNCATE waits a while, and empties the log.
        """
        with self.engine.connect() as db:
            busy, _, _ = db.exec_driver_sql(f"PRAGMA wal_checkpoint({mode})").one()
        return not busy

    def _open_memory(self) -> None:
        address = f"file:everlearn-{secrets.token_hex(8)}?mode=memory&cache=shared"

        def connect() -> sqlite3.Connection:
            db = sqlite3.connect(address, uri=True, check_same_thread=False)
            db.execute("PRAGMA read_uncommitted=1")  # one process: readers need not wait for the writer
            return db

        self.engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)
        self._connection = self.engine.connect()  # the database lives as long as one connection does

    def _open_file(self, path: Path, read_only: bool, create: bool) -> None:
        path = path.resolve()  # by whatever name it is opened, it has one lock
        if path.is_dir():
            raise StoreError(f"{path} is a folder: give the path of a file.")
        if not path.parent.is_dir():
            raise StoreError(f"{path} cannot be opened: there is no folder {path.parent}.")
        if not create and not path.exists():
            raise StoreError(f"There is no store at {path}.", code="no_store")
        self.path = path
        self.lacked_log = not self.has_log()
        if path.exists() and not _tables_of(path) and not create:
            raise StoreError(f"{path} is not a store of everlearn.", code="no_store")
        if not read_only:
            self._take(path)
        address = _address(path, "ro" if read_only else "rwc" if create else "rw")

        def connect() -> sqlite3.Connection:
            db = sqlite3.connect(address, uri=True, timeout=PATIENCE, check_same_thread=False)
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
            db.execute("PRAGMA synchronous=FULL")  # acknowledged is durable, power cuts included
            return db

        self.engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)
        self._connect = connect

    def _take(self, path: Path) -> None:
        """Acquire the lock; the system releases that of a killed process."""
        self._lock = FileLock(f"{path}-lock", thread_local=False)  # any thread may close
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise _in_use(f"{path} is open in another process, or twice in this one.") from None
        except OSError as exc:
            raise StoreError(f"{path} cannot be written to: {exc.strerror or exc}.") from exc

    def _open_url(self, read_only: bool) -> None:
        try:
            self.engine = sa.create_engine(self.name).execution_options(schema_translate_map={None: SCHEMA})
        except (ArgumentError, ImportError) as exc:
            raise StoreError(f"{self.name.split('://')[0]}://... cannot be opened: {exc}.") from exc
        if self.engine.dialect.name != "postgresql":
            raise StoreError(f"{self} cannot be opened: a store must be a file or a PostgreSQL database.")
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
            raise _in_use(f"{self} is open in another process.")


def _in_use(problem: str) -> StoreError:
    remedy = "Close it there, or open it here with read_only=True."
    return StoreError(problem, code="in_use", remedy=remedy)


def _keep_out_of_statistics(db: Any) -> None:
    """ANALYZE copies values of columns into the catalog of PostgreSQL, where they could not be erased."""
    for table in TABLES.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, sa.Text | sa.LargeBinary):
                words = f"ALTER TABLE {SCHEMA}.{table.name} ALTER COLUMN {column.name} SET STATISTICS 0"
                db.execute(sa.text(words))


def _end_use(connect: Callable[[], sqlite3.Connection], owner: int) -> None:
    """Note that a file is complete without its log, which SQLite deletes with the last connection.

    It also happens to a store that nobody has closed, when it is collected or Python ends.
    """
    for _ in range(2 if os.getpid() == owner else 0):  # not in a forked process
        with contextlib.suppress(sqlite3.Error), contextlib.closing(connect()) as db:
            db.execute("UPDATE meta SET value = 'false' WHERE key = 'in_use'")
            db.commit()
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            return


def _address(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"


def _tables_of(path: Path) -> set[str]:
    """The tables in a file, read before anything is written: a file of another program is left as it is."""
    if not path.is_file():
        raise StoreError(f"{path} is not a file.")
    ask = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    journal = Path(f"{path}-journal")  # of a process that was killed while it made the store: it is undone
    mode = "rw" if journal.exists() and journal.stat().st_size else "ro"
    try:
        with contextlib.closing(sqlite3.connect(_address(path, mode), uri=True, timeout=PATIENCE)) as db:
            tables = {name for (name,) in db.execute(ask)}
    except sqlite3.Error as exc:
        raise StoreError(f"{path} cannot be opened: {exc}.") from exc
    if not tables <= NAMES:
        raise StoreError(f"{path} is not a store of everlearn, but another SQLite database.")
    return tables
