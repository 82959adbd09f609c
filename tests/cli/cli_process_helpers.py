"""The command line as a process: what to wait for, and how long."""

import sqlite3
import time

LOCK_TIMEOUT = 240  # seconds for a busy machine; nothing here waits for long by itself


def stored_rows(store):
    """How many rows are durable, seen from outside."""
    if not store.exists():
        return 0
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=30)
    try:
        return db.execute("SELECT count(*) FROM rows").fetchone()[0]
    except sqlite3.OperationalError:  # not made yet
        return 0
    finally:
        db.close()


def wait_until(condition, process):
    end = time.monotonic() + LOCK_TIMEOUT
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)
