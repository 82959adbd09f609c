"""Labels withdrawn and replaced, stores closed, dropped and replayed: random stories and what must hold."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from scipy import sparse

from everlearn import IDSVM, LASVM, LASVMNC, KernelPerceptron, LocalSVM
from everlearn.store.events import Arrived, Labeled, Withdrawn
from everlearn.stream import NeverEndingLearner
from everlearn.stream._learner_state import LearnerState
from property_helpers import sample_of
from stream.stream_helpers import Story, bits, differing, drop, of_kind, opened, unchanged, xor

PHASES = (Phase.explicit, Phase.generate)  # shrinking such stories takes minutes
SEEDS = st.integers(0, 2**16)
CALLS = st.tuples(st.just("step"), st.integers(0, 30), SEEDS) | st.tuples(
    st.sampled_from(["label", "withdraw", "ask"]), st.integers(0, 8), SEEDS
)
INTERRUPTIONS = st.tuples(st.sampled_from(["snapshot", "close", "crash"]), st.integers(0, 2), SEEDS)
STORIES = st.lists(CALLS | CALLS | INTERRUPTIONS, min_size=10, max_size=25)
ROWS = xor(50, seed=99)[0]
slowly = settings(
    derandomize=True,
    deadline=None,
    max_examples=sample_of(12),
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)


def told(folder, operations, learner=None, **settings):
    place = Path(folder) / "story.everlearn"

    def reopen():
        return NeverEndingLearner.open(place, snapshot_every=40)

    story = Story(opened(place, learner, snapshot_every=40, **settings), reopen)
    story.tell(operations)
    return story, place


@slowly
@given(STORIES)
def test_the_state_is_that_of_a_replay_and_of_a_run_without_the_dead_labels(operations):
    with tempfile.TemporaryDirectory() as folder:
        story, place = told(folder, operations)
        with story.learner as learner, NeverEndingLearner.replay(place) as replayed:
            assert differing(learner, replayed) == []
            assert bits(learner) == bits(replayed)
            with story.again(opened(), dead=False) as never:
                assert differing(learner, never) in ([], ["n_withdrawn"])
                assert bits(learner, but=["n_withdrawn"]) == bits(never, but=["n_withdrawn"])
            story.check_log()
            assert learner.status()["labels"] == len(story.label_of)
            labeled = learner._log.labeled_at(np.arange(story.n_rows), learner._log.last + 1)
            assert labeled.keys() == story.label_of.keys()
        with NeverEndingLearner.open(place) as reopened:
            assert bits(reopened) == bits(replayed)


@slowly
@given(STORIES)
def test_a_learner_that_forgets_is_one_that_never_saw_the_label(operations):
    exact = IDSVM(C=10, gamma=0.5)
    with tempfile.TemporaryDirectory() as folder:
        story, place = told(folder, operations, exact, memory_rows=30)
        with story.learner as learner, NeverEndingLearner.replay(place) as replayed:
            assert differing(learner, replayed) == []
            with story.again(opened(learner=exact, memory_rows=30), dead=False) as never:
                assert learner.status()["labels"] == never.status()["labels"] == len(story.label_of)
                assert (learner.learner_ is None) == (never.learner_ is None)
                if learner.learner_ is not None:
                    assert learner.learner_.classes_.tolist() == never.learner_.classes_.tolist()
                    ours, theirs = learner.decision_function(ROWS), never.decision_function(ROWS)
                    np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize(
    "other", [LASVMNC(C=10), IDSVM(C=5, gamma=0.5), KernelPerceptron(), LASVM(C=0.1)], ids=repr
)
@settings(
    derandomize=True,
    deadline=None,
    max_examples=3,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(STORIES)
def test_a_replay_with_another_learner_is_a_run_with_it_from_the_start(other, operations):
    with tempfile.TemporaryDirectory() as folder:
        story, place = told(folder, operations)
        story.learner.close()
        with (
            NeverEndingLearner.replay(place, other) as replayed,
            story.again(opened(learner=other)) as run,
        ):
            assert differing(replayed, run) == []
            assert bits(replayed) == bits(run)


@pytest.mark.parametrize(
    "learner", [LocalSVM(C=10, gamma=0.5, random_state=0), KernelPerceptron(gamma=0.5)], ids=repr
)
def test_a_learner_that_does_not_forget_exactly_is_replayed(learner):
    X, y = xor(60)
    with opened(learner=learner) as withdrawn, opened(learner=learner) as never:
        for store in (withdrawn, never):
            store.step(X, time=0.0)
        withdrawn.label(range(30), y[:30], time=1.0)
        withdrawn.withdraw([3, 20, 21], time=2.0)
        rest = np.delete(np.arange(30), [3, 20, 21])
        never.label(rest, y[rest], time=1.0)
        assert differing(withdrawn, never) == ["n_withdrawn"]
        assert bits(withdrawn, but=["n_withdrawn"]) == bits(never, but=["n_withdrawn"])


@pytest.mark.parametrize("learner", [LASVM(C=10, gamma=0.5), IDSVM(C=10, gamma=0.5)], ids=repr)
def test_the_last_label_counts_and_the_log_has_all(tmp_path, learner):
    X, y = xor(60)
    with opened(tmp_path / "a", learner) as twice, opened(tmp_path / "b", learner) as once:
        for store in (twice, once):
            store.step(X, time=0.0)
            store.label(range(1, 40), y[1:40], time=1.0)
        twice.label([50, 0], [1 - y[50], 1 - y[0]], by="a hasty one", time=2.0)
        twice.label([50, 0], [y[50], y[0]], by="a careful one", time=3.0)
        once.label([50, 0], [y[50], y[0]], time=3.0)
        np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X), atol=1e-6)
        assert twice.status()["labels"] == once.status()["labels"] == 41
        said = [(e.by, e.numbers.tolist(), e.labels.tolist()) for e in of_kind(twice._log, Labeled)[1:]]
        assert said == [
            ("a hasty one", [50, 0], [1 - y[50], 1 - y[0]]),
            ("a careful one", [50, 0], [y[50], y[0]]),
        ]


@pytest.mark.parametrize("learner", [LASVM(C=10, gamma=0.5), IDSVM(C=10, gamma=0.5)], ids=repr)
def test_withdrawing_everything_leaves_a_learner_that_knows_nothing(tmp_path, learner):
    X, y = xor(40)
    with opened(tmp_path / "a", learner) as store:
        store.step(X, y)
        store.withdraw(range(40), by="court")
        assert store.learner_ is None
        assert store.predict(X).tolist() == [None] * 40
        assert (store.status()["labels"], store.status()["withdrawn"]) == (0, 40)
        (event,) = of_kind(store._log, Withdrawn)
        assert (event.by, event.numbers.tolist()) == ("court", list(range(40)))
        store.label(range(40), ["no" if label else "yes" for label in y])  # not even the kind of its labels
        assert set(store.predict(X)) == {"no", "yes"}
        after = bits(store)
    with NeverEndingLearner.open(tmp_path / "a") as store:
        assert bits(store) == after


@pytest.mark.parametrize("learner", [LASVM(C=10, gamma=0.5), IDSVM(C=10, gamma=0.5)], ids=repr)
def test_the_first_label_can_be_of_a_wrong_kind_if_it_is_withdrawn(learner):
    X, y = xor(20)
    with opened(learner=learner) as store:
        store.step(X)
        store.label([0], ["0"])
        store.withdraw([0])
        store.label(range(20), y)
        assert store.status()["classes"] == [0, 1]


def test_withdrawn_labels_can_be_given_again_and_withdrawn_again():
    X, y = xor(60)
    with opened() as store, opened() as once:
        for learner in (store, once):
            learner.step(X[:50], y[:50], time=0.0)
        for _ in range(3):
            store.withdraw([3, 7], time=1.0)
            store.label([3, 7], y[[3, 7]], time=1.0)
        once.label([3, 7], y[[3, 7]], time=1.0)
        assert bits(store, but=["n_withdrawn"]) == bits(once, but=["n_withdrawn"])
        assert (store.status()["withdrawn"], once.status()["withdrawn"]) == (6, 2)
        store.withdraw([3])
        with unchanged(store), pytest.raises(ValueError, match="No label to withdraw for id 3"):
            store.withdraw([7, 3])


def test_rows_that_are_no_longer_kept_can_be_labeled_dense_and_sparse_together(tmp_path):
    X, y = xor(300)
    with opened(tmp_path / "a", memory_rows=5) as mixed, opened(tmp_path / "b", memory_rows=5) as dense:
        for start in range(0, 300, 50):
            rows = X[start : start + 50]
            mixed.step(sparse.csr_matrix(rows) if start % 100 else rows)
            dense.step(rows)
        wanted = [3, 60, 110, 170, 250, 7, 299]
        for store in (mixed, dense):
            store.label(wanted, y[wanted])
            store.label(wanted[::-1], y[wanted[::-1]])
        np.testing.assert_allclose(mixed.decision_function(X), dense.decision_function(X), atol=1e-9)
        assert len(of_kind(mixed._log, Arrived)) == 6


def test_withdrawing_from_far_back_takes_a_snapshot_that_is_old_enough(tmp_path):
    X, y = xor(400)
    with opened(tmp_path / "a", snapshot_every=20) as store, opened() as never:
        for start in range(0, 400, 20):
            batch = slice(start, start + 20)
            store.step(X[batch], y[batch], time=0.0)
            never.step(
                X[batch], [None if start + i in (15, 215, 395) else y[start + i] for i in range(20)], time=0.0
            )
        store._snapshots.wait()
        for row in (395, 15, 215):
            store.withdraw([row])
        assert bits(store, but=["n_withdrawn"]) == bits(never, but=["n_withdrawn"])
        assert store.status()["withdrawn"] == 3


def test_a_learner_that_began_anew_with_some_labels_would_have_begun_with_others():
    exact, (X, y) = IDSVM(C=10, gamma=0.5), xor(61)
    labels = [*y[:60].tolist(), 2]
    with opened(learner=exact, memory_rows=20) as store, opened(learner=exact, memory_rows=20) as never:
        for learner, gap in ((store, None), (never, 55)):
            learner.step(X[:60], [None if i == gap else labels[i] for i in range(60)])
            learner.step(X[60:], [2])  # a third class: it begins anew with the last 20
        store.withdraw([55])
        np.testing.assert_allclose(store.decision_function(ROWS), never.decision_function(ROWS), atol=1e-6)


def test_what_comes_in_is_kept_as_it_came(tmp_path):
    X, Y = xor(200)
    rows = X[:30].copy()
    with opened(tmp_path / "store") as learner:
        learner.step(rows, Y[:30], time=-1.5)
        rows[:] = 0  # the caller's array is the caller's
        (event,) = [event for _, event in learner._log.read() if isinstance(event, Arrived)]
        assert event.X.tobytes() == X[:30].tobytes()
        assert (event.time, event.labels.tolist()) == (-1.5, Y[:30].tolist())
        assert [event.time for _, event in learner._log.read()] == [-1.5, -1.5]
        state = bits(learner)
    with NeverEndingLearner.replay(tmp_path / "store") as replayed:
        assert bits(replayed) == state


def test_opening_folds_once_however_many_labels_were_withdrawn(tmp_path, monkeypatch):
    X, y = xor(60)
    learner = opened(tmp_path / "store")
    for start in range(0, 60, 10):
        out = learner.step(X[start : start + 10], y[start : start + 10])
        learner.withdraw(out.ids[:1])
        learner.label(out.ids[1:2], [1 - y[start + 1]])
    before, events = bits(learner), learner._log.last
    drop(learner)
    folded = []
    apply = LearnerState.apply
    monkeypatch.setattr(
        LearnerState, "apply", lambda fold, *event: folded.append(event) or apply(fold, *event)
    )
    with NeverEndingLearner.open(tmp_path / "store") as again:
        assert bits(again) == before
    assert 0 < len(folded) <= events
