"""ask and tell: the loop driven from outside, with answers in any order, number and quality."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from everlearn import IDSVM, LASVM, ActiveLearner, query
from everlearn.query import stopping
from everlearn.query._consensus import consensus
from property_helpers import property_test
from svm.lasvm_helpers import three_clouds, two_clouds


def begun(X, model=None, classes=(0, 1), **options):
    model = LASVM(C=5, gamma=0.5) if model is None else model
    return ActiveLearner(model, random_state=0).start(X, classes=classes, **options)


def exact(X, rows, labels, weights=None):
    return SVC(C=5, gamma=0.5, tol=1e-6).fit(X[rows], labels, sample_weight=weights).decision_function(X)


# --------------------------------------------------------------------------------------------- one loop only


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
@pytest.mark.parametrize("n", [1, 6])
def test_asking_and_telling_is_running(data, n):
    X, y = data(200)
    names = np.unique(y)
    whole = ActiveLearner(LASVM(C=5, gamma=0.5), random_state=0).run(X, y, 60, batch_size=n)
    outside = begun(X, classes=names)
    while len(outside.history) < 60:
        rows = outside.ask(n)
        outside.tell(rows, y[rows])
    assert outside.history == whole.history
    np.testing.assert_array_equal(
        outside.estimator.decision_function(X), whole.estimator.decision_function(X)
    )


def test_a_run_goes_on_from_what_was_told_and_back():
    X, y = two_clouds(200)
    whole = ActiveLearner(LASVM(C=5, gamma=0.5), random_state=0).run(X, y, 45)
    mixed = begun(X)
    for _ in range(15):
        rows = mixed.ask()
        mixed.tell(rows, y[rows])
    mixed.run(X, y, 15)
    for _ in range(15):
        rows = mixed.ask()
        mixed.tell(rows, y[rows])
    assert mixed.history == whole.history


# --------------------------------------------------------------------------------------------------- pending


def test_pending_rows_are_not_asked_again():
    X, y = two_clouds(60)
    run = begun(X, initial_labels={0: y[0], 1: y[1]})
    rows = np.concatenate([run.ask(7) for _ in range(5)])
    assert len(set(rows.tolist())) == 35
    assert set(run.pending) == set(rows.tolist())
    assert len(run.history) == 2
    run.tell(rows[3], y[rows[3]])
    assert len(run.pending) == 34
    rest = run.ask(100)
    assert len(rest) == 60 - 2 - 35
    assert len(run.ask(3)) == 0
    assert "57 questions are pending" in run.stop_reason
    waiting = list(run.pending)
    run.tell(waiting, y[waiting])
    assert run.pending == {}
    assert len(run.ask()) == 0
    assert run.stop_reason == "the pool is used up"
    assert len({r["row"] for r in run.history}) == 60


def test_a_run_leaves_pending_rows_alone():
    X, y = two_clouds(60)
    run = begun(X)
    held = run.ask(4)
    run.run(X, y)
    assert not set(held.tolist()) & {r["row"] for r in run.history}
    assert len(run.history) == 56
    run.tell(held, y[held])
    assert len(run.history) == 60


def test_reasons_can_be_sent_as_json():
    X, _ = two_clouds(60)
    run = begun(X)
    rows = run.ask(3)
    sent = json.loads(json.dumps({str(row): run.pending[row] for row in rows.tolist()}))
    assert all("has seen too few classes" in reason for reason in sent.values())


# --------------------------------------------------------------------------------------- answers of any kind


@property_test(25)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_answers_in_any_order_count_once(seed, sizes):
    X, y = two_clouds(40, seed=seed % 13)
    random = np.random.RandomState(seed)
    run = begun(X, reask_unknown=False)
    open_rows, told, skipped = [], [], 0
    for n in sizes:
        open_rows += run.ask(n).tolist()
        random.shuffle(open_rows)
        now = [open_rows.pop() for _ in range(random.randint(len(open_rows) + 1))]
        labels = [None if random.rand() < 0.2 else y[row] for row in now]
        run.tell(now, labels)
        told += [row for row, label in zip(now, labels, strict=True) if label is not None]
        skipped += labels.count(None)
    assert [r["row"] for r in run.history] == told
    assert set(run.pending) == set(open_rows)
    assert len(told) + skipped + len(open_rows) + len(run.ask(100)) == 40
    assert run.answers == {row: [y[row]] for row in told}


def test_labels_that_nobody_asked_for_count():
    X, y = two_clouds(120)
    run = begun(X)
    run.tell([5, 3, 7, 9], y[[5, 3, 7, 9]])
    assert [r["chosen_by"] for r in run.history] == ["told"] * 4
    assert run.history[0]["reason"] == "label given without a question"
    by_margin = y[[5, 3, 7, 9]].min() < y[[5, 3, 7, 9]].max()
    assert by_margin
    run.ask()
    assert next(iter(run.pending.values())).startswith("near the boundary")  # the cold start is over
    rows = run.ask(115)
    assert not {5, 3, 7, 9} & set(rows.tolist())


def test_rows_that_are_not_known_come_back_at_the_end():
    X, y = two_clouds(20)
    run = begun(X)
    first = run.ask(2)
    run.tell(first, [None, None])
    assert run.pending == {}
    later = run.ask(18)
    assert not set(first.tolist()) & set(later.tolist())
    run.tell(later, y[later])
    assert set(run.ask(5).tolist()) == set(first.tolist())
    run.tell(first, [None, None])
    assert len(run.ask()) == 0


def test_a_single_answer_needs_no_list():
    X, _ = two_clouds(30)
    run = begun(X, classes=["ham", "spam"])
    (row,) = run.ask()
    run.tell(row, "ham").tell(int(run.ask()[0]), "spam")
    assert [r["label"] for r in run.history] == ["ham", "spam"]


# --------------------------------------------------------------------------------- several answers for a row


@pytest.mark.parametrize(
    ("answers", "label", "weight"),
    [
        ([1], 1, 1),
        ([0, 0, 0], 0, 1),
        ([0, 1], 0, 0),
        ([0, 1, 1], 1, 1 / 3),
        (["a", "b", "b", "b", "c"], "b", 2 / 5),
        ([2, 1, 0], 2, 0),
    ],
)
def test_consensus(answers, label, weight):
    assert consensus(answers) == (label, pytest.approx(weight))


@pytest.mark.parametrize("model", [LASVM(C=5, gamma=0.5, tol=1e-4), IDSVM(C=5, gamma=0.5)], ids=repr)
def test_the_majority_is_learned_with_its_weight(model):
    X, y = two_clouds(120)
    rows, labels = np.arange(40), y[:40].copy()
    run = begun(X, model)
    run.tell(rows, labels)
    run.tell([3, 4, 4, 5], [1 - y[3], 1 - y[4], 1 - y[4], y[5]])  # a tie, two to one, agreement
    assert run.answers[4] == [y[4], 1 - y[4], 1 - y[4]]
    weights = np.ones(40)
    weights[[3, 4]] = 0, 1 / 3
    labels[4] = 1 - y[4]
    kept = weights > 0
    expected = exact(X, rows[kept], labels[kept], weights[kept])
    np.testing.assert_allclose(run.estimator.decision_function(X), expected, atol=5e-3)
    run.tell(3, y[3])  # two to one for the first answer
    weights[3] = 1 / 3
    np.testing.assert_allclose(run.estimator.decision_function(X), exact(X, rows, labels, weights), atol=5e-3)
    assert len(run.history) == 45


def test_a_tie_at_the_very_beginning():
    X, y = two_clouds(60)
    run = begun(X, test=(X, y))
    run.tell([0, 0], [0, 1])
    assert [r["score"] for r in run.history] == [None, None]
    rows = run.ask(30)
    run.tell(rows, y[rows])
    np.testing.assert_allclose(run.estimator.decision_function(X), exact(X, rows, y[rows]), atol=1e-2)


def test_a_model_that_cannot_forget_learns_the_new_majority_beside_the_old():
    X, _ = two_clouds(60)
    learned = []

    class Noting(SGDClassifier):
        def partial_fit(self, X, y, classes=None, sample_weight=None):
            learned.append((y[0], None if sample_weight is None else float(sample_weight[0])))
            return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)

    run = begun(X, Noting(random_state=0))
    run.tell([0, 1], [0, 1])
    run.tell(0, 1)
    assert learned == [(0, None), (1, None)]  # a tie: what was learned stays
    run.tell(0, 1)
    assert learned[2:] == [(1, pytest.approx(1 / 3))]


# --------------------------------------------------------------------------------- journal, stopping, scores


def test_a_journal_keeps_several_answers(tmp_path):
    X, y = two_clouds(80)
    run = begun(X, journal=tmp_path / "j")
    rows = run.ask(12)
    run.tell(rows, y[rows])
    run.tell([rows[2], rows[2], rows[5]], [1 - y[rows[2]], 1 - y[rows[2]], None])
    held = run.ask(3)
    again = begun(X, journal=tmp_path / "j")
    assert again.answers == run.answers
    assert len(again.history) == len(run.history) == 14
    np.testing.assert_allclose(
        again.estimator.decision_function(X), run.estimator.decision_function(X), atol=5e-3
    )
    again.tell(held, y[held])  # asked by the process that is gone
    assert len(again.history) == 17


def test_a_stopping_rule_ends_asking_and_may_be_changed():
    X, y = two_clouds(80)
    run = ActiveLearner(stopping=stopping.LabelBudget(10), random_state=0).start(X, classes=[0, 1])
    while len(rows := run.ask(2)):
        run.tell(rows, y[rows])
    assert len(run.history) == 10
    assert "budget of 10" in run.stop_reason
    run.stopping = stopping.LabelBudget(12)
    run.stopping.update(stopping.Progress(10))
    rows = run.ask(2)
    run.tell(rows, y[rows])
    assert len(run.history) == 12
    assert len(run.ask()) == 0


def test_scores_and_seeds():
    X, y = two_clouds(80)
    run = begun(X, initial_labels={4: y[4], 9: y[9]}, test=(X, y), score_every=2)
    rows = run.ask(4)
    run.tell(rows, y[rows])
    assert [r["score"] is None for r in run.history] == [True, False] * 3
    assert run.history[-1]["score"] == run.estimator.score(X, y)


# ------------------------------------------------------------------------------------------------- bad input


def state(run):
    return (
        len(run.history),
        run.answers,
        run.pending,
        None if not run.history else run.estimator.decision_function([[0.0] * 4]).tolist(),
    )


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        ([1, 2], [0], "one label for each row, got 1 for 2 rows"),
        ([1, 60], [0, 1], r"ids has row numbers that are not in the pool: \[60\]; it has the rows 0 to 59"),
        ([-1], [0], "row numbers that are not in the pool"),
        (["a"], [0], "row numbers that are not in the pool"),
        ([1.5], [0], "row numbers that are not in the pool"),
        ([1, 2], [0, 7], "answered 7 for row 2"),
        ([1, 2], [0, [1]], "answered"),
    ],
)
def test_bad_answers_change_nothing(rows, labels, words):
    X, y = two_clouds(60)
    run = begun(X)
    asked = run.ask(6)
    run.tell(asked[:4], y[asked[:4]])
    before = state(run)
    with pytest.raises(ValueError, match=words):
        run.tell(rows, labels)
    assert state(run) == before


@pytest.mark.parametrize("n", [0, -1, 1.5, None, "two"])
def test_a_bad_number_of_queries(n):
    run = begun(two_clouds(60)[0])
    with pytest.raises(ValueError, match="n must be an integer from 1"):
        run.ask(n)


def test_what_comes_before_start():
    run = ActiveLearner()
    for call in (run.ask, lambda: run.tell([0], [1])):
        with pytest.raises(ValueError, match=r"call start\(X, classes=...\) before ask and tell"):
            call()
    with pytest.raises(ValueError, match="classes is required"):
        run.start(two_clouds(20)[0])
    with pytest.raises(ValueError, match="initial_labels=3 needs an array of labels"):
        run.start(two_clouds(20)[0], classes=[0, 1], initial_labels=3)


def test_a_model_or_a_strategy_that_is_replaced_is_noticed():
    run = begun(two_clouds(20)[0])
    run.query_strategy = query.Random()
    with pytest.raises(ValueError, match="was replaced after start: call start again"):
        run.ask()


def test_a_batch_that_a_strategy_cannot_choose():
    X, _ = two_clouds(80)
    run = ActiveLearner(query_strategy=query.Margin(), random_state=0).start(X, classes=[0, 1])
    with pytest.raises(ValueError, match="batch_size=70 is larger than pool_size=59"):
        run.ask(70)
