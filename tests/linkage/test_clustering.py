import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import DBSCAN

from everlearn.linkage import average_linkage, connected_components, dbscan
from reference import linkage as plain


def draw(seed, n):
    distance = np.random.default_rng(seed).random((n, n))
    distance = (distance + distance.T) / 2
    np.fill_diagonal(distance, 0)
    left, right = np.triu_indices(n, 1)
    return distance, left, right, distance[left, right]


def partition(labels):
    return {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}


@given(st.integers(0, 1000), st.integers(1, 25), st.floats(0.05, 0.6), st.integers(1, 5))
@settings(max_examples=60)
def test_dbscan_is_that_of_the_definition(seed, n, eps, min_pts):
    distance, *pairs = draw(seed, n)
    found = dbscan(n, *pairs, eps=eps, min_pts=min_pts)
    expected = plain.dbscan(distance, eps, min_pts)
    singletons = [label if label >= 0 else n + i for i, label in enumerate(expected)]
    assert partition(found) == partition(np.array(singletons))
    theirs = DBSCAN(eps=eps, min_samples=min_pts, metric="precomputed").fit(distance)
    core = theirs.core_sample_indices_
    assert partition(found[core]) == partition(theirs.labels_[core])


@given(st.integers(0, 1000), st.integers(1, 25), st.floats(0.05, 0.4))
@settings(max_examples=40)
def test_two_points_make_dbscan_connected_components(seed, n, eps):
    _, *pairs = draw(seed, n)
    found = connected_components(n, *pairs, eps=eps)
    for min_pts in (1, 2):
        assert_array_equal(dbscan(n, *pairs, eps=eps, min_pts=min_pts), found)
    coarser = connected_components(n, *pairs, eps=eps + 0.1)
    for cluster in partition(found):  # a larger eps only merges
        assert len(np.unique(coarser[list(cluster)])) == 1
    # A monotone map of the distances and of eps changes nothing.
    left, right, distance = pairs
    assert_array_equal(dbscan(n, left, right, distance**3, eps=eps**3), found)


@given(st.integers(0, 1000), st.integers(2, 20), st.floats(0.05, 0.6))
@settings(max_examples=40)
def test_average_linkage_is_scipys(seed, n, eps):
    distance, *pairs = draw(seed, n)
    expected = fcluster(linkage(squareform(distance), "average"), eps, "distance")
    assert partition(average_linkage(n, *pairs, eps=eps)) == partition(expected)


def across(distance, tables, eps):
    """Average linkage of two tables by the definition: the mean over pairs of records of different tables."""
    clusters = [[i] for i in range(len(tables))]

    def mean(a, b):
        known = [distance[i, j] for i in a for j in b if tables[i] != tables[j]]
        return np.mean(known) if known else np.inf

    while True:
        found = [(mean(a, b), i, j) for i, a in enumerate(clusters) for j, b in enumerate(clusters) if i < j]
        if not found or min(found)[0] > eps:
            return {frozenset(cluster) for cluster in clusters}
        _, i, j = min(found)
        clusters[i] += clusters.pop(j)


@given(st.integers(0, 1000), st.integers(2, 14), st.floats(0.05, 0.6))
@settings(max_examples=40)
def test_average_linkage_of_two_tables_is_the_mean_over_pairs_that_can_be_compared(seed, n, eps):
    distance, left, right, far = draw(seed, n)
    tables = np.random.default_rng(seed).integers(0, 2, n)
    kept = tables[left] != tables[right]
    pairs = left[kept], right[kept], far[kept]
    assert partition(average_linkage(n, *pairs, eps=eps, tables=tables)) == across(distance, tables, eps)
    assert partition(average_linkage(n, *pairs, eps=eps, tables=1 - tables)) == across(distance, tables, eps)


def test_repeated_records_of_the_second_table_are_joined_by_one_of_the_first():
    left, right, distance = [0, 0, 0], [1, 2, 3], [0.1, 0.1, 0.9]
    assert average_linkage(4, left, right, distance, tables=[0, 1, 1, 1]).tolist() == [0, 0, 0, 1]
    assert average_linkage(4, left, right, distance).tolist() == [0, 0, 1, 2]  # 1 and 2 count as far apart


def test_a_single_wrong_link_does_not_join_large_clusters_by_average():
    ends = [(i, j) for part in (range(4), range(4, 8)) for i in part for j in part if i < j]
    left, right = np.array([*ends, (0, 4)]).T
    distance = np.full(len(left), 0.1)
    assert len(np.unique(connected_components(8, left, right, distance))) == 1
    assert average_linkage(8, left, right, distance).tolist() == [0] * 4 + [1] * 4


def test_permuted_records_have_permuted_clusters():
    _, left, right, distance = draw(3, 30)
    order = np.random.default_rng(0).permutation(30)
    place = np.argsort(order)
    found = dbscan(30, left, right, distance, eps=0.15)
    permuted = dbscan(30, place[left], place[right], distance, eps=0.15)
    assert partition(permuted) == {frozenset(place[list(c)].tolist()) for c in partition(found)}


@pytest.mark.parametrize("cluster", [dbscan, connected_components, average_linkage])
def test_edges(cluster):
    nothing = np.zeros(0, dtype=int)
    assert cluster(0, nothing, nothing, nothing).tolist() == []
    assert cluster(1, nothing, nothing, nothing).tolist() == [0]
    assert cluster(3, [2], [1], [0.2]).tolist() == [0, 1, 1]
    assert cluster(2, [0, 0], [1, 1], [0.9, 0.2]).tolist() == [0, 0]  # a pair given twice: the nearer counts
