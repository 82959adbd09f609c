"""Rows that have become too old leave the log, the model and the bytes of the file."""

import struct

import numpy as np
import pytest

from everlearn import IDSVM, LASVM, AdaptiveSVM, KernelPerceptron
from everlearn.errors import StoreError
from everlearn.read.schema import Schema
from everlearn.semi import StreamS3VM
from everlearn.store.backup import verify
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import answer, bits, drop, opened, xor
from stream.test_erase import AMOUNT, in_files

DAY = 86400.0
X, Y = xor(400)
LEARNERS = {
    "AdaptiveSVM": AdaptiveSVM(scaling="none", max_rows=40),
    "LASVM": LASVM(C=10, gamma=0.5),
    "IDSVM": IDSVM(C=10, gamma=0.5),
}


TRUTH = {f"day {day} row {i}": int(Y[(day * 10 + i) % len(Y)]) for day in range(40) for i in range(10)}


def feed(learner, days, first_day=0):
    """A batch a day; every third row comes with a label, and every question is answered."""
    for day in range(first_day, first_day + days):
        places = (day * 10 + np.arange(10)) % len(X)
        labels = [int(Y[place]) if place % 3 == 0 else None for place in places]
        learner.step(X[places], labels, ids=[f"day {day} row {i}" for i in range(10)], time=day * DAY)
        answer(learner, TRUTH)


def numbers_kept(learner):
    fold = learner._state
    parts = [fold.pool.numbers, fold.labeled.numbers, fold.late.numbers, fold.questions.numbers()]
    return np.concatenate([*parts, np.array(list(fold.pending._slots), dtype=np.int64)])


@pytest.mark.parametrize("kind", LEARNERS)
def test_rows_are_kept_as_long_as_was_said_and_no_longer(tmp_path, kind):
    place = tmp_path / "store"
    learner = opened(place, LEARNERS[kind], max_age="7d", snapshot_every=30)
    feed(learner, 20)
    with learner._log.database.engine.connect() as db:
        found = sorted(number for (number,) in db.exec_driver_sql("SELECT number FROM rows"))
        marked = {number for (number,) in db.exec_driver_sql("SELECT number FROM marks")}
    assert found == list(range(120, 200))  # of days 12 to 19
    assert marked <= set(found)
    assert numbers_kept(learner).min() >= 120
    if kind != "AdaptiveSVM":
        rows = learner.learner_.support_vectors_
        kept = learner._state.labeled.X
        assert all((kept == row).all(axis=1).any() for row in rows)
    assert in_files(tmp_path, *(f"day {day} row" for day in range(12))) == []
    assert in_files(tmp_path, "day 12 row") != []
    assert learner.status()["rows"] == 200
    assert verify(learner._log)["rows"] == 80
    state = bits(learner)
    drop(learner)
    with NeverEndingLearner.open(place, snapshot_every=30) as learner:
        assert bits(learner) == state
        feed(learner, 3, first_day=20)
        assert np.mean(learner.predict(X) == Y) > 0.6


def test_a_run_that_is_cut_gets_to_the_same_state(tmp_path):
    whole = opened(tmp_path / "whole", max_age="5d", snapshot_every=10**6)
    cut = opened(tmp_path / "cut", max_age="5d", snapshot_every=10**6)
    feed(whole, 16)
    for day in range(16):
        feed(cut, 1, first_day=day)
        drop(cut)
        cut = NeverEndingLearner.open(tmp_path / "cut", snapshot_every=10**6)
    assert bits(cut) == bits(whole)
    whole.close()
    cut.close()


def test_values_labels_and_categories_leave_the_bytes(tmp_path):
    cells = {"city": ["Paris", "Rome"] * 5 + ["Atlantis"], "amount": [str(float(i)) for i in range(11)]}
    schema = Schema.infer(cells)
    rows, _ = schema.encode(cells, 11)
    rows[10, -1 if schema.fields[-1].kind == "numeric" else 0] = AMOUNT
    with opened(tmp_path / "store", max_age="36h") as learner:
        learner.set_schema(schema.state())
        learner.step(rows[10:], ["a label of its own"], ids=["person"], time=0.0)
        secrets = ("person", "Atlantis", "a label of its own", struct.pack("<d", AMOUNT))
        assert in_files(tmp_path, *secrets)
        for day in range(1, 4):
            learner.step(rows[:10], ["no", "yes"] * 5, ids=[f"{day}-{i}" for i in range(10)], time=day * DAY)
        assert "(erased 1)" in [
            c for field in learner.status()["schema"]["fields"] for c in field["categories"]
        ]
        assert learner.status()["classes"] == ["no", "yes"]
        assert in_files(tmp_path, *secrets) == []
    assert in_files(tmp_path, *secrets) == []


