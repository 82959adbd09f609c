"""Venn-Abers predictors on a window of scores.

V. Vovk, I. Petej, V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of
validity", NeurIPS 2015. For a new score, isotonic regression is fitted twice: with the score labeled 0 and
labeled 1. The two fitted values p0 and p1 bracket the probability; p1 / (1 - p0 + p1) is the single number
that minimizes the worst-case log loss.

Scores are first grouped into bins of equal counts. The isotonic fit at bin i is the max-min of the means over
the intervals j..k with j <= i <= k. Each of these intervals contains i, so the new score is added to all of
them. Cumulative minima and maxima over one matrix then give p0 and p1 of every bin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS = 100
Table = tuple[Floats, Floats]  # the cuts between bins, and the probability of each bin


def margins(scores: Floats, code: int) -> Floats:
    """The score of a class minus the best score of the other classes, or its score if there are no others."""
    others = np.delete(scores, code, axis=1)
    best = np.max(np.where(np.isnan(others), -np.inf, others), axis=1, initial=-np.inf)
    return np.asarray(scores[:, code] - np.where(np.isinf(best), 0.0, best))


def fit(values: Floats, positive: NDArray[np.bool_], weights: Floats) -> Table:
    """The table of one-vs-rest probabilities of a class."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    starts = _starts(values)
    mass = np.add.reduceat(weights, starts)
    hits = np.add.reduceat(weights * positive[order], starts)
    cuts = (values[starts[1:]] + values[starts[1:] - 1]) / 2
    low, high = (_isotonic_with(hits, mass, label) for label in (0.0, 1.0))
    return cuts, high / (1 - low + high)


def look_up(table: Table, values: Floats) -> Floats:
    """Probabilities of new scores."""
    cuts, shares = table
    return np.asarray(shares[np.searchsorted(cuts, values, side="right")])


def _starts(values: Floats) -> NDArray[np.intp]:
    """Starts of the bins in sorted values: at most BINS bins of about equal size, equal values in one bin."""
    n = len(values)
    wanted = (np.arange(min(BINS, n)) * n) // min(BINS, n)
    return np.unique(np.searchsorted(values, values[wanted], side="left"))


def _isotonic_with(hits: Floats, mass: Floats, label: float) -> Floats:
    """For each bin, the isotonic fit at a new row in it with this label and weight 1."""
    total, positive = (np.concatenate(([0.0], np.cumsum(part))) for part in (mass, hits))
    backward = np.tri(len(mass), k=-1, dtype=bool)  # intervals that end before they begin
    weight = np.where(backward, 1.0, total[1:] - total[:-1, np.newaxis] + 1.0)
    means = (positive[1:] - positive[:-1, np.newaxis] + label) / weight
    means[backward] = np.inf
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    least[backward] = -np.inf
    return np.asarray(least.max(axis=0))
