"""ActiveLearner: refuses what would fail later, learns nothing twice, tells its stopping rule the truth."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everlearn import LASVM, ActiveLearner, query
from everlearn.query import stopping
from query.query_helpers import Notes
from query.test_active import loop
from svm.lasvm_helpers import three_clouds, two_clouds

# ------------------------------------------------------------------------------------- refused before a label


USED = stopping.LabelBudget(3)
USED.update(stopping.Progress(1))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"estimator": make_pipeline(StandardScaler(), SGDClassifier())}, TypeError, "partial_fit"),
        ({"estimator": LASVM}, TypeError, "must be an instance"),
        ({"estimator": LASVM(kernel="precomputed")}, ValueError, "precomputed"),
        ({"query_strategy": query.Margin}, TypeError, "query_strategy must be a query strategy"),
        ({"query_strategy": "margin"}, TypeError, "query_strategy must be a query strategy"),
        ({"query_strategy": query.Gradient()}, ValueError, r"query_strategy=Gradient\(.*\) needs the labels"),
        ({"stopping": stopping.LabelBudget}, TypeError, "stopping must be"),
        ({"stopping": USED}, ValueError, "was used by another loop"),
        ({"random_state": "x"}, ValueError, "random_state must be"),
        (
            {"batch_size": 100},
            ValueError,
            "batch_size=100 is larger than pool_size=59 of Margin: set pool_size to at least 100",
        ),
        ({"scoring": 3}, TypeError, "scoring must be"),
        ({"scoring": "no such scorer"}, ValueError, "scor"),
        ({"test": (np.zeros((2, 4)),)}, ValueError, "test must be a tuple"),
        ({"X": np.where(np.arange(320).reshape(80, 4) == 42, np.nan, 0.5)}, ValueError, "first in row 10"),
    ],
)
def test_refused_before_anything_is_asked(change, error, words):
    X, y = two_clouds(80)
    notes = Notes(y)
    parts = {
        "estimator": LASVM(),
        "query_strategy": query.Margin(),
        "stopping": None,
        "random_state": 0,
    } | change
    options = {name: parts.pop(name) for name in ("batch_size", "scoring", "test", "X") if name in parts}
    with pytest.raises(error, match=words):
        ActiveLearner(**parts).run(**{"X": X, "oracle": notes, "classes": [0, 1]} | options)
    assert notes.calls == 0


def test_another_pool_is_refused():
    X, y = two_clouds(80)
    run = loop().run(X, y, 10)
    with pytest.raises(ValueError, match="X has 20 rows"):
        run.run(X[:20], y[:20], 5)
    with pytest.raises(ValueError, match="80 other rows"):
        run.run(X[::-1], y[::-1], 5)
    assert len(run.run(X, y, 5).history) == 15


def test_what_contradicts_is_refused():
    X, y = two_clouds(80)
    run = loop().run(X, y, 5, initial_labels={3: y[3]})
    with pytest.raises(ValueError, match=f"initial_labels has {1 - y[3]} for row 3"):
        run.run(X, y, 5, initial_labels={3: 1 - y[3]})
    with pytest.raises(ValueError, match="differs from the classes of the fitted model"):
        run.run(X, y, 5, classes=[0, 1, 2])


# --------------------------------------------------------------------------------------------- nothing twice


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_while_scoring(error):
    X, y = two_clouds(80)
    calls = []

    def scorer(model, rows, labels):
        calls.append(1)
        if len(calls) == 5:
            raise error
        return 0.5

    run = loop()
    with pytest.raises(error):
        run.run(X, y, 10, test=(X, y), scoring=scorer)
    assert run.stop_reason == "the run was interrupted"
    run.run(X, y, 10, test=(X, y), scoring=scorer)
    assert len({r["row"] for r in run.history}) == len(run.history) == run.estimator.n_iter_ == 15


def test_labels_that_the_baseline_knows_are_not_paid_for_again():
    X, y = two_clouds(200)
    notes = Notes(y)
    run = loop().run(X, notes, 40, classes=[0, 1], baseline="random")
    run.run(X, notes, 60, classes=[0, 1])
    assert len(set(notes.numbers)) == len(notes.numbers)


def test_seeds_interrupted_are_completed():
    X, y = two_clouds(80)
    run = loop()
    learn, calls = run.estimator.partial_fit, []

    def partial_fit(*args, **options):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return learn(*args, **options)

    run.estimator.partial_fit = partial_fit
    with pytest.raises(KeyboardInterrupt):
        run.run(X, y, 5, initial_labels=5)
    run.run(X, y, 5, initial_labels=5)
    seeds = [r["label"] for r in run.history if r["chosen_by"] in ("initial", "journal")]
    assert (seeds.count(0), seeds.count(1)) == (5, 5)


def test_seeds_depend_on_the_seed():
    X, y = two_clouds(80)
    rows = [
        [r["row"] for r in loop(random_state=seed).run(X, y, 1, initial_labels=3).history[:6]]
        for seed in (0, 0, 1)
    ]
    assert rows[0] == rows[1] != rows[2]


def test_parts_ask_what_the_whole_asks_while_a_class_is_missing():
    random = np.random.RandomState(0)
    X = np.vstack([random.normal(at, 0.5, (60, 2)) for at in (0, 3)])
    y = np.repeat([0, 1], 60)
    whole = loop().run(X, y, 30, classes=[0, 1, 2])
    parts = loop()
    for _ in range(6):
        parts.run(X, y, 5, classes=[0, 1, 2])
    assert parts.history == whole.history
    whys = [r["chosen_by"] for r in whole.history]
    counts = [whys.count(f"cold start ({kind})") for kind in ("farthest", "random")]
    assert 10 <= sum(counts) <= 20  # every second one
    assert min(counts) >= 5  # by turns
    assert 10 <= whys.count("Margin") <= 20


# -------------------------------------------------------------------------------- what is told, what is noted


class Told(stopping.StoppingRule):
    """A stopping rule that only takes notes."""

    def __init__(self):
        self.events = []

    def _reading(self, event):
        self.events.append(event)

    def _verdict(self, readings):
        return stopping.Verdict(len(self.events) == 12, "twelve", {})

    def _draw(self, ax, readings):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("strategy", "batch_size"), [(query.Margin(random_state=0), 4), (query.Random(0), 1)]
)
def test_what_a_stopping_rule_is_told(strategy, batch_size):
    X, y = two_clouds(120)
    told = Told()
    run = loop(strategy=strategy, stopping=told).run(
        X, y, initial_labels=2, batch_size=batch_size, test=(X, y)
    )
    assert run.stop_reason == "twelve"
    assert [event.n_labels for event in told.events] == list(range(1, len(run.history) + 1))
    assert [event.score for event in told.events] == [r["score"] for r in run.history]
    assert [event.n_support for event in told.events] == [r["n_support"] for r in run.history]
    by_strategy = told.events[4:]
    if batch_size == 1:
        assert all(event.margin is None for event in told.events)
        assert [event.estimate for event in by_strategy] == [float(r["correct"]) for r in run.history[4:]]
    else:
        assert [event.margin is None for event in by_strategy].count(False) == len(by_strategy) // 4
        assert all(event.estimate is None for event in told.events)


def test_a_budget_that_is_used_up_asks_nothing_more(tmp_path):
    X, y = two_clouds(80)
    run = loop(stopping=stopping.LabelBudget(15)).run(X, y, journal=tmp_path / "j")
    assert len(run.run(X, y).history) == 15
    again = loop(stopping=stopping.LabelBudget(15)).run(X, y, journal=tmp_path / "j")
    assert len(again.history) == 15
    assert "budget of 15" in again.stop_reason


def test_what_stands_in_the_history():
    X, y = two_clouds(120)
    twin = LASVM(C=5, gamma=0.5)
    twin._keeps_rows = True
    run = loop().run(X, y, 60)
    for number, record in enumerate(run.history):
        row = X[[record["row"]]]
        if number:
            assert record["correct"] == (twin.predict(row)[0] == record["label"])
            assert record["margin"] == pytest.approx(abs(twin.decision_function(row)[0]), abs=1e-9)
        twin.partial_fit(row, [record["label"]], classes=[0, 1]).finish()
        assert record["n_support"] == len(twin.support_)
        assert type(record["label"]) is int


def test_gamma_comes_from_the_pool():
    X, y = two_clouds(300)
    run = loop(LASVM()).run(X, y, 10)
    assert run.estimator._machine.spec["gamma"] == pytest.approx(1 / (4 * X.var()))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # GaussianNB divides by a variance of 0
def test_a_model_that_cannot_score_yet():
    X, y = two_clouds(200, apart=2.0)
    run = loop(GaussianNB()).run(X, y, 40)
    assert len(run.history) == 40
    assert run.estimator.score(X, y) > 0.9


@pytest.mark.parametrize("batch_size", [1, 20])
def test_the_margin_is_exhausted_in_batches_too(batch_size):
    X, y = two_clouds(400, apart=2.0)
    rule = stopping.MarginExhausted()
    run = loop(strategy=query.Margin(None), stopping=rule).run(X, y, batch_size=batch_size, initial_labels=2)
    left = np.delete(np.arange(400), [r["row"] for r in run.history])
    inside = np.abs(run.estimator.decision_function(X[left])) < 0.9
    assert inside.sum() <= 2


def test_with_more_classes_the_margin_is_wider():
    rule = stopping.MarginExhausted()
    rule.update(stopping.Progress(5, margin=1.5, n_classes=3))
    assert not rule.verdict().stop
    rule.update(stopping.Progress(6, margin=2.0, n_classes=3))
    assert rule.verdict().stop


# ----------------------------------------------------------------------------- oracles and query strategies


class Places:
    """A strategy that selects given rows."""

    def __init__(self, *places):
        self.places = np.array(places)

    def query(self, model, X, n=1):
        return self.places


@pytest.mark.parametrize("place", [-1, 10**6])
def test_a_strategy_that_leaves_the_pool(place):
    X, y = two_clouds(80)
    with pytest.raises(ValueError, match="but the pool has 76 rows left"):
        loop(strategy=Places(place)).run(X, y, initial_labels=2)


def test_a_strategy_that_wants_too_much_or_nothing():
    X, y = two_clouds(80)
    assert len(loop(strategy=Places(0, 1, 2)).run(X, y, 5, initial_labels=2).history) == 9
    run = loop(strategy=Places()).run(X, y, 5, initial_labels=2)
    assert run.stop_reason == "the query strategy selects none of the 76 remaining rows"


@pytest.mark.parametrize(
    "answer",
    [lambda y: y, lambda y: iter(y.tolist()), lambda y: map(int, y), lambda y: np.array(y[0]), list],
)
def test_answers_of_any_form(answer):
    X, y = two_clouds(60)
    assert len(loop().run(X, lambda n, rows: answer(y[n]), 12, classes=[0, 1]).history) == 12


@pytest.mark.parametrize(
    "labels",
    [
        [None if i % 3 == 0 else "ab"[i % 2] for i in range(60)],
        [float("nan") if i % 3 == 0 else "ab"[i % 2] for i in range(60)],
        pd.Series([pd.NA if i % 3 == 0 else "ab"[i % 2] for i in range(60)], dtype="string"),
    ],
)
def test_missing_labels_among_strings(labels):
    X, _ = two_clouds(60)
    run = loop().run(X, labels)
    assert set(run.history.label_counts()) == {"a", "b"}
    assert len(run.history) == 40


def test_a_name_of_a_scorer():
    X, y = two_clouds(60)
    run = loop().run(X, y, 10, test=(X, y), scoring="balanced_accuracy")
    assert 0 <= run.history[-1]["score"] <= 1


def test_more_classes_than_the_scores_tell():
    class Odd:
        classes_ = np.array([0, 1, 2])

        def decision_function(self, X):
            return np.zeros(len(X))

    X, _ = three_clouds(20)
    with pytest.raises(ValueError, match="3 classes and one column"):
        query.Margin().query(Odd(), X)


@pytest.mark.parametrize(("labels", "finishes"), [(150, 150), (420, 420)])
def test_the_model_is_finished_after_every_label(labels, finishes, monkeypatch):
    calls, finish = [], LASVM.finish
    monkeypatch.setattr(LASVM, "finish", lambda self: calls.append(1) or finish(self))
    X, y = two_clouds(450)
    loop(strategy=query.Random(0)).run(X, y, labels)
    assert len(calls) == finishes


def test_many_labels_are_finished_once_per_hundredth(monkeypatch):
    calls, finish = [], LASVM.finish
    monkeypatch.setattr(LASVM, "finish", lambda self: calls.append(1) or finish(self))
    monkeypatch.setattr("everlearn.query._loop._EVERY_LABEL", 100)
    X, y = two_clouds(450)
    loop(strategy=query.Random(0)).run(X, y, 400)
    assert len(calls) == 100 + 99 + 50 + 34 + 1  # each up to 199, then every second, third and fourth
