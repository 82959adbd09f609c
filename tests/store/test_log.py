"""The store as a file: torn, foreign, newer, locked, read-only, full; the log itself."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from everlearn._base import persist
from everlearn.errors import StoreError
from everlearn.store.log import VERSION, Log, thinned
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import bits, drop, opened, unchanged, xor

X, Y = xor(200)
SPAWN = multiprocessing.get_context("spawn")


def made(place, **settings):
    """A store of some batches, closed; its state."""
    with opened(place, snapshot_every=30, **settings) as learner:
        for start in range(0, 200, 10):
            learner.step(X[start : start + 10], Y[start : start + 10], time=0.0)
        learner.withdraw([17])
        return bits(learner)


def execute(place, statement, *values):
    with sqlite3.connect(place) as db:
        found = db.execute(statement, values).fetchall()
    db.close()
    return found


# ----------------------------------------------------------------------------------------------------- torn


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("newest_only", [True, False])
@pytest.mark.parametrize(
    "damage",
    [
        flipped,
        lambda content: content[:-1],
        lambda content: content[: len(content) // 3],
        lambda content: b"",
        lambda content: b"no snapshot at all",
        lambda content: persist.pack({}),  # sealed, but of another version
        lambda content: persist.pack(persist.unpack(content) | {"learner": {"class": "Later", "state": {}}}),
    ],
    ids=["flipped", "cut", "torn", "empty", "text", "bare", "later"],
)
def test_a_torn_snapshot_is_passed_over_with_a_warning(tmp_path, damage, newest_only):
    place = tmp_path / "store"
    state = made(place)
    seqs = [seq for (seq,) in execute(place, "SELECT seq FROM snapshots ORDER BY seq DESC")]
    assert len(seqs) > 2
    for seq in seqs[:1] if newest_only else seqs:
        ((content,),) = execute(place, "SELECT content FROM snapshots WHERE seq = ?", seq)
        execute(place, "UPDATE snapshots SET content = ? WHERE seq = ?", damage(content), seq)
    with pytest.warns(UserWarning, match="An older snapshot is used") as told:
        learner = NeverEndingLearner.open(place)
    assert f"The snapshot after event {seqs[0]} of {place} " in str(told[0].message)
    with learner:
        assert bits(learner) == state
        learner.step(X[:5])


def test_a_torn_event_is_an_error_that_names_it(tmp_path):
    place = tmp_path / "store"
    made(place)
    execute(place, "DELETE FROM snapshots")
    ((content,),) = execute(place, "SELECT content FROM events WHERE seq = 7")
    execute(place, "UPDATE events SET content = ? WHERE seq = 7", flipped(content))
    with pytest.raises(StoreError, match=r"Event 7 .*cannot be read.*backup"):
        NeverEndingLearner.open(place)
    with pytest.raises(StoreError, match="Event 7"):  # the lock has been let go
        NeverEndingLearner.open(place)


@pytest.mark.parametrize("cut", [1, 100, 5000, 40_000])
def test_a_torn_tail_of_the_wal_leaves_a_store_that_opens(tmp_path, cut):
    place, copy = tmp_path / "store", tmp_path / "copy"
    learner = opened(place, snapshot_every=50)
    before = []
    for start in range(0, 100, 10):
        learner.step(X[start : start + 10], Y[start : start + 10], time=0.0)
        before.append(bits(learner))
    learner._snapshots.wait()
    shutil.copy(place, copy)
    wal = Path(f"{place}-wal").read_bytes()
    assert len(wal) > cut
    Path(f"{copy}-wal").write_bytes(wal[:-cut])
    learner.close()
    with NeverEndingLearner.open(copy) as torn:
        n_batches = torn.status()["rows"] // 10
        assert torn.status()["rows"] == n_batches * 10 == torn._log.n_rows
        if n_batches:  # a prefix, and all that follows from it
            assert bits(torn) == before[n_batches - 1]
        assert n_batches >= 9 or cut > 100
        torn.step(X[:10])


def test_a_store_that_was_killed_at_once_or_while_it_was_made_opens(tmp_path):
    place = tmp_path / "store"
    Log(place).close()  # tables, but no settings yet
    with opened(place) as learner:
        learner.step(X)
    for count, table in enumerate(["snapshots", "rows", "marks", "events"]):
        place = tmp_path / f"half-{count}"
        with opened(place):
            pass
        execute(place, "DELETE FROM meta")
        execute(place, f"DROP TABLE {table}")
        with opened(place) as learner:
            learner.step(X, Y)


def test_after_a_crash_the_next_snapshot_counts_rows_from_the_last(tmp_path):
    place = tmp_path / "store"
    for start in range(0, 200, 40):  # killed, again and again, before a snapshot is due
        learner = opened(place, snapshot_every=90)
        learner.step(X[start : start + 40])
        drop(learner)
    assert len(execute(place, "SELECT seq FROM snapshots")) == 1
    NeverEndingLearner.open(place).close()
    ((last,),) = execute(place, "SELECT max(seq) FROM snapshots")
    assert last == 8  # five batches, and the scale of 40, 80 and 160 rows


# -------------------------------------------------------------------------------------------- what it is not


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    place = tmp_path / "store"
    made(place)
    for version in ("99", '"1"', "true", "0"):
        execute(place, "UPDATE meta SET value = ? WHERE key = 'version'", version)
        content = place.read_bytes()
        for read_only in (False, True):
            with pytest.raises(StoreError, match=f"version .*{VERSION}") as caught:
                NeverEndingLearner.open(place, read_only=read_only)
            assert version != "99" or "version 99" in str(caught.value)
        assert place.read_bytes() == content


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("what", ["text", "foreign", "folder", "nowhere", "device", "zeros"])
def test_what_is_not_a_store_is_refused_and_left_alone(tmp_path, what, read_only):
    place = tmp_path / "thing"
    if what == "text":
        place.write_text("once upon a time\n" * 500)
    elif what == "zeros":
        place.write_bytes(bytes(8192))
    elif what == "foreign":
        execute(place, "CREATE TABLE meta (something TEXT)")
        execute(place, "CREATE TABLE customers (name TEXT)")
    elif what == "folder":
        place.mkdir()
    elif what == "nowhere":
        place = tmp_path / "missing" / "folder" / "store"
    else:
        place = Path("/dev/null")
    before = place.read_bytes() if place.is_file() else None
    files = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=place.name):
        NeverEndingLearner.open(place, read_only=read_only)
    assert sorted(tmp_path.rglob("*")) == files
    assert before is None or place.read_bytes() == before


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
    """Let the database have so many pages at most, in every connection."""

    def set_limit(connection, *_):
        connection.execute(f"PRAGMA max_page_count={limit}")

    engine = learner._log.database.engine
    sa.event.listen(engine, "checkout", set_limit)
    return lambda: sa.event.remove(engine, "checkout", set_limit)


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


def test_ids_of_every_kind_come_back_as_they_were(tmp_path):
    names = [1, "1", -5, 10**30, "", "é\0\ud800", "None", " 1", 2**63, np.int64(7), np.str_("seven")]
    with opened(tmp_path / "store") as learner:
        learner.step(X[: len(names)], ids=names)
        numbers = learner._log.numbers_of(names)
        assert numbers.tolist() == list(range(len(names)))
        assert learner._log.ids_of(numbers) == names
        learner.label(names, ["a", "b"] * 5 + ["a"])
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert learner._log.ids_of(range(len(names))) == names


def test_more_ids_than_fit_into_a_question(tmp_path):
    rows = np.random.default_rng(0).normal(size=(1700, 2))
    with opened(tmp_path / "store", label_rate=0.0) as learner:
        learner.step(rows, ids=[f"row {i}" for i in range(1700)])
        order = np.random.default_rng(1).permutation(1700).tolist()
        assert learner._log.numbers_of([f"row {i}" for i in order]).tolist() == order
        assert learner._log.ids_of(order) == [f"row {i}" for i in order]
        np.testing.assert_array_equal(learner._log.rows_of(np.array(order)), rows[order])
        learner.label([f"row {i}" for i in order], [i % 2 for i in order])
        assert len(learner._log.labeled_at(np.array(order), 99)) == 1700
        with pytest.raises(ValueError, match="row 3"):
            learner.step(rows[:2], ids=["new", "row 3"])


def test_a_snapshot_that_is_a_number_allocates_nothing(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step(X[:50], Y[:50])
        state = bits(learner)
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'store'}")
    with engine.begin() as db:
        db.execute(sa.text("UPDATE snapshots SET content = 99999999999999"))
    engine.dispose()
    with pytest.warns(UserWarning, match="An older snapshot is used"):
        learner = NeverEndingLearner.open(tmp_path / "store")
    with learner:
        assert bits(learner) == state
