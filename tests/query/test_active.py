"""ActiveLearner: few labels, none lost, none read that was not asked for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from everlearn import LASVM, ActiveLearner, query
from everlearn.metrics import g_means
from query.query_helpers import Notes
from svm.lasvm_helpers import three_clouds, two_clouds


def loop(model=None, strategy=None, **options):
    model = LASVM(C=5, gamma=0.5) if model is None else model
    return ActiveLearner(model, strategy or query.Margin(random_state=0), **{"random_state": 0} | options)


def test_asking_beats_chance():
    X, digits = load_digits(return_X_y=True)
    X, y = X / 16, digits == 8
    scores = []
    for seed in range(5):
        run = loop(LASVM(C=10, gamma=0.1), query.Margin(random_state=seed), random_state=seed)
        run.run(X[:1200], y[:1200], max_labels=60, baseline="random")
        scores.append(
            [g_means(y[1200:], model.predict(X[1200:])) for model in (run.estimator, run.baseline.estimator)]
        )
    asked, drawn = np.mean(scores, axis=0)
    assert asked > 0.85
    assert asked > drawn + 0.05


@pytest.mark.parametrize(
    "strategy", [query.Random(0), query.Margin(), query.Margin(None), query.AutoMargin()], ids=repr
)
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_every_row_is_asked_about_once(strategy, data):
    X, y = data(60)
    run = loop(strategy=strategy).run(X, y)
    assert sorted(record["row"] for record in run.history) == list(range(60))
    assert [record["n_labels"] for record in run.history] == list(range(1, 61))
    assert all(record["label"] == y[record["row"]] for record in run.history)
    assert run.stop_reason == "the pool is used up"


def test_only_labels_asked_for_are_read():
    X, y = two_clouds(200)
    notes = Notes(y)
    run = loop().run(X, notes, max_labels=30, classes=[0, 1])
    assert notes.calls == 30
    np.testing.assert_array_equal(notes.numbers, [record["row"] for record in run.history])
    np.testing.assert_array_equal(np.vstack(notes.rows), X[notes.numbers])


def test_a_run_goes_on_where_it_stopped():
    X, y = two_clouds(200)
    whole = loop().run(X, y, max_labels=50)
    parts = loop()
    for _ in range(5):
        parts.run(X, y, max_labels=10)
    assert parts.history == whole.history
    assert parts.estimator.n_iter_ == 50
    np.testing.assert_array_equal(parts.estimator.decision_function(X), whole.estimator.decision_function(X))


def test_an_interruption_loses_no_label():
    X, y = two_clouds(200)
    answers = []

    def oracle(numbers, rows):
        if len(answers) == 7:
            answers.append(None)
            raise KeyboardInterrupt
        answers.append(numbers[0])
        return y[numbers]

    run = loop()
    with pytest.raises(KeyboardInterrupt):
        run.run(X, oracle, classes=[0, 1])
    assert [record["row"] for record in run.history] == answers[:7]
    run.run(X, oracle, max_labels=5, classes=[0, 1])
    assert len({record["row"] for record in run.history}) == run.estimator.n_iter_ == 12


def test_a_label_that_could_not_be_learned_is_learned_later():
    X, y = two_clouds(100)
    run = loop().run(X, y, max_labels=10)
    learn, run.estimator.partial_fit = run.estimator.partial_fit, None
    with pytest.raises(TypeError):
        run.run(X, y, max_labels=1)
    run.estimator.partial_fit = learn
    asked = []
    run.run(X, lambda numbers, rows: asked.append(numbers) or y[numbers], max_labels=1, classes=[0, 1])
    assert len(run.history) == 12
    assert run.history[10]["chosen_by"] == "journal"
    assert len(asked) == 1


@pytest.mark.parametrize(("again", "labels"), [(True, 40), (False, 30)])
def test_rows_that_the_oracle_does_not_know(again, labels):
    X, y = two_clouds(40)
    times = np.zeros(40, int)

    def oracle(numbers, rows):
        row = numbers[0]
        times[row] += 1
        return None if row % 4 == 0 and times[row] == 1 else y[row]

    run = loop().run(X, oracle, classes=[0, 1], reask_unknown=again)
    assert len(run.history) == labels
    assert times.max() == (2 if again else 1)


def test_an_oracle_that_knows_nothing():
    X, _ = two_clouds(20)
    run = loop().run(X, lambda numbers, rows: None, classes=[0, 1])
    assert run.history == []
    assert run.stop_reason == "the oracle has no more labels"


@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_the_model_is_the_svm_of_the_labels_given(data):
    X, y = data(400)
    run = loop(LASVM(C=5, gamma=0.5, tol=1e-4)).run(X, y, 150)
    rows = [record["row"] for record in run.history]
    names = np.unique(y)
    for number, name in enumerate(names) if len(names) > 2 else [(0, names[1])]:
        exact = SVC(C=5, gamma=0.5, tol=1e-6).fit(X[rows], y[rows] == name)
        found = run.estimator.decision_function(X)
        np.testing.assert_allclose(
            found if found.ndim == 1 else found[:, number], exact.decision_function(X), atol=2e-3
        )


def test_a_stopping_rule_says_why():
    X, y = two_clouds(400, apart=3.0)
    run = loop(stopping=query.stopping.SupportSaturation(n_iter_no_change=20)).run(X, y)
    assert len(run.history) < 400
    assert "support vectors" in run.stop_reason
    budget = loop(stopping=query.stopping.LabelBudget(15)).run(X, y)
    assert len(budget.history) == 15


def test_scores_of_every_step():
    X, y = two_clouds(300)
    run = loop().run(X[:200], y[:200], max_labels=20, test=(X[200:], y[200:]))
    assert run.history[-1]["score"] == run.estimator.score(X[200:], y[200:])
    counted = loop().run(X[:200], y[:200], max_labels=5, test=(X, y), scoring=lambda model, X, y: 0.25)
    assert [record["score"] for record in counted.history] == [0.25] * 5


def test_other_models_and_sparse_rows():
    X, y = two_clouds(200)
    other = loop(SGDClassifier(random_state=0)).run(X, y, max_labels=20)
    assert other.history[-1]["n_support"] is None
    dense, thin = loop().run(X, y, max_labels=40), loop().run(sparse.csr_matrix(X), y, max_labels=40)
    assert [record["row"] for record in dense.history] == [record["row"] for record in thin.history]


def test_a_pool_of_one_class():
    X, _ = two_clouds(30)
    run = loop().run(X, lambda numbers, rows: 1, classes=[0, 1])
    assert len(run.history) == 30
    assert set(run.estimator.predict(X)) == {1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"max_labels": 0}, "max_labels must be"),
        ({"reask_unknown": "maybe"}, "reask_unknown must be"),
        ({"oracle": [0, 1]}, "one label for each of the 50 rows"),
        ({"oracle": lambda numbers, rows: 0}, "classes is required"),
        ({"oracle": lambda numbers, rows: 7, "classes": [0, 1]}, "not one of the classes"),
        ({"X": np.zeros((0, 4))}, "no rows"),
    ],
)
def test_bad_input(change, words):
    X, y = two_clouds(50)
    run = loop()
    with pytest.raises(ValueError, match=words):
        run.run(**{"X": X, "oracle": y} | change)
    assert run.history == []
