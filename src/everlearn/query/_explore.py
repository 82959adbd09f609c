"""Exploring a pool: the row furthest from all rows that were asked about."""

from typing import Any

import numpy as np

from ._pool import generator, sample
from ._rule import Places
from .coverage import Distances, nearest, numeric

# Rows among which the furthest is looked for: at most so many, at most so many numbers, at least so many.
_MOST_ROWS, _MOST_VALUES, _LEAST_ROWS = 5_000, 1_000_000, 1_000


class Spread:
    """The row furthest from all rows that were asked about, among some drawn from the pool.

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

    def next(self, n: int, random: np.random.RandomState) -> tuple[Places, list[float]]:
        """At most n row numbers, each the furthest from all before, and their distances.

        Fewer where no candidate differs from the rows asked.
        """
        gone = self.pool.gone()
        fresh = np.flatnonzero(gone & ~self.noted)
        if len(fresh):
            self._note(numeric(self.pool.rows(fresh)))
            self.noted |= gone
        is_open = ~gone[self.candidates]
        chosen: list[int] = []
        away: list[float] = []
        worth = np.where(is_open, self.nearest, -1.0)
        while len(chosen) < n:
            best = int(worth.argmax())
            if worth[best] <= 0:
                break
            if not np.isfinite(worth[best]):  # nothing has been asked: any row
                best = int(random.choice(np.flatnonzero(is_open)))
            chosen.append(int(self.candidates[best]))
            away.append(float(np.sqrt(worth[best])))
            if len(chosen) < n:
                is_open[best] = False
                # Not noted: the row may be skipped, or its query withdrawn.
                worth = np.minimum(worth, nearest(self.features, self.features[[best]], self.nearest))
                worth[~is_open] = -1.0
        return np.array(chosen, dtype=np.intp), away

    def _note(self, rows: Any) -> None:
        self.nearest = nearest(self.features, rows, self.nearest)
