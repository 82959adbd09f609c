"""ActiveLearner: how it begins, asks in batches, runs a baseline beside it, and ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from everlearn import LASVM, LASVMG, ActiveLearner, query
from property_helpers import property_test
from query.query_helpers import Notes
from query.test_active import loop
from svm.lasvm_helpers import three_clouds, two_clouds

# ---------------------------------------------------------------------------------------------------- batches


class CountedMargin(query.Margin):
    """Margin that counts how often it is asked."""

    calls = 0

    def query(self, *args, **options):
        type(self).calls += 1
        return super().query(*args, **options)


def test_a_batch_is_chosen_and_asked_at_once_and_learned_one_by_one():
    X, y = two_clouds(300)
    notes = Notes(y)
    CountedMargin.calls = 0
    run = loop(strategy=CountedMargin(random_state=0)).run(
        X,
        notes,
        62,
        batch_size=10,
        classes=[0, 1],
        initial_labels={0: y[0], 1: 1 - y[0] if y[1] == y[0] else y[1]},
    )
    asked = [record["row"] for record in run.history if record["chosen_by"] == "CountedMargin"]
    assert notes.numbers == asked
    assert len(asked) == 62
    assert notes.calls == CountedMargin.calls == 7  # six of ten, one of two
    assert [len(rows) for rows in notes.rows] == [10] * 6 + [2]
    assert [record["n_labels"] for record in run.history] == list(range(1, 65))
    assert run.estimator.n_iter_ == 64


def test_of_a_batch_with_a_bad_answer_the_others_count():
    X, y = two_clouds(100)
    asked = []

    def oracle(numbers, rows):
        asked.append(numbers)
        labels = y[numbers].astype(object)
        if len(asked) == 2:
            labels[3] = 7
        return labels

    run = loop()
    with pytest.raises(ValueError, match=r"The oracle answered 7 for row \d+.*\[0, 1\]"):
        run.run(X, oracle, 20, batch_size=10, classes=[0, 1])
    assert [r["row"] for r in run.history] == [*asked[0], *asked[1][:3], *asked[1][4:]]
    run.run(X, oracle, 10, batch_size=10, classes=[0, 1])
    assert len({r["row"] for r in run.history}) == len(run.history) == 29


@pytest.mark.parametrize("answer", [[0], [0, 1, 0], 1])
def test_an_answer_of_the_wrong_length(answer):
    X, _ = two_clouds(50)
    run = loop()
    with pytest.raises(ValueError, match=r"returned \d labels? for 2 rows"):
        run.run(X, lambda numbers, rows: answer, batch_size=2, classes=[0, 1])
    assert run.history == []


# ------------------------------------------------------------------------------------------------ cold start


def far_and_rare(seed=0):
    """A thousand rows in one cloud, and five of another class in another."""
    random = np.random.RandomState(seed)
    X = np.vstack([random.normal(0, 1, (1000, 3)), random.normal(9, 0.3, (5, 3))])
    order = random.permutation(len(X))
    return X[order], (order >= 1000).astype(int)


def test_spread_finds_a_rare_class_sooner():
    found = {"farthest": [], "random": []}
    for seed in range(5):
        X, y = far_and_rare(seed)
        for cold_start, first in found.items():
            run = loop(random_state=seed).run(X, y, max_labels=300, cold_start=cold_start)
            whys = [r["chosen_by"] for r in run.history if r["chosen_by"].startswith("cold")]
            assert set(whys) == {f"cold start ({cold_start})"}
            first.append(len(whys))
    assert max(found["farthest"]) <= 5
    assert np.median(found["random"]) > 30


def test_spread_goes_through_equal_rows_too():
    X, y = np.zeros((40, 2)), np.zeros(40, int)
    y[7] = 1
    run = loop().run(X, y)
    assert sorted(r["row"] for r in run.history) == list(range(40))
    assert len(run.estimator.predict(X)) == 40


def test_a_class_that_was_not_seen_is_looked_for():
    random = np.random.RandomState(0)
    X = np.vstack([random.normal(at, 0.5, (n, 2)) for at, n in ((0, 300), (3, 300), (12, 3))])
    y = np.repeat([0, 1, 2], [300, 300, 3])
    run = loop().run(X, y, max_labels=30, initial_labels={0: 0, 300: 1})
    assert run.history.label_counts()[2] >= 1
    whys = {r["chosen_by"] for r in run.history}
    assert whys == {"initial", "cold start (farthest)", "Margin"}


def test_spread_needs_numbers():
    X = np.array([["a", "b"]] * 5, dtype=object)
    with pytest.raises(ValueError, match="cold_start='random'"):
        loop(SGDClassifier()).run(X, [0, 1, 0, 1, 0], cold_start="farthest")


# ----------------------------------------------------------------------------------------------------- seeds


def test_seeds_of_each_class_are_learned_first():
    X, y = three_clouds(90)
    run = loop().run(X, y, 10, initial_labels=3)
    assert [r["chosen_by"] for r in run.history] == ["initial"] * 9 + ["Margin"] * 10
    assert {
        label: list(y[[r["row"] for r in run.history[:9]]]).count(label) for label in set(y)
    } == dict.fromkeys(set(y), 3)
    run.run(X, y, 5, initial_labels=3)
    assert len(run.history) == 24


def test_seeds_that_are_known_cost_no_question():
    X, y = two_clouds(60)
    notes = Notes(y)
    seeds = {3: y[3], 5: y[5], 8: y[8], 9: y[9]}
    run = loop().run(X, notes, 6, initial_labels=seeds, classes=[0, 1])
    assert notes.calls == 6
    assert not set(notes.numbers) & set(seeds)
    assert [r["row"] for r in run.history[:4]] == [3, 5, 8, 9]


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        (2, "dict of row numbers and labels"),
        ({60: 0}, r"row numbers that are not in the pool: \[60\]"),
        ({"a": 0}, "row numbers that are not in the pool"),
        ({1: 5}, "answered 5 for row 1"),
        (0, "initial_labels must be"),
    ],
)
def test_bad_seeds(seeds, words):
    X, y = two_clouds(60)
    run = loop()
    with pytest.raises(ValueError, match=words):
        run.run(X, lambda numbers, rows: y[numbers], initial_labels=seeds, classes=[0, 1])
    assert run.history == []


def test_a_model_that_knows_something_begins_with_the_strategy():
    X, y = two_clouds(200)
    model = LASVM(C=5, gamma=0.5).fit(X[:50], y[:50])
    run = loop(model).run(X[50:], y[50:], 20)
    assert {r["chosen_by"] for r in run.history} == {"Margin"}
    assert run.estimator is model


# --------------------------------------------------------------------------------------------------- baseline


def test_a_baseline_runs_beside_it():
    X, y = two_clouds(300)
    notes = Notes(y)
    run = loop().run(X, notes, 40, classes=[0, 1], baseline="random", test=(X, y), score_every=10)
    mine, theirs = run.history, run.baseline.history
    assert len(mine) == len(theirs) == 40
    assert run.baseline.estimator is not run.estimator
    assert {r["chosen_by"] for r in theirs} == {"Random"}  # a fair sample from the first question on
    assert run.baseline.estimator.n_iter_ == 40
    assert len(notes.numbers) == len(set(notes.numbers))  # a label is paid for once
    assert set(notes.numbers) == {r["row"] for r in [*mine, *theirs]}
    alone = loop().run(X, y, 40, test=(X, y), score_every=10)
    assert alone.history == mine
    run.run(X, notes, 10, classes=[0, 1], baseline="random")
    assert len(theirs) == 50


@pytest.mark.parametrize(("strategy", "words"), [("margin", "baseline must be"), (3, "baseline must be")])
def test_a_baseline_is_a_strategy(strategy, words):
    X, y = two_clouds(50)
    with pytest.raises(TypeError, match=words):
        loop().run(X, y, baseline=strategy)


def test_a_baseline_begins_with_the_first_run():
    X, y = two_clouds(50)
    run = loop().run(X, y, 5)
    with pytest.raises(ValueError, match="after 5 labels"):
        run.run(X, y, baseline=query.Random())


# ------------------------------------------------------------------------------------------ margin and ending


@pytest.mark.parametrize("model", [LASVM(C=0.7, gamma=0.5), LASVMG(C=0.7, gamma=0.5)], ids=repr)
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_how_far_free_support_vectors_reach(model, data):
    X, y = data(150, seed=1)
    model = clone(model).fit(X, y)
    alpha = np.abs(model.dual_coef_)
    free = ((alpha > 0) & (alpha < 0.7)).any(axis=0)
    assert free.any()
    assert not free.all()
    f = model.decision_function(model.support_vectors_[free])
    ordered = np.sort(f, axis=1) if f.ndim == 2 else None
    expected = np.abs(f).max() if ordered is None else (ordered[:, -1] - ordered[:, -2]).max()
    assert model.free_margin() == pytest.approx(expected, rel=1e-5)


def test_no_free_support_vectors():
    model = LASVM(gamma=0.5).partial_fit(np.zeros((1, 2)), [0], classes=[0, 1])
    assert model.free_margin() is None


def test_asking_ends_when_the_margin_is_exhausted():
    X, y = two_clouds(400, apart=3.0)
    run = loop(strategy=query.Margin(None), stopping=query.stopping.MarginExhausted()).run(X, y)
    assert len(run.history) < 200
    assert "outside the margin" in run.stop_reason
    last = run.history[-1]
    assert last["margin"] >= last["free_margin"]
    left = np.delete(np.arange(400), [r["row"] for r in run.history])
    assert np.abs(run.estimator.decision_function(X[left])).min() > 0.9


def test_the_oracle_may_end_it():
    X, y = two_clouds(50)

    def oracle(numbers, rows):
        if len(run.history) == 6:
            raise query.StopAsking("tea time")
        return y[numbers]

    run = loop()
    assert run.run(X, oracle, classes=[0, 1]) is run
    assert run.stop_reason == "tea time"
    assert len(run.history) == 6


@pytest.mark.parametrize("missing", [None, np.nan])
def test_rows_without_a_label_in_an_array(missing):
    X, y = two_clouds(40)
    labels = y.astype(object if missing is None else float)
    labels[::4] = missing
    run = loop().run(X, labels)
    assert len(run.history) == 30
    assert run.stop_reason == "the oracle has no more labels"
    assert {r["row"] % 4 for r in run.history} == {1, 2, 3}


def test_an_array_of_one_class_is_refused():
    X, _ = two_clouds(20)
    with pytest.raises(ValueError, match="only one class, 0"):
        loop().run(X, np.zeros(20, int))
    assert len(loop().run(X, np.zeros(20, int), classes=[0, 1]).history) == 20


def test_a_pool_smaller_than_the_pool_size():
    X, y = two_clouds(12)
    run = loop(strategy=query.Margin(pool_size=59, random_state=0)).run(X, y)
    assert sorted(r["row"] for r in run.history) == list(range(12))


@property_test(30)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 9), min_size=1, max_size=6),
    st.sampled_from([1, 2, 5]),
    st.sampled_from(["farthest", "random"]),
    st.floats(0, 0.5),
)
def test_whatever_the_parts_each_label_counts_once(seed, parts, batch_size, cold_start, ignorance):
    """Runs of any lengths, with an oracle that does not know everything: as many labels as rows learned."""
    X, y = two_clouds(40, seed=seed % 97)
    knows = np.random.RandomState(seed).random_sample(40) >= ignorance

    def oracle(numbers, rows):
        return [y[number] if knows[number] else None for number in numbers]

    run = ActiveLearner(LASVM(C=5, gamma=0.5), query.Margin(7, random_state=seed), random_state=seed)
    for labels in parts:
        run.run(X, oracle, labels, classes=[0, 1], batch_size=batch_size, cold_start=cold_start)
    rows = [r["row"] for r in run.history]
    assert len(set(rows)) == len(rows) == min(sum(parts), knows.sum())
    assert all(r["label"] == y[r["row"]] for r in run.history)
    if rows:
        assert run.estimator.n_iter_ == len(rows)
