"""What happens around the edges of a stream: early finishing, broken matrices, several threads."""

import threading

import numpy as np
import pytest
from scipy import sparse

from everlearn import LASVM


def clouds(rows=60, seed=0):
    X = np.random.default_rng(seed).standard_normal((rows, 3))
    y = (X[:, 0] > 0).astype(int)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


def test_finish_before_the_second_class_loses_no_row():
    X, y = clouds()
    first = int((y == 0).sum())
    early = LASVM(C=10, gamma=0.5).partial_fit(X[:first], y[:first], classes=[0, 1]).finish()
    plain = LASVM(C=10, gamma=0.5).partial_fit(X[:first], y[:first], classes=[0, 1])
    for model in (early, plain):
        model.partial_fit(X[first:], y[first:]).finish()
    np.testing.assert_array_equal(early.decision_function(X), plain.decision_function(X))
    assert early.score(X, y) > 0.9


@pytest.mark.parametrize("column", [5, 5_000_000, -1])
@pytest.mark.parametrize("width", [5, 500])
def test_a_sparse_matrix_with_columns_outside_itself_is_refused(column, width):
    columns = np.zeros(40, dtype=np.int64)
    columns[-1] = column if column < 0 else width + column - 5
    X = sparse.csr_matrix((np.ones(40), columns, np.arange(41)), shape=(40, width))
    with pytest.raises(ValueError, match=r"invalid sparse matrix|index"):
        LASVM().fit(X, np.arange(40) % 2)


def test_one_learner_in_several_threads():
    """Whoever learns does so alone; nothing breaks and no row is lost."""
    X = np.random.default_rng(1).standard_normal((4000, 5))
    y = (X[:, 0] > 0).astype(int)
    model = LASVM(gamma=0.2).partial_fit(X[:400], y[:400], classes=[0, 1])
    failures = []

    def work():
        try:
            for start in range(400, 4000, 400):
                model.partial_fit(X[start : start + 400], y[start : start + 400])
                model.predict(X[:200])
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert model.n_iter_ == 400 + 3 * 3600
    assert model.finish().score(X, y) > 0.95
