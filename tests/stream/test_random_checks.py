"""Random checks of a stream, and the learner that is fed them alone."""

import numpy as np
import pytest

from everlearn.stream import NeverEndingLearner
from everlearn.stream.random_checks import BaselinePoint, RandomCheck
from everlearn.svm import LASVM


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A store with 600 rows of two Gaussian classes and 200 answers; every second question is a check."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 600)
    X = random.normal(size=(600, 2)) + 1.5 * np.where(y == 1, 1.0, -1.0)[:, None]
    path = tmp_path_factory.mktemp("checks") / "store"
    learner = NeverEndingLearner.open(
        path, LASVM(kernel="rbf", gamma=0.5, random_state=0), label_rate=0.0, audit=0.5, classes=[0, 1]
    )
    learner.step(X)
    for _ in range(200):
        (question,) = learner.ask(1)
        learner.label([question.id], [int(y[question.id])])
    yield learner, y
    learner.close()


def test_a_check_has_the_prediction_just_before_its_answer(asked):
    learner, _ = asked
    checks = learner.random_checks()
    assert 90 <= len(checks) <= 100
    assert all(check.predicted in (0, 1) for check in checks)
    assert [check.labels for check in checks] == sorted({check.labels for check in checks})
    assert checks[-1].labels <= 199
    accuracy = np.mean([check.right for check in checks])
    assert 0.85 < accuracy <= 1.0


def test_checks_are_the_same_after_a_replay(asked, tmp_path):
    learner, _ = asked
    learner.backup(tmp_path / "copy")
    with NeverEndingLearner.open(tmp_path / "copy", create=False) as again:
        assert again.random_checks() == learner.random_checks()
        assert again.random_baseline() == learner.random_baseline()


def test_a_label_that_is_withdrawn_is_no_check(asked, tmp_path):
    learner, _ = asked
    learner.backup(tmp_path / "copy")
    with NeverEndingLearner.open(tmp_path / "copy", create=False) as again:
        before = again.random_checks()
        last = [
            q for q in again.report_data()["questions"] if q["kind"] == "audit" and q["label"] is not None
        ][-1]
        again.withdraw([last["id"]])
        assert again.random_checks() == before[:-1]


def test_the_baseline_learns_checks_alone_and_is_tested_on_later_ones(asked):
    points = asked[0].random_baseline()
    n = len(points) and points[0].labels + points[0].tested
    assert [point.labels for point in points] == [10, 15, 20, 30, 40, 60, 80]
    assert [point.labels + point.tested for point in points] == [n] * 7
    assert all(point.right > 0.8 * point.tested for point in points[2:])


def test_without_checks_there_is_nothing(tmp_path):
    with NeverEndingLearner.open(tmp_path / "empty", LASVM(), classes=[0, 1]) as learner:
        assert learner.random_checks() == []
        assert learner.random_baseline() == []


def test_right():
    assert RandomCheck(5, "a", "a").right
    assert not RandomCheck(5, "a", "b").right
    assert BaselinePoint(10, 20, 15).right == 15
