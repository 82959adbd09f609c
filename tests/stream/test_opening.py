"""Opening a store: with and without making one, in one read, with the notes that were kept in it."""

import numpy as np
import pytest

from everlearn import IDSVM
from everlearn.errors import InputError, StoreError
from everlearn.store.log import Log
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import bits, drop, opened, xor

# ------------------------------------------------------------------------------------------- create=False


@pytest.mark.parametrize("how", [{"create": False}, {"read_only": True}])
def test_no_store_is_made(tmp_path, how):
    with pytest.raises(StoreError, match="No store at") as caught:
        NeverEndingLearner.open(tmp_path / "store", **how)
    assert caught.value.code == "no_store"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [{"create": False}, {"read_only": True}])
def test_a_file_without_a_learner_is_left_alone(tmp_path, how):
    (tmp_path / "empty").touch()
    Log(tmp_path / "log").close()
    for name, problem in (("empty", "not a store"), ("log", "has no learner yet")):
        with pytest.raises(StoreError, match=problem) as caught:
            NeverEndingLearner.open(tmp_path / name, **how)
        assert caught.value.code == "no_store"
    assert (tmp_path / "empty").read_bytes() == b""
    with opened(tmp_path / "log") as learner:  # nobody holds its lock
        assert learner.status()["events"] == 0


def test_create_false_continues_a_store(tmp_path):
    X, y = xor(60)
    with opened(tmp_path / "store") as learner:
        learner.step(X, y)
        before = bits(learner)
    with NeverEndingLearner.open(tmp_path / "store", create=False) as learner:
        assert bits(learner) == before
        learner.step(X)
    with pytest.raises(StoreError) as caught:
        NeverEndingLearner.open(":memory:", create=False)
    assert caught.value.code == "no_store"


def test_codes_of_refusals(tmp_path):
    with opened(tmp_path / "store") as learner:
        with pytest.raises(StoreError) as caught:
            opened(tmp_path / "store")
        assert caught.value.code == "in_use"
        with pytest.raises(StoreError) as caught:
            opened(tmp_path / "store", IDSVM(), read_only=True)
        assert caught.value.code == "other_learner"
        learner.step([[0.0]], ids=["a"])
        with pytest.raises(InputError) as caught:
            learner.step([[0.0]], ids=["a"])
        assert caught.value.code == "duplicate_id"
        with pytest.raises(InputError) as caught:
            learner.expire()
        assert caught.value.code == "no_max_age"


# ------------------------------------------------------------------------------------------------- notes


def test_notes_are_kept_with_a_batch_or_a_schema(tmp_path):
    X, y = xor(40)
    with opened(tmp_path / "store") as learner:
        assert learner.notes == {}
        learner.set_schema({"columns": 2}, notes={"sources": [{"name": "a.csv", "first_row": 0}]})
        learner.step(X, y, notes={"offset": 40, "gone": 1})
        learner.set_schema({"columns": 2}, notes={"gone": None})  # the schema is the same: no event
        assert learner.status()["events"] == 2 + 1  # the schema, the scale, the rows
        drop(learner)
    for how in ({"read_only": True}, {}):
        with NeverEndingLearner.open(tmp_path / "store", **how) as learner:
            assert learner.notes == {"sources": [{"name": "a.csv", "first_row": 0}], "offset": 40}
            assert learner.status()["schema"] == {"columns": 2}
    with NeverEndingLearner.replay(tmp_path / "store") as other:
        assert other.notes == {"sources": [{"name": "a.csv", "first_row": 0}], "offset": 40}


def test_notes_of_a_refused_batch_are_not_kept(tmp_path, monkeypatch):
    X, y = xor(40)
    with opened(tmp_path / "store") as learner:
        learner.step(X, y, notes={"offset": 40})
        with pytest.raises(ValueError, match="features"):
            learner.step(X[:, :1], notes={"offset": 80})
        with pytest.raises(TypeError):
            learner.step(X, notes={"offset": object()})  # JSON cannot hold it
        assert learner.notes == {"offset": 40}
        assert learner.status()["rows"] == 40
        learner.step(X, notes={"offset": 80})
        assert learner.notes == {"offset": 80}
    with NeverEndingLearner.open(tmp_path / "store", read_only=True) as reader, pytest.raises(StoreError):
        reader.set_schema({}, notes={"offset": 0})


def test_notes_are_no_part_of_the_state(tmp_path):
    X, y = xor(40)
    with opened() as one, opened() as two:
        one.step(X, y, time=0.0, notes={"offset": 40})
        two.step(X, y, time=0.0)
        assert bits(one) == bits(two)


# --------------------------------------------------------------------------------------------- rows and ids


def test_rows_and_known_ids(tmp_path):
    X, y = xor(40)
    with opened(tmp_path / "store") as learner:
        learner.step(X, y, ids=[f"row {i}" for i in range(40)])
        np.testing.assert_array_equal(learner.rows(["row 7", "row 3"]), X[[7, 3]])
        learner.erase(["row 3"])
        assert learner.known_ids(["row 7", "new", "row 3"]) == ["row 7", "row 3"]
        with pytest.raises(ValueError, match="'row 3' was erased"):
            learner.rows(["row 3"])
    with pytest.raises(StoreError, match="closed"):
        learner.known_ids([1])


# ---------------------------------------------------------------------------------------------- one moment


@pytest.fixture
def interrupt(monkeypatch):
    """Calls to be made, one after the other, when a reader has read its first event."""
    waiting, read = [], Log.read

    def interrupted(self, after=0, until=None):
        for pair in read(self, after, until):
            yield pair
            while self.read_only and waiting:
                waiting.pop(0)()

    monkeypatch.setattr(Log, "read", interrupted)
    monkeypatch.setattr("everlearn.store.log._EVENTS_AT_A_TIME", 2)
    monkeypatch.setattr(
        "everlearn.store._database.LOCK_TIMEOUT", 0.2
    )  # the reader is in the way of overwriting
    return waiting


def test_a_reader_opens_a_store_as_it_was_at_one_moment(tmp_path, interrupt):
    X, y = xor(120)
    with opened(tmp_path / "store") as writer:
        for start in range(0, 100, 20):
            writer.step(X[start : start + 20], y[start : start + 20])
        before, status = bits(writer), writer.status()
        interrupt += [lambda: writer.erase([3, 50]), lambda: writer.step(X[100:], y[100:])]
        with NeverEndingLearner.open(tmp_path / "store", read_only=True) as reader:
            assert interrupt == []
            assert bits(reader) == before
            assert reader.status()["rows"] == status["rows"]
            assert reader.status()["events"] == status["events"]
        with NeverEndingLearner.open(tmp_path / "store", read_only=True) as reader:
            assert bits(reader) == bits(writer)


def test_a_replay_reads_a_store_as_it_was_at_one_moment(tmp_path, interrupt):
    X, y = xor(100)
    with opened(tmp_path / "store") as writer:
        for start in range(0, 100, 20):
            writer.step(X[start : start + 20], y[start : start + 20])
        before = bits(writer)
        interrupt.append(lambda: writer.erase([3, 50]))
        with NeverEndingLearner.replay(tmp_path / "store") as other:
            assert interrupt == []
            assert bits(other) == before
            assert other.rows([3, 50]).shape == (2, 2)
