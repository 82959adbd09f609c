"""A reader follows the store of another learner: after each call it has the same state, to the bit."""

import contextlib
import sqlite3

import pytest

from everlearn import IDSVM, LASVM
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import bits, differing, xor


@pytest.mark.parametrize("learner", [LASVM(C=10, gamma=1.0), IDSVM(C=10, gamma=1.0)], ids=repr)
@pytest.mark.parametrize("snapshot_every", [50, 10_000])
def test_a_reader_sees_what_was_written(tmp_path, learner, snapshot_every):
    X, y = xor(400)
    store = tmp_path / "s.everlearn"
    settings = {"learner": learner, "classes": [0, 1], "label_rate": 0.2, "random_state": 0}
    with NeverEndingLearner.open(store, snapshot_every=snapshot_every, **settings) as writer:
        writer.step(X[:40], y[:40])
        with NeverEndingLearner.open(store, read_only=True) as reader:

            def follow():
                found = reader.refresh()
                assert differing(reader, writer) == []
                assert bits(reader) == bits(writer)
                assert reader.refresh() == 0
                return found

            assert follow() == 0
            for start in range(40, 280, 60):
                out = writer.step(X[start : start + 60])
                ids = [question.id for question in out.questions]
                writer.label(ids, [int(y[i]) for i in ids])
                assert follow() >= 2  # rows, labels, sometimes a scale
            writer.withdraw([ids[0]])
            assert follow() >= 1
            writer.label([ids[1]], [1 - int(y[ids[1]])])
            assert follow() >= 1
            writer.erase([ids[2], 3])
            assert follow() >= 1
            writer.step(X[280:340], y[280:340])
            assert follow() >= 1
            assert reader.predict(X[:5]).tolist() == writer.predict(X[:5]).tolist()


def test_a_writer_has_nothing_to_read(tmp_path):
    X, y = xor(20)
    with NeverEndingLearner.open(tmp_path / "s.everlearn") as writer:
        writer.step(X, y)
        assert writer.refresh() == 0
        assert writer.status()["rows"] == 20


def test_a_reader_that_failed_recovers(tmp_path, monkeypatch):
    X, y = xor(80)
    store = tmp_path / "s.everlearn"
    with NeverEndingLearner.open(store, learner=LASVM(), classes=[0, 1]) as writer:
        writer.step(X[:40], y[:40])
        with NeverEndingLearner.open(store, read_only=True) as reader:
            writer.step(X[40:], y[40:])
            with monkeypatch.context() as broken:
                broken.setattr(LASVM, "partial_fit", lambda *_, **__: 1 / 0)
                with pytest.raises(ZeroDivisionError):
                    reader.refresh()
            assert reader.status()["rows"] == 80
            assert bits(reader) == bits(writer)


def test_an_erasure_whose_snapshot_is_missing_leaves_no_row_in_the_reader(tmp_path):
    X, y = xor(80)
    store = tmp_path / "s.everlearn"
    with NeverEndingLearner.open(store, learner=LASVM(), classes=[0, 1]) as writer:
        writer.step(X, y)
        with NeverEndingLearner.open(store, read_only=True) as reader:
            writer.erase([3])
            with contextlib.closing(sqlite3.connect(store)) as db:
                db.execute("DELETE FROM snapshots")  # as if the writer had been killed before it wrote one
                db.commit()
            assert reader.refresh() == 1
            assert bits(reader) == bits(writer)
