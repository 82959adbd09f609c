"""Scores of clusters of records against the truth: pairwise, B-cubed, and cluster by cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

__all__ = ["LinkageScores", "b_cubed_scores", "cluster_confusion", "pair_scores", "pairwise_scores"]


@dataclass(frozen=True)
class LinkageScores:
    """Precision, recall and their harmonic mean.

    Attributes
    ----------
    precision : float
        Of what was put together, the fraction that belongs together.
    recall : float
        Of what belongs together, the fraction that was put together.
    f1 : float
        The harmonic mean of both.
    """

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, precision: float, recall: float) -> LinkageScores:
        """Make scores of precision and recall.

        Parameters
        ----------
        precision : float
            The precision.
        recall : float
            The recall.

        Returns
        -------
        LinkageScores
            The scores, with F1.
        """
        total = precision + recall
        return cls(float(precision), float(recall), float(2 * precision * recall / total) if total else 0.0)


def pairwise_scores(truth: ArrayLike, clusters: ArrayLike) -> LinkageScores:
    """Score the pairs of records that were put in one cluster.

    Parameters
    ----------
    truth : array-like of shape (n_records,)
        The true entity of each record.
    clusters : array-like of shape (n_records,)
        The cluster of each record.

    Returns
    -------
    LinkageScores
        Precision is 1 if no two records were put together, recall is 1 if no two belong together.

    Examples
    --------
    >>> from everlearn.linkage.metrics import pairwise_scores
    >>> pairwise_scores(["a", "a", "a", "b"], [1, 1, 2, 2])
    LinkageScores(precision=0.5, recall=0.3333333333333333, f1=0.4)
    """
    table = _table(truth, clusters)
    both = _n_pairs(table.data)
    together, same = (_n_pairs(np.asarray(table.sum(axis=axis)).ravel()) for axis in (0, 1))
    return LinkageScores.of(both / together if together else 1.0, both / same if same else 1.0)


def b_cubed_scores(truth: ArrayLike, clusters: ArrayLike) -> LinkageScores:
    """Score each record by its cluster, and average over records.

    Parameters
    ----------
    truth : array-like of shape (n_records,)
        The true entity of each record.
    clusters : array-like of shape (n_records,)
        The cluster of each record.

    Returns
    -------
    LinkageScores
        Precision of a record is the fraction of its cluster that is of its entity, recall the fraction of
        its entity that is in its cluster. F1 is that of the two averages. No records score 1.
    """
    table = _table(truth, clusters).tocoo()
    n = table.data.sum()
    if not n:
        return LinkageScores.of(1.0, 1.0)
    squares = table.data.astype(np.float64) ** 2
    sizes = [np.asarray(table.sum(axis=axis)).ravel() for axis in (0, 1)]
    precision = (squares / sizes[0][table.col]).sum() / n
    recall = (squares / sizes[1][table.row]).sum() / n
    return LinkageScores.of(precision, recall)


def pair_scores(y_true: ArrayLike, y_pred: ArrayLike) -> LinkageScores:
    """Score decisions about pairs: match or not.

    Parameters
    ----------
    y_true : array-like of bool of shape (n_pairs,)
        Whether each pair is a match.
    y_pred : array-like of bool of shape (n_pairs,)
        Whether it was taken for one.

    Returns
    -------
    LinkageScores
        Precision is 1 if no pair was taken for a match, recall is 1 if there is none.
    """
    true, found = np.asarray(y_true).astype(bool), np.asarray(y_pred).astype(bool)
    if true.shape != found.shape:
        raise ValueError(f"y_true and y_pred must have the same shape, got {true.shape} and {found.shape}.")
    hits = int((true & found).sum())
    n_found, n_true = int(found.sum()), int(true.sum())
    return LinkageScores.of(hits / n_found if n_found else 1.0, hits / n_true if n_true else 1.0)


def cluster_confusion(truth: ArrayLike, clusters: ArrayLike) -> dict[str, int]:
    """Count entities and clusters by how they correspond.

    Parameters
    ----------
    truth : array-like of shape (n_records,)
        The true entity of each record.
    clusters : array-like of shape (n_records,)
        The cluster of each record.

    Returns
    -------
    dict of str to int
        "exact": clusters that are exactly an entity; "split": entities in several clusters; "mixed":
        clusters with records of several entities; "entities" and "clusters": how many there are.

    Examples
    --------
    >>> from everlearn.linkage.metrics import cluster_confusion
    >>> cluster_confusion(["a", "a", "b", "c"], [1, 1, 2, 2])
    {'entities': 3, 'clusters': 2, 'exact': 1, 'split': 0, 'mixed': 1}
    """
    table = _table(truth, clusters)
    entities_of, clusters_of = (np.asarray(table.sign().sum(axis=axis)).ravel() for axis in (0, 1))
    pairs = table.tocoo()
    exact = (entities_of[pairs.col] == 1) & (clusters_of[pairs.row] == 1)
    return {
        "entities": int(table.shape[0]),
        "clusters": int(table.shape[1]),
        "exact": int(exact.sum()),
        "split": int((clusters_of > 1).sum()),
        "mixed": int((entities_of > 1).sum()),
    }


def _table(truth: ArrayLike, clusters: ArrayLike) -> Any:
    """Entities by clusters, with the number of common records."""
    a, b = (np.asarray(labels) for labels in (truth, clusters))
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"truth and clusters must be one label for each record, got {a.shape} and {b.shape}."
        )
    rows, columns = (np.unique(labels, return_inverse=True)[1] for labels in (a, b))
    shape = (int(rows.max()) + 1, int(columns.max()) + 1) if len(a) else (0, 0)
    return sparse.coo_matrix((np.ones(len(a), dtype=np.int64), (rows, columns)), shape=shape).tocsr()


def _n_pairs(sizes: NDArray[np.int64]) -> int:
    return int((sizes * (sizes - 1) // 2).sum())
