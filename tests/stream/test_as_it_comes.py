"""A never-ending learner as it comes: what it asks about, what it says, how it follows concept drift."""

import numpy as np
import pytest

from everlearn import LASVM, AdaptiveSVM, query
from everlearn.evaluate import DriftDetector
from everlearn.stream import NeverEndingLearner
from stream.stream_helpers import bits, drop, follow, stripes, three_blobs


def test_the_default_learner_follows_a_concept_that_turns_around():
    X, y = stripes(6000, flip=3000)
    with NeverEndingLearner.open(":memory:", label_rate=0.05, random_state=0) as learner:
        assert isinstance(learner._settings.learner, AdaptiveSVM)
        assert isinstance(learner._settings.query_strategy, query.Auto)
        predictions, _ = follow(learner, X, y)
    right = (predictions == y).astype(float)
    assert right[1500:3000].mean() > 0.9
    assert right[3000:3200].mean() < 0.5
    assert right[4500:].mean() > 0.85


def test_who_comes_row_by_row_is_asked_about_the_last_few_hundred():
    X, y = stripes(1000)
    with NeverEndingLearner.open(":memory:", label_rate=0.02, audit=0.0, random_state=0) as learner:
        _, asked = follow(learner, X, y, size=1)
        ages = [q.asked_row - 1 - q.number for questions in asked for q in questions]
    assert len(ages) == 20
    assert 0 < max(ages) < 100  # as many rows as share two questions, and 100 at least
    with NeverEndingLearner.open(":memory:", label_rate=0.004, audit=0.0, random_state=0) as learner:
        _, asked = follow(learner, X, y, size=1)
    assert max(q.asked_row - 1 - q.number for questions in asked for q in questions) >= 100


def test_labels_that_come_by_themselves_count_toward_the_start():
    X, y = stripes(1000)
    given = np.array([None] * 1000, dtype=object)
    given[:40] = y[:40]
    with NeverEndingLearner.open(
        ":memory:", label_rate=0.02, audit=0.0, cold_start_labels=30, random_state=0
    ) as learner:
        kinds = []
        for start in range(0, 1000, 100):
            out = learner.step(X[start : start + 100], given[start : start + 100])
            kinds += [q.kind for q in out.questions]
    assert kinds == ["strategy"] * 20


def test_the_first_questions_are_random_and_far_by_turns():
    X, y = stripes(1000)
    X[150] = 30.0  # of the second batch, far from all others
    with NeverEndingLearner.open(
        ":memory:", label_rate=0.04, audit=0.0, cold_start_labels=20, random_state=0
    ) as learner:
        _, asked = follow(learner, X, y)
    first = [q for questions in asked for q in questions if q.kind == "cold_start"]
    far = [q for q in first if q.reason == "far from every labeled row"]
    assert len(first) == 20
    assert len(far) == 10
    assert 150 in {q.number for q in far}


def test_a_rare_class_is_found_by_the_first_questions():
    found = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.normal(size=(1000, 3))
        y = np.zeros(1000, dtype=int)
        rare = random.permutation(1000)[:30]
        X[rare] += 6.0
        y[rare] = 1
        with NeverEndingLearner.open(":memory:", label_rate=0.01, audit=0.0, random_state=seed) as learner:
            follow(learner, X, y)
            found += len(learner.status()["classes"]) == 2
    assert found == 10  # by 10 random questions each it would be about 3


def test_open_questions_are_not_asked_again():
    X, _ = stripes(600)
    with NeverEndingLearner.open(":memory:", label_rate=0.1, random_state=0) as learner:
        asked = [q.id for start in range(0, 600, 5) for q in learner.step(X[start : start + 5]).questions]
        assert len(asked) == len(set(asked)) == 60
        assert learner.status()["open_questions"] == 60


# --------------------------------------------------------------------------------------------------- survival


def test_a_killed_default_learner_goes_on_bit_for_bit(tmp_path):
    X, y = three_blobs(1500)
    options = {"label_rate": 0.1, "coverage": 0.8, "random_state": 0, "snapshot_every": 400}
    with NeverEndingLearner.open(":memory:", **options) as calm:
        follow(calm, X, y, size=70)
        place = tmp_path / "store"
        learner = NeverEndingLearner.open(place, **options)
        for start in range(0, 1500, 70):
            out = learner.step(X[start : start + 70])
            learner.label([q.id for q in out.questions], [y[q.id] for q in out.questions])
            if start in (140, 700, 1120):
                drop(learner)
                learner = NeverEndingLearner.open(place)
        probe = X[:200]
        np.testing.assert_array_equal(learner.predict(probe), calm.predict(probe))
        np.testing.assert_array_equal(learner.predict_proba(probe), calm.predict_proba(probe))
        assert bits(learner, but=("alarms",)) == bits(calm, but=("alarms",))
        learner.close()


def test_a_new_class_and_a_new_scale_keep_the_record_of_the_experts():
    X, y = stripes(900)
    with NeverEndingLearner.open(":memory:", label_rate=0.2, random_state=0) as learner:
        follow(learner, X, y)
        before = learner.learner_.weights_
        assert before.max() > 0.15
        learner.rescale()
        np.testing.assert_allclose(learner.learner_.weights_, before)
        learner.label([0], [7])
        assert learner.learner_.classes_.tolist() == [0, 1, 7]
        assert np.abs(learner.learner_.weights_ - before).max() < 0.1


@pytest.mark.parametrize(
    ("policy", "note"),
    [("restart", "learner restarted on the last 100 labels"), ("alarm", "reported only")],
)
def test_an_alarm_says_what_was_done(policy, note):
    X, y = stripes(2000, flip=1000)
    drift = DriftDetector("ddm", policy=policy, warm_start=20)
    with NeverEndingLearner.open(":memory:", LASVM(C=10), drift=drift, random_state=0) as learner:
        for start in range(0, 2000, 100):
            learner.step(X[start : start + 100], y[start : start + 100])
        assert {alarm["note"] for alarm in learner.status()["drift_alarms"]} == {note}


def test_a_detector_given_by_name_acts():
    assert DriftDetector("adwin").policy == "restart"
