"""Overwrite deleted data: free pages and the write-ahead log of a file, dead rows in PostgreSQL."""

from typing import Any

import sqlalchemy as sa

from . import _database
from ._tables import TABLES
from .log import Log

PENDING = "scrub_pending"  # the meta entry that says that bytes are not yet overwritten
_LOCKED = "55P03"  # PostgreSQL: lock not available
_OLDER = """
SELECT count(*) FROM (
    SELECT backend_xmin AS xmin FROM pg_stat_activity
    WHERE datname = current_database() AND pid != pg_backend_pid()
    UNION ALL SELECT xmin FROM pg_replication_slots
    UNION ALL SELECT transaction FROM pg_prepared_xacts WHERE database = current_database()
) AS held WHERE xmin IS NOT NULL AND age(xmin) >= age(CAST(CAST(:xid % 4294967296 AS text) AS xid))
"""
_NOTES = {
    "sqlite": [
        "Blocks that the file system or the device has freed or moved are beyond the reach of a program: "
        "encrypt the disk, and discard its key.",
    ],
    "postgresql": [
        "VACUUM FULL was run on the tables of the store. The write-ahead log of the server, its archive, its "
        "replicas and base backups keep old versions of rows until they are recycled: see archive_timeout, "
        "wal_keep_size, and how long backups are kept.",
    ],
}


def scrub(log: Log, *, vacuum: bool = True) -> bool:
    """Overwrite deleted data; returns whether it succeeded. A reader or a full disk can prevent it.

    SQLite overwrites deleted content at once (secure_delete). What remains are old copies of index entries,
    which SQLite moves between pages without overwriting, and the write-ahead log. ``vacuum`` rewrites the
    whole file.
    """
    if not log.database.durable:
        return True
    log.set_meta(in_use=False)  # a process that is killed from here on loses nothing: the log is empty
    with log.reporting("scrubbed"):
        done = _vacuum(log, vacuum)
        if log.database.path is not None:
            done = log.database.checkpoint("TRUNCATE")  # waits a while for readers to end
    log.begin_use(**({PENDING: False} if done else {}))
    return done


def _vacuum(log: Log, whole: bool) -> bool:
    """Rewrite tables that may have traces of deleted rows; returns whether none remain."""
    with log.database.engine.connect() as plain:
        db = plain.execution_options(isolation_level="AUTOCOMMIT")
        if log.database.path is not None:
            db.exec_driver_sql("VACUUM" if whole else "REINDEX")
            return True
        return _vacuum_tables(db, [log.database.qualified(table.name) for table in TABLES.sorted_tables])


def _vacuum_tables(db: Any, names: list[str]) -> bool:
    """In PostgreSQL: VACUUM FULL waits for readers of a table, and skips tables of another role.

    It also keeps deleted rows that an older transaction may still see, whatever that transaction reads.
    """
    before = _files(db, names)
    newest = db.scalar(sa.text("SELECT txid_current()"))
    db.execute(sa.text(f"SET lock_timeout = {int(1000 * _database.LOCK_TIMEOUT)}"))
    try:
        for name in names:
            db.execute(sa.text(f"VACUUM FULL {name}"))
    except sa.exc.OperationalError as exc:
        if getattr(exc.orig, "sqlstate", None) != _LOCKED:
            raise
        return False
    finally:
        if not db.closed and not db.invalidated:
            db.execute(sa.text("RESET lock_timeout"))
    replaced = all(a != b for a, b in zip(before, _files(db, names), strict=True))
    return replaced and not db.scalar(sa.text(_OLDER), {"xid": newest})


def _files(db: Any, names: list[str]) -> list[int]:
    return [int(db.scalar(sa.text("SELECT pg_relation_filenode(:name)"), {"name": name})) for name in names]


def notes(log: Log) -> list[str]:
    """What scrubbing cannot reach, as text."""
    return _NOTES[log.database.engine.dialect.name] if log.database.durable else []
