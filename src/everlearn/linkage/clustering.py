"""Clusters of records from the distances of pairs; records that were not compared are far apart."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components as components

Labels = NDArray[np.intp]

__all__ = ["average_linkage", "connected_components", "dbscan"]


def dbscan(
    n: int, left: ArrayLike, right: ArrayLike, distance: ArrayLike, *, eps: float = 0.3, min_pts: int = 2
) -> Labels:
    """Cluster records by density: DBSCAN over the pairs that were compared.

    The neighborhood of a record is itself and all records within ``eps``; with at least ``min_pts`` members
    the record is a core. Clusters are grown from cores in the order of the records, and a record that two
    clusters reach stays with the first. What is left is noise: each such record is a cluster of its own. With
    ``min_pts`` of 1 or 2 this gives the connected components.

    Parameters
    ----------
    n : int
        The number of records.
    left, right : array-like of int of shape (n_pairs,)
        The two records of each pair.
    distance : array-like of shape (n_pairs,)
        The distance of each pair.
    eps : float, default=0.3
        The largest distance of neighbors.
    min_pts : int, default=2
        The size of the neighborhood of a core, the record itself included.

    Returns
    -------
    ndarray of shape (n,)
        The cluster of each record, numbered from 0 in order of their first records.
    """
    graph = _graph(n, left, right, np.asarray(distance, dtype=np.float64) <= eps)
    indptr, indices = graph.indptr, graph.indices
    core = np.diff(indptr) + 1 >= min_pts
    labels, cluster = np.full(n, -1, dtype=np.intp), 0
    for seed in np.flatnonzero(core):
        if labels[seed] != -1:
            continue
        labels[seed], queue = cluster, deque([seed])
        while queue:
            record = queue.popleft()
            if core[record]:
                near = indices[indptr[record] : indptr[record + 1]]
                new = near[labels[near] == -1]
                labels[new] = cluster
                queue.extend(new)
        cluster += 1
    noise = labels == -1
    labels[noise] = cluster + np.arange(noise.sum())
    return _in_order(labels)


def connected_components(
    n: int, left: ArrayLike, right: ArrayLike, distance: ArrayLike, *, eps: float = 0.3
) -> Labels:
    """Put records in one cluster if a chain of pairs within ``eps`` connects them.

    Parameters
    ----------
    n : int
        The number of records.
    left, right : array-like of int of shape (n_pairs,)
        The two records of each pair.
    distance : array-like of shape (n_pairs,)
        The distance of each pair.
    eps : float, default=0.3
        The largest distance of a link.

    Returns
    -------
    ndarray of shape (n,)
        The cluster of each record, numbered from 0 in order of their first records.
    """
    graph = _graph(n, left, right, np.asarray(distance, dtype=np.float64) <= eps)
    return _in_order(components(graph, directed=False)[1].astype(np.intp))


def average_linkage(
    n: int,
    left: ArrayLike,
    right: ArrayLike,
    distance: ArrayLike,
    *,
    eps: float = 0.3,
    tables: ArrayLike | None = None,
) -> Labels:
    """Merge the two nearest clusters until their mean distance is above ``eps``.

    A pair that was not compared has the distance 1. So a single wrong link does not join two large clusters.
    Of two tables, only pairs of records of different tables count.

    Parameters
    ----------
    n : int
        The number of records.
    left, right : array-like of int of shape (n_pairs,)
        The two records of each pair.
    distance : array-like of shape (n_pairs,)
        The distance of each pair, from 0 to 1.
    eps : float, default=0.3
        The largest mean distance of two clusters that are merged.
    tables : array-like of shape (n,), default=None
        The table of each record, 0 or 1, if only records of different tables were compared.

    Returns
    -------
    ndarray of shape (n,)
        The cluster of each record, numbered from 0 in order of their first records.
    """
    first, second = np.asarray(left, dtype=np.intp), np.asarray(right, dtype=np.intp)
    far = np.asarray(distance, dtype=np.float64)
    # Clusters that are merged have a pair within eps: each component of such pairs is clustered by itself,
    # and one of two records is a cluster. A distance of 1 is that of records that were not compared.
    found = connected_components(n, first, second, far, eps=min(eps, np.nextafter(1, 0)))
    sizes = np.bincount(found, minlength=1)
    inner = np.flatnonzero((found[first] == found[second]) & (first != second) & (sizes[found[first]] > 2))
    inner = inner[np.argsort(found[first[inner]], kind="stable")]
    n_clusters = len(sizes)
    second_table = None if tables is None else np.asarray(tables, dtype=np.intp)
    for part in np.split(inner, np.flatnonzero(np.diff(found[first[inner]])) + 1):
        if len(part):
            members, ends = np.unique([first[part], second[part]], return_inverse=True)
            a, b = ends.reshape(2, -1).tolist()
            sides = None if second_table is None else second_table[members].tolist()
            labels = _merged(len(members), a, b, far[part].tolist(), eps, sides)
            found[members] = n_clusters + labels
            n_clusters += len(members)
    return _in_order(found)


def clusters_by(
    method: str,
    n: int,
    left: ArrayLike,
    right: ArrayLike,
    distance: ArrayLike,
    *,
    eps: float,
    min_pts: int,
    tables: ArrayLike | None = None,
) -> Labels:
    """Cluster records by the method of that name."""
    if method == "dbscan":
        return dbscan(n, left, right, distance, eps=eps, min_pts=min_pts)
    if method == "average":
        return average_linkage(n, left, right, distance, eps=eps, tables=tables)
    return connected_components(n, left, right, distance, eps=eps)


def _merged(
    n: int, first: list[int], second: list[int], distance: list[float], eps: float, sides: list[int] | None
) -> Labels:
    """Average linkage of few records: for each of them the smallest record of its cluster."""
    # The sum of 1 - d over the compared pairs of two clusters gives their mean distance.
    gain: list[dict[int, float]] = [{} for _ in range(n)]
    for a, b, d in zip(first, second, distance, strict=True):
        if d < 1:
            gain[a][b] = gain[b][a] = max(1.0 - d, gain[a].get(b, 0.0))
    # The records of a cluster in each table, and how many pairs of two clusters can be compared.
    size, alive = [(1, 0) if side == 0 else (0, 1) for side in sides or [0] * n], [True] * n
    n_pairs = _all_pairs if sides is None else _pairs_across

    def mean_distance(a: int, b: int) -> float:
        return 1 - gain[a].get(b, 0.0) / n_pairs(size[a], size[b])

    parent = list(range(n))
    heap = [(1 - s, a, b) for a in range(n) for b, s in gain[a].items() if a < b and 1 - s <= eps]
    heapq.heapify(heap)
    while heap:
        d, a, b = heapq.heappop(heap)
        if not (alive[a] and alive[b]) or d != mean_distance(a, b):
            continue  # merged since, or no longer at this distance
        alive[b], parent[b] = False, a
        size[a] = size[a][0] + size[b][0], size[a][1] + size[b][1]
        del gain[a][b], gain[b][a]
        for c, s in gain[b].items():
            gain[a][c] = gain[a].get(c, 0.0) + s
            gain[c][a] = gain[a][c]
            del gain[c][b]
        gain[b] = {}
        for c in gain[a]:
            new = mean_distance(a, c)
            if new <= eps:
                heapq.heappush(heap, (new, min(a, c), max(a, c)))
    return np.array([_root(parent, i) for i in range(n)], dtype=np.intp)


def _all_pairs(a: tuple[int, int], b: tuple[int, int]) -> int:
    return sum(a) * sum(b)


def _pairs_across(a: tuple[int, int], b: tuple[int, int]) -> int:
    return a[0] * b[1] + a[1] * b[0]


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


def _graph(n: int, left: ArrayLike, right: ArrayLike, near: NDArray[np.bool_]) -> sparse.csr_matrix:
    """The symmetric graph of neighbors, without loops, each edge once."""
    a, b = np.asarray(left, dtype=np.intp)[near], np.asarray(right, dtype=np.intp)[near]
    a, b = a[a != b], b[a != b]
    ends = np.concatenate([a, b]), np.concatenate([b, a])
    return sparse.coo_matrix((np.ones(len(ends[0])), ends), shape=(n, n)).tocsr()


def _in_order(labels: Labels) -> Labels:
    """Numbers from 0 in the order of the first record of each cluster."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
