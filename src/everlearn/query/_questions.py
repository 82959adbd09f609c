"""What to ask next in a loop over a pool: the rows that are left, and the selection of questions."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._explore import FarthestRows
from ._pool import best_first, generator, sample
from ._pool_model import PoolModel
from ._rows import Places, take
from ._scores import Scores, ScoresNotFinite
from ._strategy import QueryStrategy
from .coverage import NoDistances

RANDOM_START, FARTHEST_START = "cold start (random)", "cold start (farthest)"
EXPLORED, REASKED = "explore", "ask again"
_MAX_ANSWERS = 3  # for one row, when a strategy asks again
_ROWS_AT_ONCE = 2**20  # of a pool that is scored as a whole


@dataclass(frozen=True)
class PoolQuestion:
    """A row to ask about.

    Parameters
    ----------
    row : int
        Its number in the pool.
    chosen_by : str
        What chose it, as `History` names it.
    reason : str
        Why.
    scores : ndarray of shape (1, n_columns), default=None
        Its scores, if it was scored to be chosen.
    version : int, default=-1
        The version of the model that gave the scores.
    by_model : bool, default=False
        Whether the query strategy chose it, by the model.
    at_random : bool, default=False
        Whether it was drawn uniformly from the pool: then its label is an unbiased test of the model.
    """

    row: int
    chosen_by: str
    reason: str
    scores: Scores | None = None
    version: int = -1
    by_model: bool = False
    at_random: bool = False


class Pool:
    """The rows of a pool that have not been asked about, read only when they are needed.

    Invariant: the order of the remaining rows is a function of the rows removed and their order, so that a
    loop that is resumed after an interruption asks what it would have asked.
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
        """Read the same rows from another array."""
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
        return take(self.X, self.numbers[: self._left][places])

    def rows(self, numbers: Places) -> Any:
        """Rows by their numbers, whether they are left or not."""
        return take(self.X, numbers)

    def all_rows(self) -> Any:
        """The rows that are left; an array is kept in place from question to question."""
        if not isinstance(self.X, np.ndarray):
            return take(self.X, self.numbers[: self._left])
        if self._block is None:
            self._block = self.X[self.numbers[: self._left]]
        return self._block[: self._left]

    def gone(self) -> Places:
        """The numbers of the rows that are not left, ascending."""
        return np.sort(self.numbers[self._left :])

    def has(self, row: int) -> bool:
        """Whether a row is left."""
        return bool(self._place[row] < self._left)

    def has_each(self, rows: Places) -> Any:
        """Which of some rows are left, as a mask."""
        return self._place[rows] < self._left

    def remove(self, row: int) -> None:
        """Remove a row; the last one takes its place."""
        if self.has(row):
            self._left -= 1
            place = self._swap(row)
            if self._block is not None:
                self._block[place] = self._block[self._left]

    def give_back(self, row: int) -> None:
        """Put back a row that was removed."""
        if not self.has(row):
            self._swap(row)
            self._left += 1
            self._block = None

    def _swap(self, row: int) -> int:
        """Swap a row with the one at place ``_left``; returns its old place."""
        place, other = int(self._place[row]), int(self.numbers[self._left])
        self.numbers[place], self.numbers[self._left] = other, row
        self._place[other], self._place[row] = place, self._left
        return place


class _ForeignStrategy(QueryStrategy):
    """Any object with ``query(model, X, n)`` as a query strategy."""

    def __init__(self, strategy: Any) -> None:
        self.strategy = strategy

    @property
    def name(self) -> str:
        return type(self.strategy).__name__

    def query(self, model: Any, X: Any, n: int | None = None) -> Places:
        return np.asarray(self.strategy.query(model, X, n))

    def __repr__(self) -> str:
        return repr(self.strategy)


class _KnownScores:
    """A model whose scores of some rows are known."""

    def __init__(self, scores: Scores, classes: Any) -> None:
        self.scores, self.classes_ = scores, classes

    def decision_function(self, X: Any) -> Scores:
        return self.scores


