"""Exploring a pool: rows far from all rows that were asked about."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._pool import generator, sample
from ._strategy import Places
from .coverage import Distances, nearest, numeric

# Rows among which the furthest is looked for: at most so many, at most so many numbers, at least so many.
_MOST_ROWS, _MOST_VALUES, _LEAST_ROWS = 5_000, 1_000_000, 1_000

# The furthest row is asked about if it is so many times as far as rows are on the median. Chosen on
# development sets: the gain of exploring in two dimensions stays, its cost in twenty is gone.
_OUTSTANDING = 2.25


class Spread:
    """Rows far from all rows that were asked about, among some drawn from the pool.

    The distance of each candidate to the nearest row asked is kept and brought up to date, so that a query
    costs one distance for each candidate and each row asked since the last one.
    """

    def __init__(self, pool: Any, random_state: Any) -> None:
        self.pool = pool
        count = min(max(_LEAST_ROWS, min(_MOST_ROWS, _MOST_VALUES // max(1, pool.shape[1]))), pool.total)
        self.candidates = np.sort(sample(generator(random_state, 0), pool.total, count))
        self.features = numeric(pool.rows(self.candidates))
        self.nearest: Distances = np.full(count, np.inf)  # squared
        self.noted = np.zeros(pool.total, dtype=bool)

    def outstanding(self, n: int, random: np.random.RandomState) -> tuple[Places, list[float]]:
        """At most n of the furthest rows, each much further than rows usually are; often none.

        In many dimensions all rows are about equally far from each other, and the furthest one is just an
        outlier: asking about it costs a label and finds nothing.
        """
        rows, away = self.next([False] * n, random)
        is_open = ~self.pool.gone()[self.candidates]
        usual = float(np.sqrt(np.median(self.nearest[is_open]))) if is_open.any() else np.inf
        count = sum(distance > _OUTSTANDING * usual for distance in away)  # they come in descending order
        return rows[:count], away[:count]

    def next(self, drawn: Sequence[bool], random: np.random.RandomState) -> tuple[Places, list[float]]:
        """A row for each entry of ``drawn``, far from all before it, and how far; fewer if no row differs.

        True draws a row with a probability proportional to its squared distance, as k-means++ does; False
        takes the furthest. Where a class is rare but no outlier, the first finds it and the second does not.
        """
        gone = self.pool.gone()
        fresh = np.flatnonzero(gone & ~self.noted)
        if len(fresh):
            self.nearest = nearest(self.features, numeric(self.pool.rows(fresh)), self.nearest)
            self.noted |= gone
        is_open = ~gone[self.candidates]
        chosen: list[int] = []
        away: list[float] = []
        worth = np.where(is_open, self.nearest, 0.0)
        for by_chance in drawn:
            if not (worth > 0).any():
                break
            if np.isinf(worth.max()):  # nothing has been asked: any row
                best = int(random.choice(np.flatnonzero(is_open)))
            else:
                total = np.cumsum(worth)
                place = int(np.searchsorted(total, random.random_sample() * total[-1], side="right"))
                best = min(place, len(worth) - 1) if by_chance else int(worth.argmax())
            chosen.append(int(self.candidates[best]))
            away.append(float(np.sqrt(worth[best])))
            if len(chosen) < len(drawn):
                is_open[best] = False
                # Not kept: the row may be skipped, or its query withdrawn.
                worth = np.minimum(worth, nearest(self.features, self.features[[best]], self.nearest))
                worth[~is_open] = 0.0
        return np.array(chosen, dtype=np.intp), away
