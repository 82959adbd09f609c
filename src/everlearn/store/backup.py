"""Back up a store: a consistent copy, even while it is in use, verified before it gets its name."""

import contextlib
import os
import secrets
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from .._base import persist
from ..errors import FileFormatError, InputError, StoreError
from ._database import SIDE_FILES
from ._tables import EVENTS, MARKS, META, NAMES, ROWS, SNAPSHOTS, TABLES
from .events import Arrived
from .log import Log, blob
from .lookup import TRIMMED

_TEMPORARY = ".everlearn-backup-"
_STALE = 86400.0  # seconds
_AT_A_TIME = 1000  # rows of a table
_BLOBS_AT_A_TIME = 16  # of tables with contents


def backup(
    store: str | os.PathLike[str], destination: str | os.PathLike[str], *, overwrite: bool = False
) -> dict[str, int]:
    """Copy a store, also while another process writes to it.

    The copy has all events up to one moment. It gets its name only after `verify` has checked it: if anything
    fails, there is no copy.

    Parameters
    ----------
    store : str or path-like
        The store: a file, or the URL of a PostgreSQL database.
    destination : str or path-like
        The copy: a file, or the URL of a database without a store. The copy is a store like any other, so a
        store can be moved from a file to a database and back.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    dict
        Counts of events, rows, labels and snapshots in the copy.

    Examples
    --------
    >>> import os, tempfile
    >>> from everlearn.store import backup
    >>> from everlearn.stream import NeverEndingLearner
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store, copy = os.path.join(folder, "store"), os.path.join(folder, "copy")
    ...     with NeverEndingLearner.open(store) as learner:
    ...         _ = learner.step([[0.0], [1.0]], ["a", "b"])
    ...         found = backup(store, copy)
    ...     with NeverEndingLearner.open(copy) as learner:
    ...         rows = learner.status()["rows"]
    >>> found["rows"], rows
    (2, 2)
    """
    source = Log(store, read_only=True)
    try:
        return backup_log(source, destination, overwrite=overwrite)
    finally:
        source.close()


def backup_log(
    source: Log, destination: str | os.PathLike[str], *, overwrite: bool = False
) -> dict[str, int]:
    """Back up a store whose log is open."""
    name = os.fspath(destination)
    if name == ":memory:":
        raise ValueError("destination must be a file or a database URL, got ':memory:'.")
    if "://" in name:
        return _into_database(source, name)
    target = Path(name).resolve()
    _check_target(source, target, overwrite)
    _sweep(target.parent)
    temporary = target.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}.tmp")
    try:
        if source.database.engine.dialect.name == "sqlite":
            _vacuum_into(source, temporary)
        else:
            with contextlib.closing(Log(temporary)) as copy:
                _copy_tables(source, copy)
        _end_use(temporary)
        with contextlib.closing(Log(temporary, read_only=True)) as copy:
            found = verify(copy)
        _make_durable(temporary)
        os.replace(temporary, target)
        _make_durable(target.parent)
    except OSError as exc:
        raise StoreError(f"{name} cannot be written to: {exc.strerror or exc}.") from exc
    finally:
        for ending in ("", *SIDE_FILES):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{temporary}{ending}")
    return found


def verify(log: Log) -> dict[str, int]:
    """Read all of a store; raise a `StoreError` if any part is damaged or missing.

    Parameters
    ----------
    log : Log
        The open log.

    Returns
    -------
    dict
        Counts of ``events``, ``rows`` (those with values), ``labels`` and ``snapshots``.
    """
    positions = _positions(log)
    n_events = n_rows = 0
    for seq, kind in _kinds(log):
        n_events += 1
        event = log.event(seq)  # a StoreError if it cannot be read
        if isinstance(event, Arrived):
            there = positions.pop(seq, np.zeros(0, dtype=np.int64))
            n_rows += len(there)
            if not np.array_equal(np.sort(there), np.arange(event.X.shape[0])):
                raise StoreError(
                    f"Event {seq} of {log.database} has {event.X.shape[0]} rows, its index {len(there)}"
                    f"{' of a trimmed batch' if kind == TRIMMED else ''}. Restore the store from a backup."
                )
    if positions:
        raise StoreError(
            f"{log.database} lacks event {min(positions)}, but its index has rows of it. "
            "Restore the store from a backup."
        )
    log.forget_events()
    n_snapshots = 0
    with log.reading() as db:
        if log.database.path is not None:
            found = db.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
            if found != "ok":
                raise StoreError(f"{log.database} is damaged: {found}. Restore it from a backup.")
        n_labels = int(db.scalar(sa.select(sa.func.count()).where(MARKS.c.given)) or 0)
        for seq in list(db.scalars(sa.select(SNAPSHOTS.c.seq))):
            content = db.scalar(sa.select(SNAPSHOTS.c.content).where(SNAPSHOTS.c.seq == seq))
            try:
                persist.unpack(blob(content))
            except FileFormatError as exc:
                raise StoreError(
                    f"The snapshot after event {seq} of {log.database} cannot be read: {exc}"
                ) from exc
            n_snapshots += 1
    return {"events": n_events, "rows": n_rows, "labels": n_labels, "snapshots": n_snapshots}


