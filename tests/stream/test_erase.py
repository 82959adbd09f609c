"""Erased rows are in no file any more, and the model is the one that never saw them."""

import sqlite3
import warnings

import numpy as np
import pytest

from everlearn import IDSVM, LASVM, AdaptiveSVM, KernelPerceptron
from everlearn.errors import StoreError
from everlearn.semi import StreamS3VM
from everlearn.store import scrub
from everlearn.stream import NeverEndingLearner
from stream.erase_helpers import AMOUNT, ILLNESS, PERSON, SECRETS, N, X, Y, in_files, name, run
from stream.stream_helpers import bits, differing, drop, opened, unchanged, xor

LEARNERS = {
    "AdaptiveSVM": AdaptiveSVM(scaling="none", max_rows=40),
    "LASVM": LASVM(C=10, gamma=0.5),
    "IDSVM": IDSVM(C=10, gamma=0.5),
    "KernelPerceptron": KernelPerceptron(gamma=0.5),
}


@pytest.mark.parametrize("sparse_rows", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", LEARNERS)
def test_nothing_is_left_in_any_file_or_in_the_model(tmp_path, kind, sparse_rows):
    place = tmp_path / "store"
    learner = run(opened(place, LEARNERS[kind], snapshot_every=50), sparse_rows=sparse_rows)
    assert in_files(tmp_path, *SECRETS[:3])  # or the test could not fail
    certificate = learner.erase([PERSON, name(3), name(20)], by="an officer", time=0.0)
    assert in_files(tmp_path, *SECRETS) == []
    assert certificate.scrubbed
    assert certificate.method == "replay"
    assert certificate.model_difference["bit_equal"] is True
    assert certificate.model_difference["max_difference"] == 0.0
    assert (certificate.rows, certificate.by, certificate.time[:4]) == (3, "an officer", "1970")
    assert certificate.labels >= 3
    assert ILLNESS not in learner.status()["classes"]
    state = bits(learner)
    with NeverEndingLearner.replay(place) as replayed:
        assert differing(replayed, learner) == []
    drop(learner)
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == state
        learner.step(X[:20], time=300.0)
    assert in_files(tmp_path, *SECRETS) == []


def test_the_model_is_that_of_a_stream_without_the_row():
    """An oracle without any part of erasing: the same stream, sent without the rows."""
    gone = [7, 170, 171]  # so that rows double, and the scale moves, at the same batches
    options = {"query_strategy": None, "memory_rows": 500, "random_state": 0}
    with (
        NeverEndingLearner.open(":memory:", LASVM(C=10, gamma=0.5), **options) as learner,
        NeverEndingLearner.open(":memory:", LASVM(C=10, gamma=0.5), **options) as never,
    ):
        for start in range(0, N, 40):
            rows = np.arange(start, start + 40)
            learner.step(X[rows], Y[rows], ids=[name(i) for i in rows], time=float(start))
            rows = np.setdiff1d(rows, gone)
            never.step(X[rows], Y[rows], time=float(start))
        learner.erase([name(i) for i in gone])
        for mine, theirs in ((learner.mean_, never.mean_), (learner.scale_, never.scale_)):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(learner.decision_function(X), never.decision_function(X))
        assert learner.status()["scores"]["window"] == never.status()["scores"]["window"]


def test_a_scale_that_was_taken_from_the_row_is_taken_again(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step([[AMOUNT, 1.0]], ids=[PERSON])
        learner.step(X[:50], Y[:50])
        learner.erase([PERSON])
        assert np.abs(learner.mean_).max() < 1
        assert learner.erase([1]).model_difference["bit_equal"]
    assert in_files(tmp_path, *SECRETS) == []


@pytest.mark.parametrize("retention", ["all", "needed"])
def test_an_exact_learner_may_forget_without_a_replay(tmp_path, retention):
    place, gone = tmp_path / "store", [PERSON, name(60), name(75), name(110)]
    settings = {"snapshot_every": 50, "retention": retention, "memory_rows": 400, "query_strategy": None}
    learner = run(opened(place, IDSVM(C=10, gamma=0.5), **settings))
    learner.erase(gone, method="forget")
    assert in_files(tmp_path, *SECRETS) == []
    assert set(learner.learner_.support_.tolist()).isdisjoint({57, 60, 75, 110})
    state = bits(learner)
    drop(learner)
    with NeverEndingLearner.open(place) as learner:
        assert bits(learner) == state


def test_forgetting_leads_where_a_replay_does(tmp_path):
    with opened(tmp_path / "store", IDSVM(C=10, gamma=0.5), scaling="none", query_strategy=None) as learner:
        for start in range(0, 80, 20):
            learner.step(X[100 + start : 120 + start], Y[100 + start : 120 + start])
        certificate = learner.erase([5, 33, 47], method="forget")
    assert certificate.method == "forget"
    assert (
        certificate.model_difference["max_difference"]
        < 1e-6
        < certificate.model_difference["max_difference_before"]
    )
    assert any("scores" in note for note in certificate.notes)


def test_a_scale_that_is_a_single_row_goes_without_a_replay(tmp_path):
    with opened(tmp_path / "store") as learner:
        learner.step([[AMOUNT, -AMOUNT]], ids=[PERSON])
        learner.step(X[:20], Y[:20])
        learner.erase([PERSON], method="forget")
        assert in_files(tmp_path, *SECRETS) == []
        learner.step([[3.0, 4.0]])


@pytest.mark.parametrize("how", ["forget", "max_age"])
def test_a_class_that_is_gone_is_in_no_question_about_other_rows(tmp_path, how):
    truth = np.array(["no", "yes"], dtype=object)[Y]
    options = {"max_age": "30d"} if how == "max_age" else {}
    with opened(tmp_path / "store", label_rate=0.5, query_strategy="margin", **options) as learner:
        for start in range(0, N, 20):
            labels = truth[start : start + 20].copy()
            labels[::2] = None
            if start == 60:
                labels[[1, 3, 5]] = ILLNESS
            names = [name(i) for i in range(start, start + 20)]
            learner.step(xor(N)[0][start : start + 20], labels, ids=names, time=start * 8640.0)
            learner.ask(5)
        assert ILLNESS in str(learner._state.questions.state())
        if how == "max_age":
            learner.expire(time=375 * 8640.0)
        else:
            learner.erase([name(61), name(63), name(65)], method="forget")
        assert learner.status()["classes"] == ["no", "yes"]
        assert in_files(tmp_path, ILLNESS) == []


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_store_that_dropped_rows_learns_the_kept_ones_again(tmp_path, kind):
    place = tmp_path / "store"
    learner = run(opened(place, LEARNERS[kind], snapshot_every=40, retention="needed", memory_rows=60))
    learner.close()
    learner = NeverEndingLearner.open(place, snapshot_every=40)
    with pytest.raises(StoreError, match="has dropped rows"):
        learner.erase([PERSON], method="replay")
    certificate = learner.erase([PERSON, name(5), name(N - 1)])
    assert certificate.method == "forget"
    assert certificate.model_difference["bit_equal"] is None
    assert in_files(tmp_path, *SECRETS) == []
    assert 57 not in learner._state.needed()
    state = bits(learner)
    learner.close()
    with NeverEndingLearner.open(place, snapshot_every=40) as learner:
        assert bits(learner) == state
        learner.step(X[:60], time=400.0)


def test_an_s3vm_forgets_too(tmp_path):
    settings = {"semi_supervised": StreamS3VM(memory_rows=60), "snapshot_every": 50}
    with run(opened(tmp_path / "store", **settings), n=100) as learner:
        assert learner.erase([PERSON]).model_difference["bit_equal"]
    assert in_files(tmp_path, *SECRETS) == []


def test_an_erased_row_does_not_come_back(tmp_path):
    with run(opened(tmp_path / "store"), n=100) as learner:
        learner.erase([PERSON, name(2)])
        with unchanged(learner):
            for call in (
                lambda: learner.label([PERSON], ["no"]),
                lambda: learner.withdraw([PERSON]),
                lambda: learner.erase([name(1), PERSON]),
            ):
                with pytest.raises(ValueError, match=f"'{PERSON}' was erased"):
                    call()
            with pytest.raises(ValueError, match=f"Duplicate id '{PERSON}'"):
                learner.step(X[:1], ids=[PERSON])
        assert learner.status()["erased"] == 2
        assert learner.status()["rows"] == 100
        out = learner.step(X[:2])
        assert out.ids == [100, 101]


def test_an_erased_row_does_not_come_back_in_a_replay(tmp_path):
    with run(opened(tmp_path / "store"), n=100) as learner:
        certificate = learner.erase([PERSON, name(2)])
        with NeverEndingLearner.replay(tmp_path / "store", into=tmp_path / "replayed") as replayed:
            assert differing(replayed, learner) == []
            with unchanged(replayed), pytest.raises(ValueError, match=f"Duplicate id '{PERSON}'"):
                replayed.step(X[:1], ids=[PERSON])
            assert replayed.erase([name(1)]).salt == certificate.salt
            assert replayed._log.event(2).count == 20


@pytest.mark.parametrize("how", ["erased", "expired"])
def test_versions_that_know_no_erased_rows_refuse_the_store(tmp_path, how):
    with opened(tmp_path / "store", max_age="1d") as learner:
        learner.step(X[:40], ids=range(40), time=0.0)
        assert learner._log.meta("version") == 1
        if how == "erased":
            learner.erase([3])
        else:
            learner.step(X[40:60], time=1e6)
    with NeverEndingLearner.open(tmp_path / "store") as learner:
        assert learner._log.meta("version") == 2


def test_bad_input_erases_nothing(tmp_path):
    with run(opened(tmp_path / "store"), n=60) as learner, unchanged(learner):
        for ids, message in (
            ([], "got none"),
            (["who"], "No row with the id 'who'"),
            ([name(1)] * 2, "more than once"),
        ):
            with pytest.raises(ValueError, match=message):
                learner.erase(ids)
        with pytest.raises(ValueError, match="method must be one of"):
            learner.erase([name(1)], method="burn")
        for time in (float("nan"), 1e18):
            with pytest.raises(ValueError, match="time must be"):
                learner.erase([name(1)], time=time)
    with (
        NeverEndingLearner.open(tmp_path / "store", read_only=True) as looking,
        pytest.raises(StoreError, match="read_only=True"),
    ):
        looking.erase([name(1)])


def test_all_rows_can_be_erased(tmp_path):
    with run(opened(tmp_path / "store"), n=60) as learner:
        learner.erase([name(i) for i in range(60)])
        assert learner.learner_ is None
        assert learner.status()["labels"] == 0
        learner.step(X[60:100], Y[60:100])
        assert learner.predict(X[:3]).tolist() != [None] * 3
        np.testing.assert_allclose(learner.mean_, X[60:100].mean(axis=0))


def test_bytes_are_overwritten_later_if_that_failed(tmp_path, monkeypatch):
    place = tmp_path / "store"
    learner = run(opened(place), n=100)
    monkeypatch.setattr(scrub, "scrub", lambda log: (_ for _ in ()).throw(StoreError("the disk is full")))
    with pytest.warns(UserWarning, match=r"the disk is full.* not yet overwritten"):
        certificate = learner.erase([PERSON])
    assert certificate.scrubbed is False
    monkeypatch.undo()
    assert learner.status()["erased"] == 1
    learner.close()
    NeverEndingLearner.open(place).close()
    assert in_files(tmp_path, *SECRETS) == []


def test_a_reader_in_the_way_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr("everlearn.store._database.LOCK_TIMEOUT", 0.2)
    place = tmp_path / "store"
    learner = run(opened(place), n=100)
    reader = sqlite3.connect(place)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM rows").fetchone()
    certificate = learner.erase([PERSON])
    assert certificate.scrubbed is False
    reader.close()
    learner.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NeverEndingLearner.open(place).close()
    assert in_files(tmp_path, *SECRETS) == []


@pytest.mark.parametrize("how", ["erased", "expired"])
def test_whoever_looks_is_told_of_rows_that_are_gone_since(tmp_path, how):
    with opened(tmp_path / "store", query_strategy="random", max_age="1d") as learner:
        learner.step(X[:100], time=0.0)
        with NeverEndingLearner.open(tmp_path / "store", read_only=True) as looking:
            asked = looking.ask(20)
            if how == "erased":
                learner.erase([asked[0].id])
            else:
                learner.step(X[:10], time=1e6)
            for look in (lambda: looking.ask(20), looking.report_data):
                with pytest.raises(StoreError, match=r"no longer in .*Open it again"):
                    look()