class QuestionSelector:
    """Selects the rows of a pool to ask about next.

    The strategy selects once the model has seen two classes. Before, it has nothing to go by, and the cold
    start selects: rows drawn at random, rows far from all rows asked about, or both in turn. Every second
    question continues the cold start while one of the named classes has not been seen, or there are fewer
    labels than the strategy wants from it.
    """

    def __init__(self, pool: Pool, strategy: Any, cold_start: str, random_state: Any) -> None:
        self.pool, self.cold_start, self.random_state = pool, cold_start, random_state
        self.strategy = strategy if isinstance(strategy, QueryStrategy) else _ForeignStrategy(strategy)
        self._farthest_rows: FarthestRows | None = None

    def next(
        self,
        model: PoolModel,
        n: int,
        draw: int,
        n_seen: int,
        n_labels: float,
        answered: Callable[[], dict[int, list[Any]]],
    ) -> list[PoolQuestion]:
        """At most n questions.

        ``draw`` is the number of questions so far, ``n_seen`` that of classes seen, ``n_labels`` that of
        labels; ``answered`` returns the answers by row.
        """
        self.pool.use(model.rows)
        n, strategy = min(n, self.pool.left), self.strategy
        if strategy.is_random_sample and n > 0:  # needs no model, and no cold start may bias the sample
            return self._by_query(model, n, draw, [])
        n_classes = len(model.classes)
        in_turn = n_labels < strategy.cold_start_labels or n_seen < n_classes
        if n_seen >= 2 and model.ready and not (in_turn and n > 0 and draw // n % 2):
            with suppress(ScoresNotFinite):  # the model cannot score yet
                return self._by_strategy(model, n, draw, answered)
        if n == 0:
            return []
        reason = "a class has not been seen yet" if n_seen < n_classes else "there are few labels yet"
        reason = "the model has seen too few classes" if n_seen < 2 else reason
        return self._by_cold_start(n, draw, draw if n_seen < 2 else draw // n // 2, reason)

    # ---------------------------------------------------------------------------------------- by the strategy

    def _by_strategy(
        self, model: PoolModel, n: int, draw: int, answered: Callable[[], dict[int, list[Any]]]
    ) -> list[PoolQuestion]:
        strategy, found = self.strategy, list[PoolQuestion]()
        if _due(strategy.reask_every, draw, max(n, 1)):
            found = self._contradicted(model, answered())
        if n and len(found) < n and (count := _due(strategy.explore_every, draw, n)):
            found += self._outstanding(min(count, n - len(found)), draw)
        if n > len(found):
            select = self._by_scores if strategy.needs_pool and strategy.uses_scores_only else self._by_query
            found += select(model, n - len(found), draw, [question.row for question in found])
        return found

    def _by_scores(self, model: PoolModel, n: int, draw: int, without: list[int]) -> list[PoolQuestion]:
        """The selection of a strategy that needs scores only, best first; questions keep their scores."""
        strategy: Any = self.strategy
        more = min(n + len(without), self.pool.left)
        if strategy.searches_all(self.pool.left, more):
            places, scores = self._search_all(model, more, draw)
        else:
            drawn = strategy.draw_rows(self.pool, more, draw)
            of_drawn = model.scores(self.pool[drawn])
            best = best_first(strategy.utilities_from_scores(of_drawn), more)
            places, scores = drawn[best], of_drawn[best]
        reasons = strategy.reasons(_KnownScores(scores, model.classes), scores)
        return [
            PoolQuestion(row, strategy.name, reasons[i], scores[i : i + 1], model.version, by_model=True)
            for i, row in enumerate(self._at(places).tolist())
            if row not in without
        ][:n]

    def _search_all(self, model: PoolModel, most: int, draw: int) -> tuple[Places, Scores]:
        """The best places of the whole pool, and their scores. A large pool is scored in blocks."""
        strategy: Any = self.strategy
        strategy.check_draw(most, draw)
        rows = self.pool.all_rows()
        is_large = self.pool.left > _ROWS_AT_ONCE
        found: list[tuple[Places, Scores, Any]] = []
        for start in range(0, self.pool.left, _ROWS_AT_ONCE):
            scores = model.scores(take(rows, slice(start, start + _ROWS_AT_ONCE)) if is_large else rows)
            utilities = strategy.utilities_from_scores(scores)
            best = best_first(utilities, most)
            found.append((start + best, scores[best], utilities[best]))
        places, values, of_best = (np.concatenate(parts) for parts in zip(*found, strict=True))
        best = best_first(of_best, most)
        return places[best], values[best]

    def _by_query(self, model: PoolModel, n: int, draw: int, without: list[int]) -> list[PoolQuestion]:
        """The selection of any strategy, which gets the model itself."""
        strategy: Any = self.strategy
        more = min(n + len(without), self.pool.left)
        if strategy.needs_pool:
            whole = strategy.searches_all(self.pool.left, more)
            rows = self.pool.all_rows() if whole else self.pool
            places = strategy.query(model.model, rows, more, draw=draw)
        else:
            places = strategy.query(model.model, self.pool.all_rows(), more)
        numbers = [row for row in self._at(places)[:more].tolist() if row not in without][:n]
        if not numbers:
            return []
        at_random = strategy.is_random_sample
        reasons = strategy.reasons(model.model, self.pool.rows(np.array(numbers)))
        return [
            PoolQuestion(row, strategy.name, reason, by_model=not at_random, at_random=at_random)
            for row, reason in zip(numbers, reasons, strict=True)
        ]

    def _at(self, places: Places) -> Places:
        """The row numbers at some places of the pool."""
        places = np.asarray(places, dtype=np.intp)
        if len(places) and not 0 <= places.min() <= places.max() < self.pool.left:
            raise ValueError(
                f"{self.strategy!r} selected the places {places.tolist()}, but the pool has {self.pool.left} "
                "rows left."
            )
        return self.pool.numbers[: self.pool.left][places]

    def _outstanding(self, n: int, draw: int) -> list[PoolQuestion]:
        """Rows much farther from all rows asked about than others, if there are any."""
        try:
            rows, distances = self._farthest().outstanding(n, generator(self.random_state, draw))
        except NoDistances:
            return []
        return [
            PoolQuestion(row, EXPLORED, f"far from every row asked so far (distance {distance:.3g})")
            for row, distance in zip(rows.tolist(), distances, strict=True)
        ]

    def _contradicted(self, model: PoolModel, answered: dict[int, list[Any]]) -> list[PoolQuestion]:
        """The row that the model, having learned its label, puts farthest on the other side."""
        rows = [row for row, answers in answered.items() if len(answers) < _MAX_ANSWERS]
        if not rows:
            return []
        scores = model.scores_at(np.array(rows))
        labels = np.searchsorted(model.classes, [answered[row][-1] for row in rows])
        if scores.shape[1] == 1:
            against = np.where(labels == 0, scores[:, 0], -scores[:, 0])
        else:
            against = scores.max(axis=1) - scores[np.arange(len(rows)), labels]
        worst = int(against.argmax())
        if against[worst] <= 0:
            return []
        row, number = rows[worst], int(scores[worst].argmax()) if scores.shape[1] > 1 else 1 - labels[worst]
        reason = (
            f"asked again: the answer was {answered[row][-1]}, but the model, having learned it, still "
            f"predicts {model.classes[number]} (by {against[worst]:.2g})"
        )
        return [PoolQuestion(row, REASKED, reason, scores[worst : worst + 1], model.version)]

    # --------------------------------------------------------------------------------------------- cold start

    def _by_cold_start(self, n: int, draw: int, turn: int, why: str) -> list[PoolQuestion]:
        """Questions without a model: random rows, the farthest rows, or both in turn.

        In turn: a random row, a row drawn by its squared distance to all rows asked about, the farthest row.
        """
        kinds = {"random": [0], "farthest": [2], "alternate": [0, 1, 2]}[self.cold_start]
        kinds = [kinds[(turn + number) % len(kinds)] for number in range(n)]
        random = generator(self.random_state, draw)
        far = self._far_rows([kind == 1 for kind in kinds if kind > 0], random)
        drawn = self.pool.numbers[sample(random, self.pool.left, min(n + len(far), self.pool.left))]
        others = [row for row in drawn.tolist() if row not in far]
        reason = f"{why}: far from every row asked so far"
        found = [PoolQuestion(row, FARTHEST_START, reason) for row in far]
        uniform = self.cold_start != "farthest"
        chosen_by = RANDOM_START if uniform else FARTHEST_START
        return found + [
            PoolQuestion(row, chosen_by, f"{why}: drawn at random", at_random=uniform)
            for row in others[: n - len(far)]
        ]

    def _far_rows(self, drawn: list[bool], random: np.random.RandomState) -> list[int]:
        try:
            return self._farthest().next(drawn, random)[0].tolist() if drawn else []
        except NoDistances:
            if self.cold_start == "farthest":
                raise
            return []  # rows without distances are drawn at random

    def _farthest(self) -> FarthestRows:
        if self._farthest_rows is None:
            self._farthest_rows = FarthestRows(self.pool, self.random_state)
        return self._farthest_rows


def _due(every: int | None, draw: int, n: int) -> int:
    """How many of the next n questions are the last of every so many."""
    return 0 if every is None else (draw + n) // int(every) - draw // int(every)
