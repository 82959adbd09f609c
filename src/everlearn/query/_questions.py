"""The side of a loop that asks: the rows that are left, and which of them comes next."""

from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from ._pool import PoolRule, generator, sample
from ._rule import Places
from ._scores import ScoresNotFinite
from .random_rows import Random
from .stream import _take

# Among how many rows the one furthest from all that were asked about is looked for.
_SPREAD_ROWS = 10_000


class Pool:
    """The rows of a pool that have not been asked about, fetched only when they are looked at.

    Invariant: the order of the rows that are left is a function of the rows taken out and their order, so
    that a loop which goes on after an interruption asks what it would have asked.
    """

    def __init__(self, X: Any, total: int, gone: list[int]) -> None:
        self.X, self.total = X, total
        self.numbers: Places = np.arange(total)
        self._place = np.arange(total)
        self._left = total
        for row in gone:
            self.remove(row)

    @property
    def left(self) -> int:
        """How many rows are left."""
        return self._left

    @property
    def shape(self) -> tuple[int, int]:
        return self._left, self.X.shape[1]

    def __len__(self) -> int:
        return self._left

    def __getitem__(self, places: Any) -> Any:
        return _take(self.X, self.numbers[: self._left][places])

    def rows(self, numbers: Places) -> Any:
        """Rows by their numbers, whether they are left or not."""
        return _take(self.X, numbers)

    def all_rows(self) -> Any:
        """The rows that are left."""
        return _take(self.X, self.numbers[: self._left])

    def has(self, row: int) -> bool:
        """Whether a row is left."""
        return bool(self._place[row] < self._left)

    def remove(self, row: int) -> None:
        """Take a row out; the last one gets its place."""
        if self.has(row):
            self._left -= 1
            self._swap(row)

    def give_back(self, row: int) -> None:
        """Put a row back that was taken out."""
        if not self.has(row):
            self._swap(row)
            self._left += 1

    def _swap(self, row: int) -> None:
        """Change places with the row at the end of those left, or just behind them."""
        place, other = int(self._place[row]), int(self.numbers[self._left])
        self.numbers[place], self.numbers[self._left] = other, row
        self._place[other], self._place[row] = place, self._left


class Questions:
    """Which rows of a pool to ask about next.

    By a rule once the model has seen two classes. Before, a rule has nothing to go by, and the rows are drawn
    at random or spread over the pool: always the one furthest from all that were asked about. While some of
    the named classes have not been seen, every second question goes on in this way.
    """

    def __init__(self, pool: Pool, query: Any, cold_start: str, random_state: Any) -> None:
        self.pool, self.query, self.cold_start, self.random_state = pool, query, cold_start, random_state
        self._spread: _Spread | None = None

    def next(self, model: Any, n: int, draw: int, seen: int, classes: int) -> tuple[Places, str]:
        """Row numbers, at most n, and why these."""
        n = min(n, self.pool.left)
        if n == 0:
            return np.zeros(0, dtype=np.intp), ""
        name = type(self.query).__name__
        if isinstance(self.query, Random):  # it needs no model, and stays a fair sample
            return self._at(self._by_rule(model, n, draw)), name
        if seen >= 2 and (seen >= classes or draw // n % 2 == 0):
            with suppress(ScoresNotFinite):  # a model that cannot score yet
                return self._at(self._by_rule(model, n, draw)[:n]), name
        return self._explore(n, draw), f"cold start ({self.cold_start})"

    def _at(self, places: Places) -> Places:
        """The row numbers at some places of the pool."""
        places = np.asarray(places, dtype=np.intp)
        if len(places) and not 0 <= places.min() <= places.max() < self.pool.left:
            raise ValueError(
                f"{self.query!r} chose places {places.tolist()}, and the pool has {self.pool.left} rows left."
            )
        return self.pool.numbers[: self.pool.left][places]

    def _explore(self, n: int, draw: int) -> Places:
        random = generator(self.random_state, draw)
        if self.cold_start == "random":
            return self.pool.numbers[sample(random, self.pool.left, n)]
        if self._spread is None:
            self._spread = _Spread(self.pool, self.random_state)
        return self._spread.next(n, random)

    def _by_rule(self, model: Any, n: int, draw: int) -> Places:
        if not isinstance(self.query, PoolRule):
            return np.asarray(self.query.query(model, self.pool.all_rows(), n))
        whole = self.query._searches_all(self.pool.left, n)
        return self.query.query(model, self.pool.all_rows() if whole else self.pool, n, draw=draw)


class _Spread:
    """The row furthest from all rows that were asked about, among some drawn from the pool."""

    def __init__(self, pool: Pool, random_state: Any) -> None:
        self.pool = pool
        count = min(_SPREAD_ROWS, pool.total)
        self.candidates = np.sort(sample(generator(random_state, 0), pool.total, count))
        self.features = _numeric(pool.rows(self.candidates))
        # Squared distance to the nearest row asked about.
        self.nearest = np.full(count, np.inf)
        self.noted = np.zeros(pool.total, dtype=bool)

    def next(self, n: int, random: np.random.RandomState) -> Places:
        chosen: list[int] = []
        gone = self.pool._place >= self.pool.left
        for row in np.flatnonzero(gone & ~self.noted):
            self._note(self.pool.rows(np.array([row])))
        self.noted |= gone
        open_rows = ~gone[self.candidates]
        while len(chosen) < n:
            worth = np.where(open_rows, self.nearest, -1.0)
            best = int(worth.argmax())
            if worth[best] <= 0:  # nothing here differs from what was asked about
                others = np.setdiff1d(self.pool.numbers[: self.pool.left], chosen)
                more = random.permutation(others)[: n - len(chosen)]
                return np.array([*chosen, *more], dtype=np.intp)
            if not np.isfinite(worth[best]):  # the first question of all: any row
                best = int(random.choice(np.flatnonzero(open_rows)))
            chosen.append(int(self.candidates[best]))
            open_rows[best] = False
            self._note(self.features[[best]])
        return np.array(chosen, dtype=np.intp)

    def _note(self, row: Any) -> None:
        away = euclidean_distances(self.features, _numeric(row), squared=True)[:, 0]
        self.nearest = np.minimum(self.nearest, away)


def _numeric(rows: Any) -> Any:
    if sparse.issparse(rows):
        return rows
    try:
        values: npt.NDArray[np.float64] = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full((1, 1), np.nan)
    if not np.isfinite(values).all():
        raise ValueError(
            "The pool has rows that are not finite numbers, between which cold_start='spread' knows no "
            "distance: convert them, or take cold_start='random'."
        )
    return values
