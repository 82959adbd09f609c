"""Exploring a pool: rows far from all rows asked about."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._pool import generator, sample
from ._rows import Places
from .coverage import Distances, nearest, numeric

# The farthest row is searched among a sample of the pool: its maximum size, in rows and in values, and its
# minimum size.
_MAX_ROWS, _MAX_VALUES, _MIN_ROWS = 5_000, 1_000_000, 1_000

# The farthest row is asked about if its distance is this many times the median one. Chosen on development
# data: it keeps the gain of exploring in two dimensions and avoids its cost in twenty.
_OUTSTANDING = 2.25


class FarthestRows:
    """Finds rows far from all rows asked about, in a sample of the pool.

    The distance of each candidate to the nearest row asked about is kept up to date, so that a call costs one
    distance for each candidate and each row asked about since the last call.
    """

    def __init__(self, pool: Any, random_state: Any) -> None:
        self.pool = pool
        count = min(max(_MIN_ROWS, min(_MAX_ROWS, _MAX_VALUES // max(1, pool.shape[1]))), pool.total)
        self.candidates = np.sort(sample(generator(random_state, 0), pool.total, count))
        self.features = numeric(pool.rows(self.candidates))
        self.nearest: Distances = np.full(count, np.inf)  # squared
        self.noted = np.zeros(pool.total, dtype=bool)

    def outstanding(self, n: int, random: np.random.RandomState) -> tuple[Places, list[float]]:
        """At most n of the farthest rows, each much farther than the median row; often none.

        In many dimensions all rows are about equally far from each other, and the farthest one is just an
        outlier: a label for it is wasted.
        """
        rows, distances = self.next([False] * n, random)
        is_open = self.pool.has_each(self.candidates)
        median = float(np.sqrt(np.median(self.nearest[is_open]))) if is_open.any() else np.inf
        count = sum(distance > _OUTSTANDING * median for distance in distances)  # in descending order
        return rows[:count], distances[:count]

    def next(self, drawn: Sequence[bool], random: np.random.RandomState) -> tuple[Places, list[float]]:
        """A row for each entry of ``drawn``, and its distance to all before it; fewer if no row differs.

        True draws a row with a probability proportional to its squared distance, as k-means++ does; False
        takes the farthest. Drawing finds a class that is rare without being an outlier; the farthest row
        does not.
        """
        gone = self.pool.gone()
        fresh = gone[~self.noted[gone]]
        if len(fresh):
            self.nearest = nearest(self.features, numeric(self.pool.rows(fresh)), self.nearest)
            self.noted[fresh] = True
        is_open = self.pool.has_each(self.candidates)
        chosen: list[int] = []
        distances: list[float] = []
        squared = np.where(is_open, self.nearest, 0.0)
        for by_chance in drawn:
            if not (squared > 0).any():
                break
            if np.isinf(squared.max()):  # nothing has been asked: any row
                best = int(random.choice(np.flatnonzero(is_open)))
            else:
                total = np.cumsum(squared)
                place = int(np.searchsorted(total, random.random_sample() * total[-1], side="right"))
                best = min(place, len(squared) - 1) if by_chance else int(squared.argmax())
            chosen.append(int(self.candidates[best]))
            distances.append(float(np.sqrt(squared[best])))
            if len(chosen) < len(drawn):
                is_open[best] = False
                # Not stored: the row may be skipped, or its question withdrawn.
                squared = np.minimum(squared, nearest(self.features, self.features[[best]], self.nearest))
                squared[~is_open] = 0.0
        return np.array(chosen, dtype=np.intp), distances
