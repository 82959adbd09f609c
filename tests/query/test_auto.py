"""Auto: margin with a full search or a draw, exploring and asking again in a loop, reasons in words."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import pairwise_distances
from sklearn.naive_bayes import GaussianNB

from everlearn import LASVM, ActiveLearner, query
from everlearn.query import Auto, Margin
from query.query_helpers import Given, column, three_class_model, two_class_model
from svm.lasvm_helpers import three_clouds, two_clouds


def gaps(model, X):
    """The distance from the boundary, as a plain reading has it."""
    f = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    if f.ndim == 1:
        return np.abs(f)
    ordered = np.sort(f, axis=1)
    return ordered[:, -1] - ordered[:, -2]


# -------------------------------------------------------------------------------------------- without a loop


@pytest.mark.parametrize("make", [two_class_model, three_class_model])
def test_a_small_pool_is_searched_in_full(make):
    model, X = make()
    for draw in range(5):
        assert Auto().query(model, X, draw=draw)[0] == gaps(model, X).argmin()
    np.testing.assert_array_equal(Auto().query(model, X, 4), np.sort(np.argsort(gaps(model, X))[:4]))


def test_probabilities_will_do():
    X, y = three_clouds(120)
    model = GaussianNB().fit(X[:60], y[:60])
    assert Auto().query(model, X[60:])[0] == gaps(model, X[60:]).argmin()


@pytest.mark.parametrize("draw", [0, 1, 7])
def test_of_a_large_pool_rows_are_drawn(draw):
    X = column(*np.random.RandomState(0).randn(400))
    small, twin = Auto(max_full_search=399, random_state=3), Margin(59, random_state=3)
    np.testing.assert_array_equal(small.query(Given(), X, draw=draw), twin.query(Given(), X, draw=draw))
    assert Auto(max_full_search=400, random_state=3).query(Given(), X, draw=draw)[0] == np.abs(X).argmin()


def test_a_batch_draws_more_rows():
    X = column(*np.random.RandomState(0).randn(5000))
    auto = Auto(pool_size=10, max_full_search=200, random_state=0)
    for n, drawn in ((1, 10), (5, 50), (50, 200), (300, 300)):
        assert len(auto.query(Given(), X, n)) == n
        best = auto.query(Given(), X, n)
        twin = Margin(drawn, random_state=0).query(Given(), X, n)
        np.testing.assert_array_equal(best, twin)
    assert len(auto.query(Given(), X, None)) == 10


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("pool_size", 0),
        ("max_full_search", -1),
        ("explore_every", 1),
        ("reask_every", 0),
        ("explore_every", 2.5),
    ],
)
def test_bad_parameters(name, bad):
    with pytest.raises(ValueError, match=f"'{name}' of Auto must be"):
        Auto(**{name: bad}).query(Given(), column(0.0, 1.0))


# ------------------------------------------------------------------------------------------------- in a loop


def loop(model=None, strategy=None, **options):
    model = LASVM(C=5, gamma=0.5) if model is None else model
    return ActiveLearner(model, strategy, **{"random_state": 0} | options)


def test_it_is_the_default():
    assert repr(ActiveLearner().query_strategy) == repr(Auto())
    assert isinstance(ActiveLearner().estimator, LASVM)


@pytest.mark.parametrize("model", [LASVM(C=5, gamma=0.5), SGDClassifier(random_state=0)], ids=repr)
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_what_is_asked_and_why(model, data):
    """Every query against a plain reading: nearest to the boundary, every tenth furthest from all asked."""
    X, y = data(150)
    X[::15] *= 4  # some far from all others
    names = np.unique(y)
    run = loop(clone(model)).start(X, classes=names, initial_labels={row: y[row] for row in range(20)})
    asked = [record["row"] for record in run.history]
    for _ in range(45):
        left = np.setdiff1d(np.arange(150), asked)
        away = pairwise_distances(X[left], X[asked]).min(axis=1)
        (row,) = run.ask()
        place = int(np.flatnonzero(left == row)[0])
        reason = run.pending[row]
        if (len(asked) + 1) % 10 == 0 and away.max() > 2.25 * np.median(away):
            assert away[place] == pytest.approx(away.max())
            assert reason.startswith("far from every row asked so far (distance ")
        else:
            assert gaps(run.estimator, X[left])[place] == pytest.approx(
                gaps(run.estimator, X[left]).min(), abs=1e-9
            )
            assert reason.startswith("near the boundary between ")
        run.tell(row, y[row])
        asked.append(row)
    assert [r["chosen_by"] == "explore" for r in run.history].count(True) >= 1
    assert all(r["reason"] for r in run.history)


def test_a_reason_names_the_two_classes():
    X, y = three_clouds(150)
    run = loop().run(X, y, 40)
    model = LASVM(C=5, gamma=0.5)
    for record in run.history:
        if record["chosen_by"] == "Auto":
            f = np.atleast_1d(model.decision_function(X[[record["row"]]])[0])
            first, second = sorted(np.argsort(f)[-2:])
            words = f"near the boundary between {model.classes_[first]} and {model.classes_[second]} (margin "
            assert record["reason"].startswith(words)
        elif record["chosen_by"] != "explore":
            assert "drawn at random" in record["reason"] or "far from every row" in record["reason"]
        model._keeps_rows = True
        model.partial_fit(X[[record["row"]]], [record["label"]], classes=np.unique(y)).finish()


def test_few_labels_go_half_to_the_cold_start():
    X, y = two_clouds(200)
    seeds = {0: y[0], 1: y[1], 2: y[2], 3: y[3]}
    assert len(set(seeds.values())) == 2
    whys = [r["chosen_by"] for r in loop().run(X, y, 40, initial_labels=seeds).history]
    begun = [why.startswith("cold start") for why in whys]
    assert begun[4:20] == [False, True] * 8
    assert not any(begun[20:])
    assert len({why for why in whys if why.startswith("cold start")}) == 2
    told = loop().start(X, classes=[0, 1])
    told.tell(np.arange(25), y[:25])  # labels that come by themselves count
    rows = told.ask()
    assert told.pending[rows[0]].startswith("near the boundary")
    known = loop(LASVM(C=5, gamma=0.5).fit(X[:50], y[:50])).run(X[50:], y[50:], 15)
    assert {r["chosen_by"] for r in known.history} <= {"Auto", "explore"}


def test_no_exploring_where_all_rows_are_equally_far():
    X = np.random.RandomState(0).randn(300, 60)
    run = loop(LASVM(gamma=1 / 60)).run(X, (X[:, 0] > 0).astype(int), 100)
    assert "explore" not in {r["chosen_by"] for r in run.history}


def test_no_exploring_on_request():
    X, y = two_clouds(100)
    run = loop(strategy=Auto(explore_every=None)).run(X, y, 60)
    assert "explore" not in {r["chosen_by"] for r in run.history}


def test_exploring_finds_a_cluster_about_which_the_model_is_wrong():
    """A second cluster of one class lies behind the other class: the boundary never leads there."""
    random = np.random.RandomState(0)
    X = np.vstack([random.normal(at, 0.3, (n, 2)) for at, n in ((0, 200), (2, 200), (9, 100))])
    y = np.repeat([0, 1, 0], [200, 200, 100])
    seeds = {int(row): int(y[row]) for row in (*range(10), *range(200, 210))}
    scores = {}
    for every in (10, None):
        run = loop(LASVM(C=100, gamma=0.01), Auto(explore_every=every)).run(X, y, 26, initial_labels=seeds)
        scores[every] = run.estimator.score(X, y)
    assert scores[10] > 0.98
    assert scores[None] < 0.85


def test_the_loop_seeds_the_strategies():
    X, y = two_clouds(300)
    for strategy in (
        Auto(max_full_search=0),
        Margin(),
        query.Random(),
        query.AutoMargin(),
        query.Submodular(),
    ):
        runs = [
            [r["row"] for r in loop(strategy=strategy, random_state=seed).run(X, y, 40).history]
            for seed in (0, 0, 1)
        ]
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]
        assert strategy.random_state is None


def test_parts_ask_what_the_whole_asks():
    X, y = two_clouds(200)
    whole = loop().run(X, y, 60)
    parts = loop()
    for count in (7, 20, 1, 32):
        parts.run(X, y, count)
    assert parts.history == whole.history


# ------------------------------------------------------------------------------------------------ cold start


@pytest.mark.parametrize("features", [2, 10])
def test_a_class_of_a_seventh_in_the_middle_is_found(features):
    """Rows far from all others never are of it: asking about these alone misses it for long."""
    found = {"alternate": [], "farthest": []}
    for seed in range(12):
        X = np.random.RandomState(seed).randn(800, features)
        y = (np.linalg.norm(X, axis=1) < (0.55 if features == 2 else 2.35)).astype(int)
        for cold_start, first in found.items():
            run = loop(random_state=seed).run(X, y, 60, cold_start=cold_start)
            first.append(next((r["n_labels"] for r in run.history if r["label"] == 1), 61))
    assert max(found["alternate"]) <= 50
    assert np.mean(found["alternate"]) < np.mean(found["farthest"])


def test_a_small_distant_cluster_is_found_at_once():
    for seed in range(8):
        random = np.random.RandomState(seed)
        X = np.vstack([random.normal(0, 1, (1000, 3)), random.normal(6, 0.3, (5, 3))])
        y = np.repeat([0, 1], [1000, 5])
        run = loop(random_state=seed).run(X, y, 10)
        assert 1 in [r["label"] for r in run.history[:4]]


def test_rows_without_distances_are_drawn_at_random():
    class Anything(SGDClassifier):
        """Learns from strings by their length."""

        def partial_fit(self, X, y, classes=None):
            return super().partial_fit(np.vectorize(len)(X), y, classes=classes)

        def decision_function(self, X):
            return super().decision_function(np.vectorize(len)(X))

    X = np.array([["a" * (i % 7)] for i in range(60)], dtype=object)
    run = loop(Anything(random_state=0)).run(X, (np.arange(60) % 7 > 3).astype(int), 30)
    assert len(run.history) == 30
    assert "explore" not in {r["chosen_by"] for r in run.history}


# ---------------------------------------------------------------------------------------------- asking again


def test_a_wrong_answer_is_asked_about_again():
    X, y = two_clouds(200, apart=3.0)
    wrong, counts = set(), {}

    def oracle(numbers, rows):
        """Wrong about two rows, when it is asked about them for the first time."""
        answers = []
        for row in numbers.tolist():
            counts[row] = counts.get(row, 0) + 1
            mistaken = len(counts) in (15, 25) and counts[row] == 1
            wrong.update({row} if mistaken else ())
            answers.append(1 - y[row] if mistaken else y[row])
        return answers

    run = loop(LASVM(C=1, gamma=0.2), Auto(reask_every=5)).run(X, oracle, 100, classes=[0, 1])
    again = [r for r in run.history if r["chosen_by"] == "ask again"]
    assert wrong <= {r["row"] for r in again}
    assert all("asked again: the answer was" in r["reason"] for r in again)
    assert max(counts.values()) <= 3
    for row in wrong:  # two to one for the right answer
        answers = run.answers[row]
        assert answers[0] != y[row]
        assert answers[-1] == y[row]


def test_nothing_is_asked_again_by_default():
    X, y = two_clouds(100, apart=0.5)
    run = loop().run(X, y)
    rows = [r["row"] for r in run.history]
    assert len(set(rows)) == len(rows) == 100
