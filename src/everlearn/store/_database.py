"""The database of a store (a file, PostgreSQL or memory), and the lock that lets one process write to it."""

import contextlib
import functools
import os
import secrets
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from filelock import FileLock, Timeout
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..errors import StoreError
from ._tables import NAMES, TABLES

SIDE_FILES = ("-wal", "-shm", "-journal", "-lock")  # beside the file of a store
SCHEMA = "everlearn"  # of the tables in PostgreSQL
_LOCK = 0x65766572  # the key of the advisory lock in PostgreSQL
LOCK_TIMEOUT = 30.0  # seconds to wait for another process


class Database:
    """The database of a store, open for exclusive writing or for reading.

    Parameters
    ----------
    location : str or path-like
        A file, a database URL of SQLAlchemy, or ":memory:".
    read_only : bool
        Whether to open for reading only.
    create : bool
        Whether to create a missing file.
    """

    def __init__(self, location: Any, read_only: bool, create: bool) -> None:
        self.name: str = os.fspath(location)
        self._lock: FileLock | None = None
        self._connection: Any = None
        self._writer: Any = None  # the connection of `writing`, SQLite only
        self._looking = threading.Lock()
        self._finalizer: weakref.finalize[..., Any] | None = None
        self.path: Path | None = None  # None unless it is a file
        self.lacked_log = False  # whether the write-ahead log was missing when the file was opened
        self.durable = self.name != ":memory:"
        if not self.durable:
            self._open_memory()
        elif "://" in self.name:
            self._open_url(read_only)
        else:
            self._open_file(Path(self.name), read_only, create)

    def __str__(self) -> str:
        if "://" in self.name:  # never show a password
            try:
                shown: str = sa.make_url(self.name).render_as_string(hide_password=True)
            except ArgumentError:  # no address at all
                shown = f"{self.name.split('://')[0]}://..."
            return shown
        return self.name

    def close(self) -> None:
        """Close all connections and release the lock."""
        if self._finalizer is not None:
            self._finalizer()
        for connection in (self._writer, self._connection):
            if connection is not None:
                connection.close()
        self.engine.dispose()
        if self._lock is not None:
            self._lock.release()

    def has_tables(self) -> bool:
        """Whether the database contains a store."""
        return bool(sa.inspect(self.engine).has_table("meta", schema=self._schema))

    @property
    def _schema(self) -> str | None:
        return SCHEMA if self.engine.dialect.name == "postgresql" else None

    def prepare(self, db: Any) -> None:
        """Create missing tables within a transaction.

        In PostgreSQL they are in a schema of their own, apart from tables of other programs.
        """
        if self._schema is None:
            db.exec_driver_sql("BEGIN IMMEDIATE")  # the driver starts no transaction for CREATE TABLE
        elif not sa.inspect(db).has_schema(SCHEMA):  # IF NOT EXISTS alone needs the privilege to create one
            db.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
        fresh = not sa.inspect(db).has_table("rows", schema=self._schema)
        TABLES.create_all(db)
        if fresh and self._schema is not None:
            _keep_out_of_statistics(db)
        for table in TABLES.sorted_tables:  # fails if another program has a table of the same name
            db.execute(sa.select(table).limit(0))

    def begin_use(self) -> None:
        """Record in the file that it has a write-ahead log until it is closed."""
        if self.path is not None:
            if self._finalizer is None:
                self._finalizer = weakref.finalize(self, _end_use, self._connect, os.getpid())
            with contextlib.suppress(sa.exc.DBAPIError):  # on a full disk, the record stays in the log
                self.checkpoint()  # does not empty the log: `has_log` needs it

    def has_log(self) -> bool:
        """Whether the file has a write-ahead log; readers create empty ones, which do not count."""
        log = Path(f"{self.path}-wal")
        return log.exists() and log.stat().st_size > 0

    def qualified(self, table: str) -> str:
        """The name of a table in a textual SQL statement."""
        return f"{SCHEMA}.{table}" if self.engine.dialect.name == "postgresql" else table

    @contextlib.contextmanager
    def writing(self) -> Iterator[Any]:
        """A transaction that appends events: one at a time, in any thread.

        It always has the same connection. For SQLite, SQLAlchemy's pool would take longer than the
        statements. In PostgreSQL, it is the one that holds the lock: who has lost the lock cannot write.
        """
        if self.engine.dialect.name != "sqlite":
            if not _answers(self._connection):  # the server was restarted
                self._connection.close()
                self._connection = self._locked_connection()
            with self._connection.begin():
                yield self._connection
            return
        if self._writer is None:
            self._writer = self.engine.connect()
        with self._writer.begin():
            yield self._writer

    def run(self, db: Any, statement: Any, lines: list[dict[str, Any]]) -> None:
        """Run a statement for each line of parameters, within the transaction of a connection.

        SQLite gets the compiled statement directly: SQLAlchemy's part would take longer than the statement.
        """
        one = len(lines) == 1
        if self.engine.dialect.name != "sqlite":
            db.execute(statement, lines[0] if one else lines)
            return
        text, names = _compiled(statement)
        values = [tuple(line[name] for name in names) for line in lines]
        driver = db.connection.driver_connection
        if one:
            driver.execute(text, values[0])
        else:
            driver.executemany(text, values)

    def scalar(self, db: Any, statement: Any) -> Any:
        """The one value that a statement without parameters finds, within the transaction of a connection."""
        if self.engine.dialect.name != "sqlite":
            return db.scalar(statement)
        return db.connection.driver_connection.execute(_compiled(statement)[0]).fetchone()[0]

    def look(self, statement: Any, key: Any) -> list[tuple[Any, ...]] | None:
        """The result of a query with one parameter, on the connection of `writing` between transactions.

        None if there is no such connection.
        """
        if not self.looks:
            return None
        with self._looking:
            found: list[tuple[Any, ...]] = self._writer.connection.driver_connection.execute(
                _compiled(statement)[0], (key,)
            ).fetchall()
        return found

    @property
    def looks(self) -> bool:
        """Whether `look` finds something faster than SQLAlchemy."""
        return self._writer is not None and not self._writer.in_transaction()

    def checkpoint(self, mode: str = "PASSIVE") -> bool:
        """Move the write-ahead log into the file; returns whether no reader blocked it.

        PASSIVE does not wait and moves what it can; TRUNCATE waits for readers and empties the log.
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
        path = path.resolve()  # one lock, by whatever name it is opened
        if path.is_dir():
            raise StoreError(f"{path} is a folder: pass the path of a file.")
        if not path.parent.is_dir():
            raise StoreError(f"{path} cannot be opened: the folder {path.parent} does not exist.")
        if not create and not path.exists():
            raise StoreError(f"No store at {path}.", code="no_store")
        self.path = path
        self.lacked_log = not self.has_log()
        if path.exists() and not _tables_of(path) and not create:
            raise StoreError(f"{path} is not a store of everlearn.", code="no_store")
        if not read_only:
            self._acquire(path)
        address = _address(path, "ro" if read_only else "rwc" if create else "rw")

        def connect() -> sqlite3.Connection:
            db = sqlite3.connect(address, uri=True, timeout=LOCK_TIMEOUT, check_same_thread=False)
            if not read_only:
                db.execute("PRAGMA journal_mode=WAL")
                db.execute("PRAGMA secure_delete=ON")  # what is deleted is overwritten
            db.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut
            return db

        self.engine = sa.create_engine("sqlite://", creator=connect, poolclass=sa.pool.QueuePool)
        self._connect = connect

    def _acquire(self, path: Path) -> None:
        """Acquire the lock; the operating system releases it if the process is killed."""
        self._lock = FileLock(f"{path}-lock", thread_local=False)  # any thread may close
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise _in_use(f"{path} is open in another process, or twice in this one.") from None
        except OSError as exc:
            raise StoreError(f"{path} cannot be written to: {exc.strerror or exc}.") from exc

    def _open_url(self, read_only: bool) -> None:
        if not self.name.startswith("postgresql"):
            raise StoreError(f"{self} cannot be opened: a store must be a file or a PostgreSQL database.")
        try:
            # The ping finds connections that a restart of the server has cut off.
            engine = sa.create_engine(self.name, pool_pre_ping=True)
            self.engine = engine.execution_options(schema_translate_map={None: SCHEMA})
        except (ArgumentError, ImportError) as exc:
            raise StoreError(f"{self.name.split('://')[0]}://... cannot be opened: {exc}.") from exc
        if self.engine.dialect.name != "postgresql":
            raise StoreError(f"{self} cannot be opened: a store must be a file or a PostgreSQL database.")
        if read_only:
            return
        try:
            self._connection = self._locked_connection()
        except SQLAlchemyError as exc:
            self.engine.dispose()
            raise StoreError(f"{self} cannot be opened: {getattr(exc, 'orig', exc)}.") from exc
        except StoreError:
            self.engine.dispose()
            raise

    def _locked_connection(self) -> Any:
        """A new connection to PostgreSQL that holds the lock; the server releases it with the connection."""
        connection = self.engine.connect()
        free = connection.scalar(sa.text(f"SELECT pg_try_advisory_lock({_LOCK})"))
        connection.commit()
        if not free:
            connection.close()
            raise _in_use(f"{self} is open in another process.")
        return connection


@functools.lru_cache
def _compiled(statement: Any) -> tuple[str, tuple[str, ...]]:
    """A statement in SQLite's words, and the names of its parameters in their order."""
    found = statement.compile(dialect=sqlite_dialect())
    return str(found), tuple(found.positiontup)


