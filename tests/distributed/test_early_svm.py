"""Partitions that are clusters: the exact SVM of all rows, and an early answer by the local models."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import SVC

from cluster_helpers import cluster, noisy
from everlearn import LASVM
from everlearn._base.kernels import kernel_named
from everlearn._base.part_clusters import Clusters
from everlearn.distributed import DistributedSVM

LEARNER = LASVM(C=10.0, gamma=4.0, random_state=0)


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


def in_chunks(X, y, rows=300):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def clustered(client, learner=LEARNER, count=6):
    return DistributedSVM(learner, client=client, n_partitions=count, partition="kernel_kmeans")


def test_clusters_are_those_of_the_rows():
    X, truth = make_blobs(600, centers=5, cluster_std=0.3, random_state=0)
    found = Clusters.of(kernel_named("rbf", 0.1), X[:200], 5, np.random.RandomState(0))
    assert adjusted_rand_score(truth, found.nearest(X)) == 1.0
    np.testing.assert_array_equal(found.nearest(sparse.csr_matrix(X)), found.nearest(X))


def test_there_are_no_more_clusters_than_different_rows():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    assert len(Clusters.of(kernel_named("rbf"), X, 4, np.random.RandomState(0))) == 2


def test_the_exact_svm_of_all_rows_in_clusters(client):
    X, y = noisy()
    svm = clustered(client).fit(*in_chunks(X, y))
    peer = SVC(C=10.0, gamma=4.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(svm.decision_function(X), peer.decision_function(X), rtol=0, atol=1e-2)
    assert svm.n_partitions_ == 6
    # Rows have the numbers that they were given, before they were moved.
    kept = svm.model_.support_
    np.testing.assert_array_equal(svm.model_.support_vectors_, X[kept])
    np.testing.assert_array_equal(np.sign(svm.model_.dual_coef_[0]), y[kept])
    again = clustered(client).fit(*in_chunks(X, y))
    np.testing.assert_array_equal(again.decision_function(X), svm.decision_function(X))


def test_an_early_answer(client):
    X, y = noisy(2000, flipped=0.02)
    early = clustered(client).fit_early(*in_chunks(X, y))
    exact = LEARNER.fit(X, y)
    new, truth = noisy(2000, seed=5, flipped=0.0)
    assert early.n_support_ == sum(len(model.support_) for model in early.models_)
    assert np.mean(early.predict(new) == truth) > np.mean(exact.predict(new) == truth) - 0.02
    np.testing.assert_array_equal(early.predict(in_chunks(new, truth)[0]).compute(), early.predict(new))
    np.testing.assert_array_equal(np.sign(early.decision_function(new)), early.predict(new))


def test_classes_that_not_every_cluster_has(client):
    X, y = load_digits(return_X_y=True)
    X, names = X / 16, np.array([f"digit {k}" for k in range(10)])[y]
    early = clustered(client, LASVM(C=10, gamma=0.05, random_state=0), 8).fit_early(X[:1200], names[:1200])
    assert np.mean(early.predict(X[1200:]) == names[1200:]) > 0.9
    assert early.decision_function(X[:7]).shape == (7, 10)


def test_clusters_of_one_class_sparse_rows_and_frames(client):
    X, where = make_blobs(400, centers=4, cluster_std=0.2, random_state=1)
    y = np.where(where < 2, "a", "b")
    early = clustered(client, LASVM(gamma=0.1, random_state=0), 4).fit_early(sparse.csr_matrix(X), y)
    assert early.models_ == [None] * 4
    np.testing.assert_array_equal(early.predict(sparse.csr_matrix(X)), y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(clustered(client, None, 4).fit_early(frame, pd.Series(y)).predict(frame), y)


def test_wrong_partitions_are_refused(client):
    X, y = noisy(100)
    with pytest.raises(ValueError, match=r"partition='kmeans' must be one of"):
        DistributedSVM(client=client, partition="kmeans").fit(X, y)
    with pytest.raises(ValueError, match="An early answer needs clusters"):
        DistributedSVM(client=client).fit_early(X, y)
