"""Measures from many weighted confusion matrices at once, and weighted areas under ROC curves.

With fading weights, a class that has not occurred for long may weigh 1e-100 and another 1e3. To stay exact,
nothing is computed by subtracting large sums: the counts outside a class are added up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Measures(NamedTuple):
    """Measures of matrices of shape (..., k, k): the first four of shape (...), the others (..., k)."""

    n: Array
    accuracy: Array
    g_means: Array
    mcc: Array
    recall: Array
    precision: Array
    support: Array


def measures(confusion: Array) -> Measures:
    """Measure confusion matrices whose rows are the true and whose columns are the predicted classes.

    With t_k the weight of the rows of class k, p_k of those predicted as k, c_k of those that are both, and n
    of all rows:

        accuracy = Σ c_k / n        recall = c_k / t_k        precision = c_k / p_k
        g-means  = (Π recall_k)^(1/m) over the m classes with t_k > 0, NaN if m < 2
        MCC      = Σ (c_k n − t_k p_k) / √(Σ t_k (n − t_k) · Σ p_k (n − p_k)), 0 where the root is 0

    c_k n − t_k p_k = tp tn − fp fn for k against the rest. Measures without rows are NaN.
    """
    others = 1.0 - np.eye(confusion.shape[-1])
    right, wrong = np.diagonal(confusion, axis1=-2, axis2=-1), confusion * others
    support, predicted = right + wrong.sum(axis=-1), right + wrong.sum(axis=-2)
    n, n_seen = support.sum(axis=-1), (support > 0).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, precision = right / support, right / predicted
        logs = np.where(support > 0, np.log(recall), 0.0).sum(axis=-1)
        g_means = np.where(n_seen > 1, np.exp(logs / n_seen), np.nan)
        accuracy = right.sum(axis=-1) / n
    return Measures(n, accuracy, g_means, _matthews(confusion, n, others), recall, precision, support)


def _matthews(confusion: Array, n: Array, others: Array) -> Array:
    """Matthews' correlation; counts are divided by n first, so that their products do not overflow."""
    fraction = confusion / np.where(n > 0, n, 1.0)[..., np.newaxis, np.newaxis]
    tp = np.diagonal(fraction, axis1=-2, axis2=-1)
    fn, fp = (fraction * others).sum(axis=-1), (fraction * others).sum(axis=-2)
    tn = ((others @ fraction) * others).sum(axis=-1)
    spread_true = ((tp + fn) * (fp + tn)).sum(axis=-1)
    spread_predicted = ((tp + fp) * (fn + tn)).sum(axis=-1)
    spread = np.sqrt(spread_true) * np.sqrt(spread_predicted)
    covariance = (tp * tn - fp * fn).sum(axis=-1)
    ratio = np.divide(covariance, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.where(n > 0, np.clip(ratio, -1.0, 1.0), np.nan)


def areas(positive: NDArray[np.bool_], score: Array, weights: Array) -> Array:
    """Areas under the ROC curve of one score for several weightings of the rows, ties counting one half.

    The area is the weight of the pairs of a positive and a negative row in which the positive one scores
    higher, as a fraction of all such pairs; the weight of a pair is the product of those of its rows. NaN if
    there is no such pair.
    """
    if not len(score):
        return np.full(len(weights), np.nan)
    order = np.argsort(score)
    ranked = score.take(order)
    new = ranked[1:] != ranked[:-1]
    ordered = weights.take(order, axis=1)
    up = ordered * positive.take(order)
    down = ordered - up  # exact: one of both is 0
    if not new.all():  # add up tied rows
        starts = np.flatnonzero(np.concatenate(([True], new)))
        up, down = (np.add.reduceat(part, starts, axis=1) for part in (up, down))
    reached = np.cumsum(down, axis=1)
    below = np.zeros_like(reached)
    below[:, 1:] = reached[:, :-1]
    pairs = up.sum(axis=1) * reached[:, -1]
    won = (up * (below + 0.5 * down)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pairs > 0, np.minimum(won / pairs, 1.0), np.nan)


def areas_without_ties(
    positive: NDArray[np.bool_], scores: Array, faded: Array
) -> tuple[Array, NDArray[np.bool_]]:
    """`areas` of several scores at once, each with the weights 1 and those of its row of ``faded``.

    Also returns for which of them that is wrong: those with equal scores or NaN. The others are the same bit
    for bit: sums of ones are exact in any order, those of weights have the order of `areas`.
    """
    n_rows, n = scores.shape
    order = np.argsort(scores, axis=1)
    flat = order + np.arange(0, n_rows * n, n)[:, np.newaxis]
    ranked, up_at = scores.ravel().take(flat), positive.ravel().take(flat)
    tied = np.asarray(~(ranked[:, 1:] > ranked[:, :-1]).all(axis=1))  # NaN compares false
    count = np.cumsum(~up_at, axis=1, dtype=np.int32)
    won = np.where(up_at, count, 0).sum(axis=1, dtype=np.int64)
    pairs = (n - count[:, -1].astype(np.int64)) * count[:, -1]
    weights = faded.ravel().take(flat)
    up = weights * up_at
    reached = np.cumsum(weights - up, axis=1)
    faded_pairs = up.sum(axis=1) * reached[:, -1]
    faded_won = (up * reached).sum(axis=1)  # where `up` is not 0, `reached` is what is below
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.stack((won / pairs, faded_won / faded_pairs), axis=1)
    some = np.stack((pairs > 0, faded_pairs > 0), axis=1)
    return np.where(some, np.minimum(found, 1.0), np.nan), tied


def overall(found: Measures, at: tuple[int, ...], kind: type) -> dict[str, float]:
    """The measures over all classes of one matrix; ``kind`` is the type of the counts."""
    return {
        "n": found.n[at].astype(kind).item(),
        "accuracy": found.accuracy[at].item(),
        "g_means": found.g_means[at].item(),
        "mcc": found.mcc[at].item(),
    }


@lru_cache(maxsize=8)
def plain_and_faded(n_rows: int, factor: float) -> Array:
    """The weights of rows without and with fading, the oldest first. Most calls are for a full window."""
    ages = np.arange(n_rows - 1, -1, -1, dtype=np.float64)
    weights = np.stack((np.ones(n_rows), factor**ages))
    weights.flags.writeable = False
    return weights
