"""Scrubbing: what was deleted is in no byte of any file, unless a reader is in the way."""

import sqlite3

import sqlalchemy as sa

from everlearn.store import scrub
from everlearn.store._tables import ROWS
from store.log_helpers import filled
from stream.erase_helpers import in_files

SECRET = "row 5"


def deleted(log):
    with log.transaction() as db:
        db.execute(sa.delete(ROWS).where(ROWS.c.number == 5))
        log.set_meta(db, **{scrub.PENDING: True})


def test_deleted_content_is_in_no_file(tmp_path):
    log = filled(tmp_path / "store")
    deleted(log)
    assert in_files(tmp_path, SECRET) != []  # at least in the write-ahead log
    assert scrub.scrub(log)
    assert in_files(tmp_path, SECRET) == []
    assert in_files(tmp_path, "row 6") != []
    assert log.meta(scrub.PENDING) is False
    assert log.meta("in_use") is True
    log.close()


def test_a_reader_in_the_way_leaves_it_pending(tmp_path, monkeypatch):
    monkeypatch.setattr("everlearn.store._database.LOCK_TIMEOUT", 0.1)
    log = filled(tmp_path / "store")
    reader = sqlite3.connect(tmp_path / "store")
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchone()
    deleted(log)
    assert not scrub.scrub(log)
    assert log.meta(scrub.PENDING) is True
    reader.close()
    assert scrub.scrub(log)
    assert log.meta(scrub.PENDING) is False
    assert in_files(tmp_path, SECRET) == []
    log.close()


def test_memory_has_nothing_to_scrub_and_no_notes(tmp_path):
    memory, file = filled(), filled(tmp_path / "store")
    assert scrub.scrub(memory)
    assert scrub.notes(memory) == []
    assert "encrypt the disk" in scrub.notes(file)[0]
    file.close()
