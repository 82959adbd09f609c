"""DistributedPool: the questions, and the model, of the same strategy on one machine."""

import re

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cluster_helpers import cluster, kill_a_worker, noisy
from everlearn import LASVM
from everlearn.datasets import make_banana
from everlearn.distributed import DistributedPool
from everlearn.query import Auto, Margin, RampRegion, Random, Submodular


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def started(X, y, rows):
    classes = np.unique(y)
    return LASVM(C=10, gamma=1.0).partial_fit(X[rows], y[rows], classes=classes)


def central_loop(X, y, strategy, steps, n):
    """The same loop on one machine: the strategy sees the rows that are left."""
    first = np.arange(40)
    model, left, asked = started(X, y, first), np.arange(40, len(y)), []
    for step in range(steps):
        rows = left[strategy.query(model, X[left], n, draw=step)]
        model.partial_fit(X[rows], y[rows])
        left = np.setdiff1d(left, rows)
        asked.append(rows)
    return model, np.array(asked)


def distributed_loop(pool, X, y, strategy, steps, n):
    first = np.arange(40)
    model, asked = started(X, y, first), []
    pool.remove(first)
    for step in range(steps):
        rows = pool.query(strategy, model, n, draw=step)
        model.partial_fit(pool.take(rows), y[rows])
        pool.remove(rows)
        asked.append(rows)
    return model, np.array(asked)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("strategy", [Margin(pool_size=None), Margin(random_state=3), Auto(random_state=1)])
def test_questions_and_model_are_those_of_one_machine(client, strategy, classes):
    X, y = make_banana(700, random_state=0)
    y = y if classes == 2 else np.digitize(X[:, 0], [-0.5, 0.7])
    central, questions = central_loop(X, y, strategy, 6, 4)
    pool = DistributedPool(da.from_array(X, chunks=(150, 2)), client=client)
    model, asked = distributed_loop(pool, X, y, strategy, 6, 4)
    np.testing.assert_array_equal(asked, questions)
    np.testing.assert_array_equal(model.decision_function(X), central.decision_function(X))
    assert pool.n_rows == 700
    assert pool.n_left == 700 - 40 - 24


def test_ties_go_to_the_first_rows_as_on_one_machine(client):
    X = np.repeat(np.arange(6.0), 50)[:, np.newaxis]
    X = np.random.default_rng(0).permutation(X)
    model = LASVM(gamma=1.0).fit([[0.0], [5.0]], [0, 1])
    pool = DistributedPool(X, client=client, n_partitions=4)
    for n in (1, 7, 120, None):
        central = Margin(pool_size=None).query(model, X, n)
        np.testing.assert_array_equal(pool.query(Margin(pool_size=None), model, n), central)


def test_every_kind_of_rows(client, tmp_path):
    X, y = noisy(300)
    model = LASVM(C=10, gamma=4.0, random_state=0).fit(X[:100], y[:100])
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = LASVM(C=10, gamma=4.0, random_state=0).fit(frame[:100], y[:100])
    frame[:120].to_parquet(tmp_path / "0.parquet")
    frame[120:].to_parquet(tmp_path / "1.parquet")
    expected = Margin(pool_size=None).query(model, X, 5)
    kinds = [X, sparse.csr_matrix(X), frame, dd.from_pandas(frame, npartitions=3), tmp_path]
    for rows, its_model in zip(kinds, [model, model, named, named, named], strict=True):
        pool = DistributedPool(rows, client=client)
        np.testing.assert_array_equal(pool.query(Margin(pool_size=None), its_model, 5), expected)
        taken = pool.take([299, 0, 150])
        taken = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
        np.testing.assert_array_equal(taken, X[[299, 0, 150]])
        np.testing.assert_array_equal(pool.decision_function(its_model), model.decision_function(X))
        pool.close()


def test_only_the_best_rows_travel(client):
    X, y = noisy(3000)
    model = LASVM(C=10, gamma=4.0).fit(X[:100], y[:100])
    pool = DistributedPool(X, client=client, n_partitions=3)
    pool.query(Margin(pool_size=None), model, 10)
    assert pool.bytes_received == 3 * 10 * 16


def test_a_killed_worker_changes_no_question():
    X, y = noisy(600)
    strategy = Margin(pool_size=None)
    _, questions = central_loop(X, y, strategy, 4, 3)
    with cluster() as client:
        pool = DistributedPool(da.from_array(X, chunks=(200, 2)), client=client)
        original, calls = pool.query, []

        def query(*arguments, **options):
            calls.append(1)
            if len(calls) == 2:
                kill_a_worker(client)
            return original(*arguments, **options)

        pool.query = query
        _, asked = distributed_loop(pool, X, y, strategy, 4, 3)
    np.testing.assert_array_equal(asked, questions)


def test_an_empty_pool_asks_nothing(client):
    X, y = noisy(50)
    pool = DistributedPool(X, client=client)
    pool.remove(np.arange(50))
    assert len(pool.query(Margin(), LASVM().fit(X, y), 3)) == 0
    assert pool.take([]).shape[0] == 0


def test_bad_input_is_refused(client):
    X, y = noisy(50)
    model, pool = LASVM().fit(X, y), DistributedPool(X, client=client)
    for strategy in (Submodular(), RampRegion(), Random()):
        with pytest.raises(TypeError, match=f"{type(strategy).__name__} needs more than the decision values"):
            pool.query(strategy, model)
    with pytest.raises(ValueError, match="n must be"):
        pool.query(Margin(pool_size=None), model, -1)
    with pytest.raises(ValueError, match="row numbers from 0 to 49"):
        pool.take([50])
    with pytest.raises(ValueError, match="row numbers from 0 to 49"):
        pool.remove([0.5])
    with pytest.raises(ValueError, match="two-dimensional"):
        DistributedPool(y, client=client)


def test_an_error_names_the_partition(client, tmp_path):
    X, y = make_banana(60, random_state=0)
    model = LASVM(C=10, gamma=1.0).fit(X, y)
    X[50] = np.nan
    pool = DistributedPool(X, n_partitions=3, client=client)
    with pytest.raises(ValueError, match=r"Partition 2: .*NaN"):
        pool.query(Margin(pool_size=None), model, n=3)
    gone = tmp_path / "gone.parquet"
    with pytest.raises(FileNotFoundError, match=f"^Partition 0: there is no file {re.escape(str(gone))}\\.$"):
        DistributedPool([gone], client=client)