def test_a_single_row_leaves_the_means_of_columns(tmp_path):
    with opened(tmp_path / "store", max_age="1d") as learner:
        learner.step([[AMOUNT, 1.0]], ["no"], ids=["person"], time=0.0)
        assert learner.expire(time=2 * DAY) == 1
        assert in_files(tmp_path, struct.pack("<d", AMOUNT)) == []
        learner.step(X[:40], Y[:40].astype(str), time=2 * DAY)
        np.testing.assert_allclose(learner.mean_, X[:40].mean(axis=0))


def test_ids_leave_the_pages_between_which_the_index_moved_them(tmp_path):
    random = np.random.default_rng(0)
    names = [[random.bytes(12).hex() for _ in range(300)] for _ in range(16)]
    with opened(
        tmp_path / "store", KernelPerceptron(), max_age="6d", snapshot_every=10**6, query_strategy=None
    ) as learner:
        for day, ids in enumerate(names):
            learner.step(random.uniform(size=(300, 1)), ids=ids, time=day * DAY)
            data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
            left = [name for old in names[: max(0, day - 7)] for name in old if name.encode() in data]
            assert left == []


def test_a_stream_at_rest_expires_when_it_is_told_to(tmp_path):
    with opened(tmp_path / "store", max_age="2d") as learner:
        feed(learner, 2)
        assert learner.expire(time=2.5 * DAY) == 10
        assert learner.expire(time=2.5 * DAY) == 0
        assert learner.expire(time=30 * DAY) == 10
        assert learner.learner_ is None
        assert learner.status()["labels"] == 0
        feed(learner, 3, first_day=30)
        assert learner.status()["rows"] == 50
        assert np.mean(learner.predict(X) == Y) > 0.5
    with opened(tmp_path / "other") as learner, pytest.raises(ValueError, match="rows of any age"):
        learner.expire()


def test_a_clock_that_goes_back_keeps_nothing_too_long(tmp_path):
    with opened(tmp_path / "store", max_age="3d") as learner:
        for day in (10, 11, 2, 12):  # the third batch is old when it comes
            learner.step(X[:5], Y[:5], ids=[f"{day}-{i}" for i in range(5)], time=day * DAY)
        with learner._log.database.engine.connect() as db:
            ids = {name for (name,) in db.exec_driver_sql("SELECT id FROM rows")}
        assert {name.strip('"').split("-")[0] for name in ids} == {"10", "11", "12"}


def test_a_time_far_ahead_of_the_clock_is_refused(tmp_path):
    with opened(tmp_path / "store", max_age="3d") as learner:
        learner.step(X[:5], Y[:5], time=10 * DAY)
        state = bits(learner)
        for call in (lambda: learner.step(X[:1], time=1.8e12), lambda: learner.expire(time=1.8e12)):
            with pytest.raises(ValueError, match=r"ahead of the clock.*seconds since 1970"):
                call()
        assert bits(learner) == state


def test_an_id_may_come_again_once_its_row_has_expired(tmp_path):
    with opened(tmp_path / "store", max_age="1d") as learner:
        learner.step(X[:2], Y[:2], ids=["a", "b"], time=0.0)
        learner.erase(["b"])
        learner.step(X[:2], time=3 * DAY)
        learner.step(X[:1], ids=["a"], time=3 * DAY)
        with pytest.raises(ValueError, match="Duplicate id 'b'"):  # it was erased
            learner.step(X[:1], ids=["b"], time=3 * DAY)


def test_what_a_store_that_drops_rows_cannot_do(tmp_path):
    with opened(tmp_path / "store", max_age="1d") as learner:
        feed(learner, 6)
    with pytest.raises(StoreError, match="has dropped rows and cannot be replayed"):
        NeverEndingLearner.replay(tmp_path / "store")


def test_an_s3vm_keeps_nothing(tmp_path):
    with opened(tmp_path / "store", max_age="2d", semi_supervised=StreamS3VM(memory_rows=40)) as learner:
        feed(learner, 8)
        assert learner.status()["rows"] == 80


@pytest.mark.parametrize("age", ["", "30", "d", "-1d", "0d", "1y", 30, "1d 2h", "nand"])
def test_an_age_that_is_none(age):
    with pytest.raises(ValueError, match=r"max_age must be .* such as '30d', got"):
        NeverEndingLearner.open(":memory:", max_age=age)


def test_a_failure_expires_nothing(tmp_path, monkeypatch):
    learner = opened(tmp_path / "store", max_age="2d")
    feed(learner, 2)
    state = bits(learner)
    monkeypatch.setattr("everlearn.store.removal._forget_labels", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        learner.expire(time=30 * DAY)
    monkeypatch.undo()
    assert bits(learner) == state
    assert learner.expire(time=30 * DAY) == 20
    learner.close()
