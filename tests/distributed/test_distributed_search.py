"""DistributedSearch: the scores of GridSearchCV, from distances that are computed once."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from cluster_helpers import cluster, kill_a_worker, noisy
from everlearn import LASVM, LASVMG
from everlearn.distributed import DistributedSearch, distributed_search

GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.5, 4.0]}
LEARNER = LASVM(random_state=0, tol=1e-4)


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def assert_same(search, peer):
    assert search.cv_results_["params"] == peer.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "split1_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], peer.cv_results_[name], rtol=0, atol=0.011)
    assert abs(search.best_score_ - peer.best_score_) < 0.011


@pytest.mark.parametrize(
    ("learner", "grid"),
    [
        (LEARNER, GRID),
        (LASVM(kernel="laplacian"), {"gamma": [1.0, 4.0]}),
        (LASVM(kernel="poly", coef0=1, degree=2), {"C": [1.0, 10.0]}),
        (LASVM(kernel="linear", class_weight="balanced"), {"C": [0.1, 1.0]}),
    ],
)
def test_scores_are_those_of_a_grid_search(client, learner, grid):
    X, y = noisy(300)
    X = X - X.mean(axis=0)
    learner = learner.set_params(gamma=1.0)
    search = DistributedSearch(learner, grid, cv=3, client=client).fit(X, y)
    assert_same(search, GridSearchCV(learner, grid, cv=3).fit(X, y))
    assert search.best_estimator_.get_params().items() >= search.best_params_.items()
    assert search.best_estimator_.n_iter_ == 300


def test_distances_are_computed_once(client):
    X, y = noisy(300)
    search = DistributedSearch(LEARNER, GRID, cv=KFold(3), client=client, refit=False).fit(X, y)
    assert search.n_distances_ == 6 * 100 * 100  # pairs of three folds
    assert not hasattr(search, "best_estimator_")


def test_classes_words_sparse_rows_and_another_score(client):
    X, _ = noisy(240)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0.3, 0.6])]
    search = DistributedSearch(LEARNER, GRID, scoring="balanced_accuracy", cv=3, client=client)
    found = search.fit(sparse.csr_matrix(X), y)
    assert_same(found, GridSearchCV(LEARNER, GRID, cv=3, scoring="balanced_accuracy").fit(X, y))


def test_a_killed_worker_changes_nothing(client, monkeypatch):
    X, y = noisy(300)
    expected = DistributedSearch(LEARNER, GRID, cv=3, client=client, refit=False).fit(X, y)
    with cluster() as other:
        original = distributed_search.TaskNames.submit

        def submit(self, client, what, *arguments):
            if what == "score":
                kill_a_worker(client)
            return original(self, client, what, *arguments)

        monkeypatch.setattr(distributed_search.TaskNames, "submit", submit)
        found = DistributedSearch(LEARNER, GRID, cv=3, client=other, refit=False).fit(X, y)
    for fold in range(3):
        name = f"split{fold}_test_score"
        np.testing.assert_array_equal(found.cv_results_[name], expected.cv_results_[name])


@pytest.mark.parametrize(
    ("learner", "grid", "cv", "error", "message"),
    [
        (LASVMG(), GRID, 3, TypeError, "learner must be a LASVM, got LASVMG"),
        (LASVM(kernel="precomputed"), GRID, 3, ValueError, "built-in kernel"),
        (LEARNER, {}, 3, ValueError, 'values of "C", of "gamma", or of both'),
        (LEARNER, {"tol": [1]}, 3, ValueError, 'values of "C", of "gamma", or of both'),
        (LEARNER, {"C": []}, 3, ValueError, "no value of 'C'"),
        (LEARNER, {"C": [-1]}, 3, ValueError, "The parameter 'C'"),
        (LEARNER, {"gamma": ["scale"]}, 3, ValueError, "must have numbers, got 'scale'"),
        (LEARNER, GRID, ShuffleSplit(3), ValueError, "every row once"),
        (LEARNER, GRID, KFold(2), ValueError, "Without fold 0, rows have one class only"),
    ],
)
def test_what_cannot_be_searched_is_refused(client, learner, grid, cv, error, message):
    X, y = noisy(60)
    order = np.argsort(y)
    y = np.repeat([0, 1], 30) if isinstance(cv, KFold) else y[order]
    with pytest.raises(error, match=message):
        DistributedSearch(learner, grid, cv=cv, client=client).fit(X[order], y)
