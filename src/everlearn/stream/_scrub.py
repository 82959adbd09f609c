"""Overwriting what was deleted: free pages and the write-ahead log of a file, dead rows in PostgreSQL."""

import sqlalchemy as sa

from ._tables import TABLES
from .log import Log

PENDING = "scrub_pending"  # under this name a log keeps that bytes are still to be overwritten
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
    """Overwrite what was deleted; whether that is done. A reader may be in the way, or a full disk.

    In a file what is deleted is overwritten at once; what is left is its write-ahead log. ``vacuum`` makes
    sure of files that were written before that was so.
    """
    if not log.place.durable:
        return True
    log.set_meta(in_use=False)  # whoever is killed from here on has lost nothing with an empty log
    with log.reporting("scrubbed"):
        _vacuum(log, vacuum)
        done = log.place.path is None or log.place.checkpoint("TRUNCATE")  # waits a while for readers to end
    log.begin_use(**({PENDING: False} if done else {}))
    return done


def _vacuum(log: Log, files: bool) -> None:
    with log.place.engine.connect() as plain:
        db = plain.execution_options(isolation_level="AUTOCOMMIT")
        if log.place.path is None:
            for table in TABLES.sorted_tables:
                db.execute(sa.text(f"VACUUM FULL {log.place.qualified(table.name)}"))
        elif files:
            db.exec_driver_sql("VACUUM")


def notes(log: Log) -> list[str]:
    """What scrubbing cannot reach, in words."""
    return _NOTES[log.place.engine.dialect.name] if log.place.durable else []
