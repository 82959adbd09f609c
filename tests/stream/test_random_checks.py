"""Random checks of a stream, and the learner that is fed them alone."""

import copy

import numpy as np
import pytest

from everlearn.stream import NeverEndingLearner
from everlearn.stream._held_out import HeldOut
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
        path,
        LASVM(kernel="rbf", gamma=0.5, random_state=0),
        label_rate=0.0,
        audit=0.5,
        classes=[0, 1],
        random_state=0,
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
    assert 90 <= len(checks) <= 110  # a few more rows are drawn at random at the start
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


def test_selected_rows_are_predicted_by_a_learner_that_forgot_them(asked):
    learner, y = asked
    found = learner.selected_checks(20)
    assert len(found) == 20
    assert {check.id for check in found}.isdisjoint(check.id for check in learner.random_checks())
    assert all(check.label == y[check.id] for check in found)
    now = dict(zip([c.id for c in found], learner.predict(learner.rows([c.id for c in found])), strict=True))
    assert any(check.predicted != now[check.id] for check in found)  # difficult rows: each is its own support
    before = learner.learner_.n_support_.tolist() if hasattr(learner.learner_, "n_support_") else None
    learner.selected_checks(5)
    assert before is None or learner.learner_.n_support_.tolist() == before


def test_the_default_learner_forgets_the_row_that_is_meant():
    """It numbers rows itself, not by their numbers in the stream."""
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 300)
    X = random.normal(size=(300, 2)) + 1.2 * np.where(y == 1, 1.0, -1.0)[:, None]
    with NeverEndingLearner.open(":memory:", label_rate=0.0, classes=[0, 1], random_state=0) as learner:
        learner.step(X)
        wrong = [int(at) for at in np.argsort(-np.abs(X.sum(axis=1)))[:3]]  # far from the boundary
        for at in [*wrong, *(at for at in range(100, 200) if at not in wrong)]:
            learner.label([at], [int(1 - y[at]) if at in wrong else int(y[at])])
        held = HeldOut(learner._state, range(3))
        learned = learner._state.learner
        for at in range(3):
            gone = [int(row) for row in learned.ids_ if row not in _ids_after(held, at)]
            assert gone == [at]
            assert held.without(at)[0] == y[wrong[at]]


def _ids_after(held, at):
    """The ids that a learner has left when a row is forgotten."""
    left = copy.deepcopy(held._learner)
    left.forget([held.ids[at]])
    return left.ids_.tolist()


def test_the_share_of_a_check_is_what_the_strategy_has_left():
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 2))
    y = (X[:, 0] > 0).astype(int)
    with NeverEndingLearner.open(
        ":memory:", LASVM(random_state=0), label_rate=0.0, audit=0.25, classes=[0, 1], random_state=0
    ) as learner:
        learner.step(X)
        for _ in range(60):
            (question,) = learner.ask(1)
            learner.label([question.id], [int(y[question.id])])
        shares = [check.share for check in learner.random_checks()]
        assert shares == sorted(shares, reverse=True)
        n_drawn = learner._state.questions.n_drawn
        last = [q for q in learner._state.questions.answered if q.share is not None][-1]
        assert last.share == pytest.approx(1 - (60 - n_drawn) / (100 - n_drawn), abs=0.05)
        assert shares[-1] < 0.7


def test_rows_drawn_from_a_whole_batch_are_drawn_from_all():
    random = np.random.default_rng(0)
    with NeverEndingLearner.open(
        ":memory:",
        LASVM(random_state=0),
        label_rate=0.2,
        audit=0.5,
        classes=[0, 1],
        cold_start_labels=0,
        random_state=0,
    ) as learner:
        for _ in range(5):
            X = random.normal(size=(50, 2))
            for question in learner.step(X).questions:
                learner.label([question.id], [int(learner.rows([question.id])[0, 0] > 0)])
        drawn = [q for q in learner._state.questions.answered if q.kind == "audit"]
        assert len(drawn) == 25
        assert {q.share for q in drawn} == {1.0}


def test_checks_do_not_starve_where_more_is_asked_than_answered():
    """Fifty questions a batch, of which five are answered: the newest first, and a tenth of them checks."""
    random = np.random.default_rng(0)
    answered = []
    with NeverEndingLearner.open(
        ":memory:", LASVM(random_state=0), label_rate=0.5, classes=[0, 1], random_state=0
    ) as learner:
        for _ in range(20):
            learner.step(random.normal(size=(100, 2)))
            for question in learner.ask(5):
                answered.append(question.kind)
                learner.label([question.id], [int(learner.rows([question.id])[0, 0] > 0)])
        assert answered.count("audit") == 10
        kinds = [question.kind for question in learner.open_questions()[:50]]
        assert kinds.count("audit") == 5
        numbers = [q.number for q in learner.open_questions() if q.kind == "strategy"]
        assert numbers[0] > numbers[-1]
