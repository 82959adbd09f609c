"""Several threads use one never-ending learner: calls run one after the other, and nothing is mixed up."""

import sys
import threading

import numpy as np
import pytest

from everlearn import IDSVM, LASVM
from everlearn._base import persist
from everlearn.errors import StoreError
from everlearn.stream import NeverEndingLearner
from everlearn.stream._replay import replayed_without_labels
from stream.stream_helpers import bits, opened, xor
from thread_helpers import in_threads

THREADS, BATCHES, BATCH = 8, 3, 5


@pytest.fixture(autouse=True)
def _switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def test_rows_of_several_threads_are_numbered_and_learned_once_each(tmp_path):
    X, y = xor(THREADS * BATCHES * BATCH)
    place = tmp_path / "store"
    learner = opened(place, IDSVM(C=10, gamma=0.5), snapshot_every=40)  # it forgets without a replay
    received = []

    def work(first):
        for start in range(first, len(y), THREADS * BATCH):
            batch = slice(start, start + BATCH)
            out = learner.step(X[batch], y[batch])
            received.append((out.ids, start))
            learner.label(out.ids[:1], y[batch][:1])
            learner.withdraw(out.ids[1:2])

    in_threads(*(lambda first=first: work(first * BATCH) for first in range(THREADS)))
    ids = sorted(row_id for batch, _ in received for row_id in batch)
    assert ids == list(range(len(y)))
    assert learner.status()["labels"] == len(y) - THREADS * BATCHES
    for batch, start in received:
        rows = learner._log.rows_of(np.array(batch))
        np.testing.assert_array_equal(rows, X[start : start + BATCH])
    before, learner_values = bits(learner), learner.decision_function(X)
    learner.close()
    with NeverEndingLearner.open(place) as again:
        assert bits(again) == before
        np.testing.assert_array_equal(again.decision_function(X), learner_values)


def test_whoever_looks_sees_whole_events(tmp_path):
    X, y = xor(400)
    with opened(tmp_path / "store", snapshot_every=200) as learner:
        learner.step(X[:100], y[:100])
        done = threading.Event()

        def write():
            try:
                for start in range(100, 400, 20):
                    learner.step(X[start : start + 20], y[start : start + 20])
            finally:
                done.set()

        def look():
            while not done.is_set():
                status = learner.status()
                assert status["rows"] % 20 == 0
                assert status["rows"] == status["labels"]
                assert learner.predict(X[:50]).shape == (50,)
                assert learner.predict_proba(X[:50]).shape == (50, 2)
                assert len(learner.report_data()["curves"]["rows"]) <= status["events"] + 60
                learner.ask(2)

        in_threads(write, look, look)
        assert learner.status()["rows"] == 400


def test_a_store_that_one_thread_closes_is_closed_for_all(tmp_path):
    X, y = xor(400)
    learner = opened(tmp_path / "store")
    learner.step(X[:100], y[:100])
    stopped = []

    def work():
        try:
            while True:  # until the store is closed, however late that is
                learner.step(X[:5], y[:5])
        except StoreError as error:
            stopped.append(str(error))

    in_threads(work, work, learner.close, learner.close)
    assert stopped == ["The store is closed."] * 2
    with NeverEndingLearner.open(tmp_path / "store") as again:
        assert again.status()["rows"] % 5 == 0
        assert persist.pack(again._state.state())


def test_a_replay_keeps_writers_waiting_but_nobody_who_reads(tmp_path, monkeypatch):
    X, y = xor(60)
    begun, go_on = threading.Event(), threading.Event()

    def slow(*given):
        begun.set()
        assert go_on.wait(60)
        return replayed_without_labels(*given)

    monkeypatch.setattr("everlearn.stream._log_backed.replayed_without_labels", slow)
    with opened(tmp_path / "store", LASVM(C=10, gamma=0.5)) as learner:
        learner.step(X[:50], y[:50])
        before, version = learner.decision_function(X), learner.model_version
        undo = threading.Thread(target=learner.withdraw, args=([7],))
        more = threading.Thread(target=learner.step, args=(X[50:], y[50:]))
        undo.start()
        assert begun.wait(60)
        more.start()
        # In this thread: a reader that had to wait would wait for ever.
        assert np.array_equal(learner.decision_function(X), before)
        with learner.reading():
            assert (learner.status()["rows"], learner.model_version) == (50, version)
        assert learner.labels_of([7]) == {7: y[7]}
        go_on.set()
        undo.join(60)
        more.join(60)
        assert learner.n_rows == 60
        assert learner.labels_of([7]) == {7: None}
        found = bits(learner)
    with NeverEndingLearner.replay(tmp_path / "store") as again:
        assert bits(again) == found
