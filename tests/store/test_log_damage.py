"""The log after damage: torn snapshots and events, killed writers, files that are no stores."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from everlearn._base import persist
from everlearn.errors import StoreError
from everlearn.store.log import VERSION, Log
from everlearn.stream import NeverEndingLearner
from store.store_helpers import X, Y, execute, made
from stream.stream_helpers import bits, drop, opened


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
