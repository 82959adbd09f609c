"""The side of a loop that asks: the rows that are left, and which of them comes next."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._explore import Spread
from ._pool import PoolQueryStrategy, Worth, best_first, generator, sample
from ._scores import Scores, ScoresNotFinite, margins
from ._strategy import Places
from ._view import View
from .auto import Auto, boundary_reasons
from .coverage import NoDistances
from .margin import Margin
from .random_rows import Random
from .stream import _take

RANDOM_START, FARTHEST_START = "cold start (random)", "cold start (farthest)"
EXPLORED, AGAIN = "explore", "ask again"
_MOST_ANSWERS = 3  # for one row, when a strategy asks again
# `Auto` goes on with the cold start in every second query up to so many labels: with a handful of labels the
# boundary is nowhere near its place, and on imbalanced sets rows near to it are worse than random ones.
_FEW_LABELS = 20


@dataclass(frozen=True)
class Query:
    """A row to ask about, what chose it, why, and its scores if it was scored to be chosen."""

    row: int
    why: str
    reason: str
    scores: Scores | None = None  # one line
    version: int = -1  # of the model that gave the scores


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
        self._block: Any = None
        for row in gone:
            self.remove(row)

    def use(self, X: Any) -> None:
        """Take the same rows in another form."""
        if X is not self.X:
            self.X, self._block = X, None

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
        """The rows that are left; an array stays in place from query to query."""
        if not isinstance(self.X, np.ndarray):
            return _take(self.X, self.numbers[: self._left])
        if self._block is None:
            self._block = self.X[self.numbers[: self._left]]
        return self._block[: self._left]

    def gone(self) -> Any:
        """Which rows are not left."""
        return self._place >= self._left

    def has(self, row: int) -> bool:
        """Whether a row is left."""
        return bool(self._place[row] < self._left)

    def remove(self, row: int) -> None:
        """Take a row out; the last one gets its place."""
        if self.has(row):
            self._left -= 1
            place = self._swap(row)
            if self._block is not None:
                self._block[place] = self._block[self._left]

    def give_back(self, row: int) -> None:
        """Put a row back that was taken out."""
        if not self.has(row):
            self._swap(row)
            self._left += 1
            self._block = None

    def _swap(self, row: int) -> int:
        """Change places with the row at the end of those left, or just behind them; its old place."""
        place, other = int(self._place[row]), int(self.numbers[self._left])
        self.numbers[place], self.numbers[self._left] = other, row
        self._place[other], self._place[row] = place, self._left
        return place


class Questions:
    """Which rows of a pool to ask about next.

    By a strategy once the model has seen two classes. Before, a strategy has nothing to go by, and rows are
    drawn at random, or are those furthest from all that were asked about, or by turns. While some of the
    named classes have not been seen, every second query goes on so; with `Auto` also up to 20 labels.
    """

    def __init__(self, pool: Pool, query: Any, cold_start: str, random_state: Any) -> None:
        self.pool, self.query, self.cold_start, self.random_state = pool, query, cold_start, random_state
        self._spread: Spread | None = None

    def next(
        self,
        view: View,
        n: int,
        draw: int,
        seen: int,
        labels: float,
        answered: Callable[[], dict[int, list[Any]]],
    ) -> list[Query]:
        """At most n queries; how many there were, and how many classes and labels have been seen."""
        self.pool.use(view.rows)
        n = min(n, self.pool.left)
        if isinstance(self.query, Random) and n > 0:  # it needs no model, and stays a fair sample
            return self._foreign(view, n, draw, "drawn at random")
        few = isinstance(self.query, Auto) and labels < _FEW_LABELS
        by_turns = few or seen < len(view.classes)
        if seen >= 2 and view.ready and not (by_turns and n > 0 and draw // n % 2):
            with suppress(ScoresNotFinite):  # a model that cannot score yet
                return self._by_strategy(view, n, draw, answered)
        if n == 0:
            return []
        reason = "a class has not been seen yet" if seen < len(view.classes) else "there are few labels yet"
        reason = "the model has seen too few classes" if seen < 2 else reason
        return self._begin(n, draw, draw if seen < 2 else draw // n // 2, reason)

    # ---------------------------------------------------------------------------------------- by a strategy

    def _by_strategy(
        self, view: View, n: int, draw: int, answered: Callable[[], dict[int, list[Any]]]
    ) -> list[Query]:
        query = self.query
        if not isinstance(query, Auto):
            if n == 0:
                return []
            return self._by_margin(view, n, draw) if type(query) is Margin else self._foreign(view, n, draw)
        found: list[Query] = []
        if _due(query.reask_every, draw, max(n, 1)):
            found = self._again(view, answered())
        if n and len(found) < n and (count := _due(query.explore_every, draw, n)):
            found += self._furthest(min(count, n - len(found)), draw)
        if n > len(found):
            found += self._by_margin(view, n - len(found), draw, [q.row for q in found])
        return found

    def _by_margin(self, view: View, n: int, draw: int, without: list[int] | None = None) -> list[Query]:
        """The rows nearest to the boundary, with the scores by which they were chosen."""
        strategy: PoolQueryStrategy = self.query
        more = min(n + len(without or []), self.pool.left)
        places = strategy._drawn(self.pool, more, draw)
        whole = strategy._searches_all(self.pool.left, more)
        scores = view.scores(self.pool.all_rows() if whole else self.pool[places])
        worth: Worth = 0.0 - margins(scores)
        best = np.array([worth.argmax()]) if more == 1 else best_first(worth)[:more]
        numbers = self._at(places[best]).tolist()
        reasons = boundary_reasons(scores[best], view.classes)
        name = type(strategy).__name__
        return [
            Query(row, name, reasons[i], scores[best[i : i + 1]], view.version)
            for i, row in enumerate(numbers)
            if not without or row not in without
        ][:n]

    def _foreign(self, view: View, n: int, draw: int, reason: str | None = None) -> list[Query]:
        """The choice of any other strategy, which sees the model itself."""
        query, name = self.query, type(self.query).__name__
        if isinstance(query, PoolQueryStrategy):
            whole = query._searches_all(self.pool.left, n)
            rows = self.pool.all_rows() if whole else self.pool
            places = query.query(view.model, rows, n, draw=draw)
        else:
            places = np.asarray(query.query(view.model, self.pool.all_rows(), n))
        reason = f"chosen by {name}" if reason is None else reason
        return [Query(row, name, reason) for row in self._at(places)[:n].tolist()]

    def _at(self, places: Places) -> Places:
        """The row numbers at some places of the pool."""
        places = np.asarray(places, dtype=np.intp)
        if len(places) and not 0 <= places.min() <= places.max() < self.pool.left:
            raise ValueError(
                f"{self.query!r} chose places {places.tolist()}, and the pool has {self.pool.left} rows left."
            )
        return self.pool.numbers[: self.pool.left][places]

    def _furthest(self, n: int, draw: int) -> list[Query]:
        """Rows much further from all asked than others, where there are any."""
        try:
            rows, away = self._spreading().outstanding(n, generator(self.random_state, draw))
        except NoDistances:
            return []
        return [
            Query(row, EXPLORED, f"far from every row asked so far (distance {distance:.3g})")
            for row, distance in zip(rows.tolist(), away, strict=True)
        ]

    def _again(self, view: View, answered: dict[int, list[Any]]) -> list[Query]:
        """The row that the model, though it has learned the answer, puts furthest on the other side."""
        rows = [row for row, answers in answered.items() if len(answers) < _MOST_ANSWERS]
        if not rows:
            return []
        scores = view.scores_at(np.array(rows))
        labels = np.searchsorted(view.classes, [answered[row][-1] for row in rows])
        if scores.shape[1] == 1:
            against = np.where(labels == 0, scores[:, 0], -scores[:, 0])
        else:
            against = scores.max(axis=1) - scores[np.arange(len(rows)), labels]
        worst = int(against.argmax())
        if against[worst] <= 0:
            return []
        row, number = rows[worst], int(scores[worst].argmax()) if scores.shape[1] > 1 else 1 - labels[worst]
        reason = (
            f"asked again: the answer was {answered[row][-1]}, and the model, having learned it, still says "
            f"{view.classes[number]} (by {against[worst]:.2g})"
        )
        return [Query(row, AGAIN, reason, scores[worst : worst + 1], view.version)]

    # --------------------------------------------------------------------------------------------- cold start

    def _begin(self, n: int, draw: int, turn: int, missing: str) -> list[Query]:
        """Queries without a strategy: at random, spread, or by turns.

        By turns: a row at random, one drawn by its squared distance to all rows asked, and the furthest.
        """
        kinds = {"random": [0], "farthest": [2], "alternate": [0, 1, 2]}[self.cold_start]
        kinds = [kinds[(turn + number) % len(kinds)] for number in range(n)]
        random = generator(self.random_state, draw)
        far = self._far_rows([kind == 1 for kind in kinds if kind > 0], random)
        drawn = self.pool.numbers[sample(random, self.pool.left, min(n + len(far), self.pool.left))]
        others = [row for row in drawn.tolist() if row not in far]
        reason = f"{missing}: far from every row asked so far"
        found = [Query(row, FARTHEST_START, reason) for row in far]
        why = FARTHEST_START if self.cold_start == "farthest" else RANDOM_START
        return found + [Query(row, why, f"{missing}: drawn at random") for row in others[: n - len(far)]]

    def _far_rows(self, drawn: list[bool], random: np.random.RandomState) -> list[int]:
        try:
            return self._spreading().next(drawn, random)[0].tolist() if drawn else []
        except NoDistances:
            if self.cold_start == "farthest":
                raise
            return []  # rows without distances are drawn at random

    def _spreading(self) -> Spread:
        if self._spread is None:
            self._spread = Spread(self.pool, self.random_state)
        return self._spread


def _due(every: int | None, draw: int, n: int) -> int:
    """How many of the next n queries are one in so many."""
    return 0 if every is None else (draw + n) // int(every) - draw // int(every)
