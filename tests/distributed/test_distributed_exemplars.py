"""DistributedExemplars: an exact objective beside the central one."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from cluster_helpers import cluster
from everlearn import LASVM, Exemplars
from everlearn.distributed import DistributedExemplars


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def test_the_objective_is_exact_and_near_the_central_one(client):
    X = load_digits().data / 16
    weights, gamma = (1.0, 0.0, 2 * 30 / len(X)), 0.1
    few = Exemplars(n_exemplars=30, kernel="rbf", gamma=gamma, scaling="none", weights=weights)
    found = DistributedExemplars(few, client=client).fit(da.from_array(X, chunks=(300, 64)))
    K = rbf_kernel(X, gamma=gamma)
    chosen = found.indices_
    exact = weights[2] * K[:, chosen].sum() - K[np.ix_(chosen, chosen)].sum()
    assert found.objective_ == pytest.approx(exact, rel=1e-5)
    assert found.objective_ > 0.98 * few.fit(X).objective_
    assert found.objective_ >= found.shard_objective_
    np.testing.assert_array_equal(found.rows_, X[chosen])
    again = DistributedExemplars(few, client=client).fit(da.from_array(X, chunks=(300, 64)))
    np.testing.assert_array_equal(again.indices_, chosen)


def test_frames_and_defaults(client):
    X = load_digits().data
    frame = pd.DataFrame(X).add_prefix("p")
    few = Exemplars(n_exemplars=20)
    found = DistributedExemplars(few, client=client).fit(dd.from_pandas(frame, npartitions=3))
    np.testing.assert_array_equal(found.rows_.to_numpy(), X[found.indices_])
    assert found.objective_ > 0.98 * few.fit(X).objective_


def test_bad_input_is_refused(client):
    with pytest.raises(TypeError, match="must be an Exemplars, got LASVM"):
        DistributedExemplars(LASVM(), client=client).fit(np.eye(3))
    with pytest.raises(ValueError, match="'n_exemplars'"):
        DistributedExemplars(Exemplars(n_exemplars=-1), client=client).fit(np.eye(3))
    with pytest.raises(ValueError, match="all partitions are empty"):
        DistributedExemplars(client=client).fit(np.zeros((0, 2)))
