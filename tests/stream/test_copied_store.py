"""A store that lost its write-ahead log, or part of its own log, says so; a healthy one never does."""

import os
import shutil
import subprocess
import sys
import warnings

import pytest
import sqlalchemy as sa

from everlearn.errors import StoreError
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import drop, opened, xor

X, Y = xor(100)
NEVER_CLOSED = """
import sys
from everlearn.stream import NeverEndingLearner
learner = NeverEndingLearner.open(sys.argv[1])
learner.step([[0.0, 1.0], [1.0, 0.0]], [0, 1])
if sys.argv[2] == "killed":
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
"""


def silently_opened(place, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return NeverEndingLearner.open(place, **options)


def test_a_copy_without_the_write_ahead_log_is_noticed(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step(X[:50], Y[:50])
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        learner.step(X[50:], Y[50:])
        shutil.copy(tmp_path / "store", tmp_path / "copy")
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"write-ahead log .*copy-wal is missing.* may be lost"):
            NeverEndingLearner.open(tmp_path / "copy", read_only=True).close()
    with pytest.warns(UserWarning, match=r"Events after number 2 may be lost \(the store has 50 rows\)"):
        NeverEndingLearner.open(tmp_path / "copy").close()
    silently_opened(tmp_path / "copy").close()  # it was told, and has been closed since


def test_a_copy_of_a_closed_store_is_complete(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step(X[:50], Y[:50])
    assert sorted(os.listdir(tmp_path)) == ["store", "store-lock"]
    shutil.copy(tmp_path / "store", tmp_path / "copy")
    with silently_opened(tmp_path / "copy") as copy:
        assert copy.status()["rows"] == 50


def test_closing_moves_everything_into_the_file_though_somebody_reads(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step(X[:50], Y[:50])
        reader = silently_opened(tmp_path / "store", read_only=True)
    shutil.copy(tmp_path / "store", tmp_path / "copy")
    with silently_opened(tmp_path / "copy") as copy:
        assert copy.status()["rows"] == 50
    reader.close()


@pytest.mark.parametrize("how", ["forgotten", "killed"])
def test_a_store_that_was_never_closed_is_complete(tmp_path, how):
    program = [sys.executable, "-c", NEVER_CLOSED, str(tmp_path / "store"), how]
    subprocess.run(program, check=how == "forgotten")
    with silently_opened(tmp_path / "store") as learner:
        assert learner.status()["rows"] == 2


def test_a_learner_that_was_dropped_is_complete(tmp_path):
    learner = opened(tmp_path / "store")
    learner.step(X[:50], Y[:50])
    drop(learner)
    del learner
    silently_opened(tmp_path / "store").close()


def test_a_log_that_is_older_than_a_snapshot_is_refused(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step(X[:50], Y[:50])
        learner.step(X[50:], Y[50:])
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'store'}")
    with engine.begin() as db:
        db.execute(sa.text("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)"))
    engine.dispose()
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"ends with event \d+, but .* snapshot .* backup"):
            NeverEndingLearner.open(tmp_path / "store", read_only=read_only)