def _answers(connection: Any) -> bool:
    """Whether a connection to a server is alive."""
    try:
        with connection.begin():
            connection.execute(sa.text("SELECT 1"))
        return True
    except SQLAlchemyError:
        return False


def _in_use(problem: str) -> StoreError:
    remedy = "Close it there, or open it here with read_only=True."
    return StoreError(problem, code="in_use", remedy=remedy)


def _keep_out_of_statistics(db: Any) -> None:
    """Keep ANALYZE from copying values into the catalog of PostgreSQL, where they could not be erased."""
    for table in TABLES.sorted_tables:
        for column in table.columns:
            if isinstance(column.type, sa.Text | sa.LargeBinary):
                statement = f"ALTER TABLE {SCHEMA}.{table.name} ALTER COLUMN {column.name} SET STATISTICS 0"
                db.execute(sa.text(statement))


def _end_use(connect: Callable[[], sqlite3.Connection], owner: int) -> None:
    """Record that a file is complete without its log, which SQLite deletes with the last connection.

    Also called for a store that was not closed, when it is garbage-collected or Python exits.
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
    """The tables in a file, read before anything is written: files of other programs stay unchanged."""
    if not path.is_file():
        raise StoreError(f"{path} is not a file.")
    ask = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    journal = Path(
        f"{path}-journal"
    )  # left by a process that was killed while it created the store; opening undoes it
    mode = "rw" if journal.exists() and journal.stat().st_size else "ro"
    try:
        with contextlib.closing(sqlite3.connect(_address(path, mode), uri=True, timeout=LOCK_TIMEOUT)) as db:
            tables = {name for (name,) in db.execute(ask)}
    except sqlite3.Error as exc:
        raise StoreError(f"{path} cannot be opened: {exc}.") from exc
    if not tables <= NAMES:
        raise StoreError(f"{path} is another SQLite database, not a store of everlearn.")
    return tables
