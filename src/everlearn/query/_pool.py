"""What query strategies for a pool share: a draw that changes no generator, and the best of what is drawn."""

from abc import abstractmethod
from copy import copy, deepcopy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._scores import count_rows
from ._strategy import _LIMIT, Places, QueryStrategy
from .stream import _sliceable, _take

Worth = npt.NDArray[np.float64]

_MOST_SEED = 2**32 - 1

RANDOM_STATE = constraints.Constraint(
    f"None, an integer from 0 to {_MOST_SEED} or a RandomState",
    lambda value: (
        value is None
        or isinstance(value, np.random.RandomState)
        or (constraints.is_integer(value) and 0 <= value <= _MOST_SEED)
    ),
)
_DRAW = constraints.integer_from(0)


class PoolQueryStrategy(QueryStrategy):
    """A query strategy for a pool: draws some of its rows at random and takes those of the highest utility.

    Invariant: no call writes. A generator given as `random_state` is copied before it is used, so that a
    query is a function of the seed, the number of rows, n and the number of the draw. A loop that wants other
    rows in every round counts the draws.
    """

    random_state: Any
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"random_state": RANDOM_STATE}

    @property
    def rows_per_question(self) -> int:
        """A pool is no stream, and is not judged in groups."""
        raise AttributeError(
            f"{type(self).__name__} chooses from a pool and has no rows_per_question: for a stream take "
            "RampRegion or RecentMargin."
        )

    def query(self, model: Any, X: Any, n: int | None = 1, *, draw: int = 0) -> Places:
        """Which rows of a pool to ask about; nothing is changed, the generator included.

        Parameters
        ----------
        model : object
            A classifier that has learned something.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int, default=1
            At most so many rows, those of the highest utilities among the drawn; of equal ones those drawn
            first. None is all that are drawn.
        draw : int, default=0
            Number of the draw. With a seed the same number draws the same rows again, another one others: a
            loop counts it up. Without a seed every call draws others anyway.

        Returns
        -------
        ndarray of shape (n_asked,)
            Row numbers, ascending.
        """
        places, worth = self._candidates(model, X, n, draw)
        return np.sort(places[best_first(worth)[:n]])

    def _candidates(self, model: Any, X: Any, n: int | None, draw: int) -> tuple[Places, Worth]:
        """The rows looked at, in the order drawn, and their utilities."""
        places = self._drawn(X, n, draw)
        worth = self._judged(model, self._rows(X, n, places), n)
        return places[: len(worth)], worth

    def _drawn(self, X: Any, n: int | None, draw: int) -> Places:
        """The rows to look at, in the order drawn; all in their own order where the search is a full one."""
        constraints.check(self)
        if not _LIMIT.test(n):
            raise ValueError(f"n must be {_LIMIT.accepts}, got {n!r}.")
        if not _DRAW.test(draw):
            raise ValueError(f"draw must be {_DRAW.accepts}, got {draw!r}.")
        rows, size, name = count_rows(X), self._size(n), self._size_name
        if name is not None and size is not None and n is not None and n > size:
            raise ValueError(
                f"n={n} rows cannot be taken from {name}={size} drawn: set {name} to {n} or above."
            )
        if size is None or self._searches_all(rows, n):
            return np.arange(rows)
        return sample(generator(self.random_state, draw), rows, min(size, rows))

    def _rows(self, X: Any, n: int | None, places: Places) -> Any:
        """The rows drawn, without a copy where they are all of them."""
        return X if self._searches_all(count_rows(X), n) else _take(_sliceable(X), places)

    _size_name: ClassVar[str | None] = "pool_size"

    @abstractmethod
    def _size(self, n: int | None) -> int | None:
        """How many rows to draw at most; None for all."""

    def _searches_all(self, rows: int, n: int | None) -> bool:
        """Whether all rows are looked at, so that no draw is needed."""
        size = self._size(n)
        return size is None or size >= rows

    def _judged(self, model: Any, X: Any, n: int | None) -> Worth:
        """The utilities of drawn rows, as far as they are looked at."""
        return self._worth(model, X)

    def _asked(self, worth: Worth) -> Places:
        return np.arange(len(worth))  # which of them is a matter of the draw


def best_first(worth: Worth) -> Places:
    """Places from the highest utility to the lowest, the first of equal ones first."""
    return np.argsort(-worth, kind="stable")


def generator(random_state: Any, draw: int) -> np.random.RandomState:
    """A generator for one draw, which leaves the one it comes from as it is.

    Its numbers are the same with every release of NumPy: `RandomState` is frozen, and so is `SeedSequence`.
    """
    if random_state is None:
        return np.random.RandomState(np.random.MT19937())
    if isinstance(random_state, np.random.RandomState):
        random_state = deepcopy(random_state).randint(0, _MOST_SEED, dtype=np.uint32)
    seeds = np.random.SeedSequence([int(random_state), int(draw)])
    return np.random.RandomState(np.random.MT19937(seeds))


def sample(random: np.random.RandomState, rows: int, count: int) -> Places:
    """Draw ``count`` of ``rows`` numbers uniformly without replacement, in order.

    Cost: O(count), however large the pool is. It is the beginning of a shuffle (Fisher and Yates), which
    keeps only what it has moved; so a longer draw begins with the shorter one.
    """
    with_place = random.random_sample(count)
    moved: dict[int, int] = {}
    drawn = np.empty(count, dtype=np.intp)
    for place in range(count):
        other = place + int(with_place[place] * (rows - place))
        drawn[place] = moved.get(other, other)
        moved[other] = moved.get(place, place)
    return drawn


def seeded(query: Any, seed: int | None) -> Any:
    """A query strategy that draws by a seed, where its own ``random_state`` is None; otherwise itself."""
    if seed is None or not hasattr(query, "random_state") or query.random_state is not None:
        return query
    query = copy(query)
    query.random_state = seed
    return query
