"""Which row `fit` takes next: what a `selection` may read, and its benefit."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from everlearn import LASVM
from reference.lasvm import select
from svm.lasvm_helpers import assert_same, learned, three_clouds, two_clouds

SELECTIONS = ["random", "gradient", "active", "autoactive"]


class Recorder(np.random.RandomState):
    """Remembers the order in which `fit` shuffled the rows."""

    def permutation(self, rows):
        self.order = super().permutation(rows)
        return self.order


def seeds_first(X, y, random_state):
    """The same rows, so arranged that after the shuffle of `fit` the seeds come first.

    Which rows are the first five of a class is for labels to say, and must not be mistaken for selection.
    """
    recorder = Recorder(random_state)
    LASVM(random_state=recorder).fit(X, y)
    seeds = np.concatenate([np.flatnonzero(y == label)[:5] for label in np.unique(y)])
    visits = np.concatenate([seeds, np.setdiff1d(np.arange(len(y)), seeds)])
    arranged = np.empty(len(y), dtype=int)
    arranged[recorder.order] = visits
    return X[arranged], y[arranged]


@pytest.fixture
def left(monkeypatch):
    """The rows that each call for selected rows leaves."""
    remaining = []
    learn_selected = LASVM._learn_selected

    def watched(*args):
        remaining.append(learn_selected(*args))
        return remaining[-1]

    monkeypatch.setattr(LASVM, "_learn_selected", watched)
    return remaining


def rows_whose_label_matters(X, y, others, **options):
    """Rows whose label, changed alone, changes what is learned."""
    plain = learned(LASVM(**options).fit(X, y))
    del plain["labels"]
    matters = []
    for row in range(len(y)):
        poisoned = y.copy()
        poisoned[row] = others[y[row]]
        state = learned(LASVM(**options).fit(X, poisoned))
        del state["labels"]
        if any(not np.array_equal(state[key], plain[key]) for key in plain):
            matters.append(row)
    return matters


@pytest.mark.parametrize("selection", ["active", "autoactive"])
@pytest.mark.parametrize("foreign", [False, True])
def test_active_selection_reads_no_label_of_a_row_that_it_does_not_take(selection, foreign, left):
    X, y = seeds_first(*two_clouds(150), 0)
    options = {"selection": selection, "max_iter": 40, "pool_size": 20, "random_state": 0, "gamma": 0.3}
    if foreign:
        X = X @ X.T
        options |= {"kernel": "precomputed"}
    model = LASVM(**options).fit(X, y)
    assert len(left[0]) == 150 - 40
    poisoned = y.copy()
    poisoned[left[0]] = 1 - y[left[0]]
    other = LASVM(**options).fit(X, poisoned)
    assert_same(learned(other), learned(model))
    assert set(model.support_).isdisjoint(left[0])


def test_as_many_labels_matter_as_rows_are_taken():
    X, y = seeds_first(*two_clouds(150), 0)
    options = {"max_iter": 40, "pool_size": 20, "random_state": 0, "gamma": 0.3, "finishing": None}
    for selection in ("active", "autoactive"):
        assert 20 < len(rows_whose_label_matters(X, y, [1, 0], selection=selection, **options)) <= 40
    # This one reads the labels of its candidates, so that the count above can fail.
    assert len(rows_whose_label_matters(X, y, [1, 0], selection="gradient", **options)) > 60
    X, y = three_clouds(120)
    X, y = seeds_first(X, np.unique(y, return_inverse=True)[1], 0)
    assert 20 < len(rows_whose_label_matters(X, y, [1, 2, 0], selection="active", **options)) <= 40


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("data", [two_clouds, three_clouds])
def test_every_selection_takes_every_row_once(selection, data):
    X, y = data()
    model = LASVM(selection=selection, random_state=0).fit(X, y)
    assert model.n_iter_ == len(y)
    np.testing.assert_array_equal(X[model.support_], model.support_vectors_)
    assert model.score(X, y) > 0.8
    assert_same(learned(model), learned(LASVM(selection=selection, random_state=0).fit(X, y)))
    other = LASVM(selection=selection, random_state=1).fit(X, y)
    assert not np.array_equal(model.dual_coef_, other.dual_coef_)


@pytest.mark.parametrize("selection", SELECTIONS[1:])
def test_epochs_and_selections_together(selection):
    X, y = two_clouds()
    model = LASVM(selection=selection, epochs=4, gamma=0.3, random_state=0).fit(X, y)
    exact = LASVM(epochs=4, gamma=0.3, random_state=0).fit(X, y)
    assert model.n_iter_ == 800
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), rtol=0, atol=0.01)


@pytest.mark.parametrize("selection", ["active", "autoactive"])
def test_few_labels_suffice_on_an_easy_set(selection):
    X, y = load_digits(return_X_y=True)
    X, y = X / 16, y == 0
    wanted = LASVM(C=10, random_state=0).fit(X, y).score(X, y) - 0.005
    scores = {}
    for tried in ("random", selection):
        models = [
            LASVM(C=10, gamma=0.05, selection=tried, max_iter=60, random_state=seed).fit(X, y)
            for seed in range(5)
        ]
        scores[tried] = np.mean([model.score(X, y) for model in models])
        assert all(model.n_iter_ == 60 for model in models)
    assert scores[selection] >= wanted
    assert scores[selection] > scores["random"] + 0.003


@pytest.mark.parametrize("selection", ["gradient", "active"])
@pytest.mark.parametrize("foreign", [False, True])
def test_a_pool_of_all_the_rest_takes_the_best_row_of_all(selection, foreign, left):
    X, y = two_clouds(100)
    rows, kernel = (X @ X.T, "precomputed") if foreign else (X, "linear")
    options = {
        "selection": selection,
        "pool_size": 1000,
        "kernel": kernel,
        "random_state": 0,
        "finishing": None,
    }
    rest = np.setdiff1d(np.arange(100), learned(LASVM(max_iter=10, **options).fit(rows, y))["ids"])
    for taken in range(10, 60):
        scores = LASVM(max_iter=taken, **options).fit(rows, y).decision_function(rows)
        LASVM(max_iter=taken + 1, **options).fit(rows, y)
        (chosen,) = np.setdiff1d(rest, left[-1])
        best = rest[select(selection, scores[rest], 2 * y[rest] - 1)]
        utility = np.abs(scores) if selection == "active" else (2 * y - 1) * scores
        assert utility[chosen] == pytest.approx(utility[best], abs=1e-5)
        rest = left[-1]


def test_pool_size_one_is_random_and_a_larger_pool_chooses():
    X, y = two_clouds(400, apart=1.5)
    options = {"selection": "active", "max_iter": 60, "gamma": 0.3, "finishing": None}
    nearest = {}
    for pool in (1, 50):
        models = [LASVM(pool_size=pool, random_state=seed, **options).fit(X, y) for seed in range(8)]
        nearest[pool] = np.mean([len(model.support_) for model in models])
    assert nearest[50] > 1.3 * nearest[1]  # rows near the boundary become support vectors