# ---------------------------------------------------------------------------------------------------- private


def _kinds(log: Log) -> list[tuple[int, str]]:
    with log.reading() as db:
        found = db.execute(sa.select(EVENTS.c.seq, EVENTS.c.kind).order_by(EVENTS.c.seq))
        return [(int(seq), str(kind)) for seq, kind in found]


def _positions(log: Log) -> dict[int, Any]:
    """For each event, the positions of the rows that have values in it."""
    with log.reading() as db:
        found = np.array(
            [
                tuple(row)
                for row in db.execute(sa.select(ROWS.c.seq, ROWS.c.position).where(ROWS.c.position >= 0))
            ],
            dtype=np.int64,
        ).reshape(-1, 2)
    order = np.argsort(found[:, 0], kind="stable")
    seqs, starts = np.unique(found[order, 0], return_index=True)
    return dict(zip(seqs.tolist(), np.split(found[order, 1], starts[1:]), strict=False)) if len(seqs) else {}


def _check_target(source: Log, target: Path, overwrite: bool) -> None:
    path = source.database.path
    taken = [] if path is None else [path, *(Path(f"{path}{ending}") for ending in SIDE_FILES)]
    if target in taken or (
        target.exists() and any(p.exists() and os.path.samefile(p, target) for p in taken)
    ):
        raise ValueError(f"{target} is the store itself, or a part of it: choose another name for the copy.")
    if target.is_dir():
        raise ValueError(f"{target} is a folder: choose a file name in it.")
    if not target.parent.is_dir():
        raise ValueError(f"The folder {target.parent} does not exist.")
    if target.exists() and not overwrite:
        raise InputError(
            f"{target} exists.", code="file_exists", remedy="Choose another name, or pass overwrite=True."
        )
    if any(os.path.exists(f"{target}{ending}") for ending in SIDE_FILES if ending != "-lock"):
        raise ValueError(f"{target} is in use: it has a write-ahead log. Choose another name for the copy.")


def _sweep(folder: Path) -> None:
    """Remove temporary files of backups that were killed at least a day ago."""
    for path in folder.glob(f"{_TEMPORARY}*.tmp*"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < time.time() - _STALE:
                path.unlink()


def _vacuum_into(source: Log, target: Path) -> None:
    """Copy a file in one statement, and so as of one moment; the copy has no free pages."""
    with source.reporting("copied"), source.database.engine.connect() as plain:
        db = plain.execution_options(isolation_level="AUTOCOMMIT")
        db.exec_driver_sql("VACUUM INTO ?", (str(target),))


def _end_use(path: Path) -> None:
    """Mark a copy as closed: it has no write-ahead log."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = 'false' WHERE key = 'in_use'")
        db.commit()
        db.execute("PRAGMA journal_mode=DELETE")


def _into_database(source: Log, url: str) -> dict[str, int]:
    with contextlib.closing(Log(url)) as copy:
        if copy.last or copy.meta("settings") is not None:
            raise StoreError(f"{copy.database} already has a store: choose a database without one.")
        _copy_tables(source, copy)
        try:
            with contextlib.closing(Log(url, read_only=True)) as written:
                return verify(written)
        except BaseException:
            with copy.transaction() as db:  # leave a complete copy or none
                for table in TABLES.sorted_tables:
                    db.execute(
                        sa.delete(table).where(sa.true() if table is not META else META.c.key != "version")
                    )
            raise


def _copy_tables(source: Log, copy: Log) -> None:
    """Copy all tables as of one moment, in one transaction."""
    with source.one_moment() as db, copy.transaction() as into:
        into.execute(sa.delete(META))
        for table in (TABLES.tables[name] for name in sorted(NAMES)):
            size = _BLOBS_AT_A_TIME if "content" in table.c else _AT_A_TIME
            found = db.execute(sa.select(table).execution_options(stream_results=True))
            for rows in found.mappings().partitions(size):
                into.execute(sa.insert(table), [dict(row) for row in rows])


def _make_durable(path: Path) -> None:
    with contextlib.suppress(PermissionError):  # of a folder, on some systems
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
