"""The log: who may open it and when, full disks, snapshots."""

import multiprocessing
import os
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from everlearn.errors import StoreError
from everlearn.store.log import thinned
from everlearn.stream import NeverEndingLearner
from store.store_helpers import X, Y, execute, made
from stream.stream_helpers import bits, drop, opened, unchanged

SPAWN = multiprocessing.get_context("spawn")


# -------------------------------------------------------------------------------------------- what it is not


def test_urls_that_are_not_of_postgresql_are_refused_and_passwords_are_not_told(tmp_path):
    for url in (f"sqlite:///{tmp_path}/x", "mysql://me:secret@localhost/x", "nonsense://me:secret@x", "://"):
        with pytest.raises(StoreError) as caught:
            NeverEndingLearner.open(url)
        assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_looking_at_a_store_that_is_not_there_makes_none(tmp_path):
    with pytest.raises(StoreError, match="No store at"):
        NeverEndingLearner.open(tmp_path / "store", read_only=True)
    with pytest.raises(StoreError, match="No store at"):
        NeverEndingLearner.replay(tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------ who writes


def hold(place, ready, release):
    with NeverEndingLearner.open(place) as learner:
        learner.step(X[:20], Y[:20])
        ready.set()
        release.wait(60)


def test_one_process_writes_and_others_look(tmp_path):
    place = tmp_path / "store"
    made(place)
    ready, release = SPAWN.Event(), SPAWN.Event()
    other = SPAWN.Process(target=hold, args=(place, ready, release))
    other.start()
    assert ready.wait(60)
    (tmp_path / "link").symlink_to(place)
    for name in (place, str(place), tmp_path / "link", os.path.relpath(place)):
        with pytest.raises(StoreError, match=r"open in another process.*read_only=True"):
            NeverEndingLearner.open(name)
    with NeverEndingLearner.open(place, read_only=True) as looking:
        assert looking.status()["rows"] == 220
        looking.predict(X)
        assert looking.ask(3) is not None
        with unchanged(looking), pytest.raises(StoreError, match="read_only=True"):
            looking.step(X)
        with NeverEndingLearner.replay(place) as replayed:
            assert bits(replayed) == bits(looking)
    os.kill(other.pid, signal.SIGKILL)
    other.join()
    with NeverEndingLearner.open(place) as learner:
        assert learner.status()["rows"] == 220


def test_twice_in_one_process_is_refused_until_it_is_closed(tmp_path):
    first = opened(tmp_path / "store")
    with pytest.raises(StoreError, match="twice in this one"):
        opened(tmp_path / "store")
    first.close()
    first.close()
    opened(tmp_path / "store").close()


def rows_or_error(place, read_only):
    try:
        with NeverEndingLearner.open(place, read_only=read_only) as learner:
            return learner.status()["rows"]
    except StoreError as exc:
        return str(exc)


def as_nobody(folder, answers):
    """What happens where one may read and not write; root may always, so it becomes somebody else."""
    if os.getuid() == 0:
        os.setuid(65534)
    for name, read_only in (("store", False), ("new", False), ("store", True)):
        answers.put(rows_or_error(Path(folder) / name, read_only))


def test_a_folder_that_may_not_be_written_to():
    folder = Path(tempfile.mkdtemp())
    try:
        made(folder / "store")
        content = (folder / "store").read_bytes()
        (folder / "store").chmod(0o444)
        folder.chmod(0o555)
        answers = SPAWN.Queue()
        process = SPAWN.Process(target=as_nobody, args=(folder, answers))
        process.start()
        refused, not_made, looked = (answers.get(timeout=60) for _ in range(3))
        process.join()
        assert "store cannot be" in refused
        assert "new cannot be" in not_made
        assert looked == 200 or "cannot be" in looked
        assert (folder / "store").read_bytes() == content
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_file_system_that_is_read_only():
    for place in ("/sys/store", "/proc/store"):
        with pytest.raises(StoreError, match=place):
            NeverEndingLearner.open(place)


# ----------------------------------------------------------------------------------------------------- full


def pages(learner, limit):
    """Let the database have so many pages at most, in every transaction."""

    def set_limit(db):
        db.connection.driver_connection.execute(f"PRAGMA max_page_count={limit}")

    engine = learner._log.database.engine
    sa.event.listen(engine, "begin", set_limit)
    return lambda: sa.event.remove(engine, "begin", set_limit)


@pytest.mark.parametrize("labeled", [False, True])
def test_a_full_disk_stops_it_and_changes_nothing(tmp_path, labeled):
    place = tmp_path / "store"
    y = Y if labeled else None
    with opened(place, snapshot_every=10**6) as learner, opened() as calm:
        for store in (learner, calm):
            store.step(X[:100], Y[:100], time=0.0)
        used = execute(place, "PRAGMA page_count")[0][0]
        stop = pages(learner, used + 1)
        for _ in range(3):
            with unchanged(learner), pytest.raises(StoreError, match="full"):
                learner.step(X, y, time=0.0)
        with unchanged(learner):
            learner.predict(X)
            learner.status()
        stop()
        stop = pages(learner, 10**6)
        for store in (learner, calm):
            store.step(X, y, time=0.0)
        assert bits(learner) == bits(calm)
        stop()
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == bits(calm)


def test_a_snapshot_that_finds_no_room_is_a_warning(tmp_path):
    place = tmp_path / "store"
    learner = opened(place, snapshot_every=10**6)
    learner.step(X, Y, time=0.0)
    state = bits(learner)
    pages(learner, execute(place, "PRAGMA page_count")[0][0])
    with pytest.warns(UserWarning, match="The snapshot was not written; nothing is lost"):
        learner.close()
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == state


# --------------------------------------------------------------------------------------------------- the log


def test_snapshots_are_thinned_so_that_they_do_not_fill_the_disk():
    kept = []
    for seq in range(1, 400):
        kept = sorted(thinned([seq, *kept], 3), reverse=True)
        assert kept[:3] == [seq, seq - 1, seq - 2][: min(3, seq)]
        assert len(kept) <= 3 + 2 * np.log2(seq)
        for back in range(1, seq):  # to go back costs little more than the way back is long
            base = max([0, *(other for other in kept if other <= seq - back)])
            assert seq - base <= 4 * back + 4


def test_what_is_acknowledged_is_on_the_disk(tmp_path):
    """A power cut cannot be made here: that the database is told to wait for the disk can be seen."""
    with opened(tmp_path / "store") as learner, learner._log.database.engine.connect() as db:
        assert db.scalar(sa.text("PRAGMA synchronous")) == 2
        assert db.scalar(sa.text("PRAGMA journal_mode")) == "wal"


def test_many_small_events_have_snapshots_too(tmp_path, monkeypatch):
    monkeypatch.setattr("everlearn.stream._snapshots._MAX_EVENTS", 5)
    learner = opened(tmp_path / "store")
    learner.step(X)
    for row in range(10):
        learner.label([row], [Y[row]])
    drop(learner)
    assert execute(tmp_path / "store", "SELECT seq FROM snapshots ORDER BY seq") == [(5,), (10,)]
