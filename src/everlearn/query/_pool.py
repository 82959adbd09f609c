"""PoolQueryStrategy: draws rows from a pool and selects the best of them."""

from copy import copy, deepcopy
from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from ._rows import Places, count_rows, sliceable, take
from ._strategy import LIMIT, QueryStrategy, Utilities

_MAX_SEED = 2**32 - 1

RANDOM_STATE = constraints.Constraint(
    f"None, an integer from 0 to {_MAX_SEED} or a RandomState",
    lambda value: (
        value is None
        or isinstance(value, np.random.RandomState)
        or (constraints.is_integer(value) and 0 <= value <= _MAX_SEED)
    ),
)
_DRAW = constraints.integer_from(0)


class PoolQueryStrategy(QueryStrategy):
    """Selects from a pool: draws some of its rows at random and takes those with the highest utilities.

    Invariant: no call changes anything. A generator given as `random_state` is copied before use, so that the
    selection is a function of the seed, the pool, n and the number of the draw. A loop that wants other
    candidates in every round counts up the draws.
    """

    needs_pool: ClassVar[bool] = True
    random_state: Any
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"random_state": RANDOM_STATE}
    _size_parameter: ClassVar[str | None] = "pool_size"  # which limits how many rows are drawn, and a batch

    @property
    def max_batch_size(self) -> int | None:
        """How many rows `query` can select at once; None for no limit."""
        size = None if self._size_parameter is None else getattr(self, self._size_parameter)
        return None if size is None else int(size)

    def check_batch_size(self, n: int | None, name: str = "n") -> None:
        """Refuse a batch that is larger than what is drawn.

        Parameters
        ----------
        n : int or None
            The number of rows to select.
        name : str, default="n"
            How the caller names it.
        """
        most = self.max_batch_size
        if n is not None and most is not None and n > most:
            raise ValueError(
                f"{name}={n} is larger than {self._size_parameter}={most} of {self.name}: set "
                f"{self._size_parameter} to at least {n}."
            )

    def query(self, model: Any, X: Any, n: int | None = 1, *, draw: int = 0) -> Places:
        """Select rows of a pool to ask about; changes nothing, not even the generator.

        Parameters
        ----------
        model : object
            A fitted classifier.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int, default=1
            The maximum number of rows. Of the rows drawn, those with the highest utilities are selected; in
            case of ties those drawn first. None selects all that are drawn.
        draw : int, default=0
            The number of the draw. With a seed, the same number draws the same rows and another number draws
            others: a loop counts it up. Without a seed every call draws other rows anyway.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, ascending.
        """
        places, utilities = self.candidates(model, X, n, draw)
        return np.sort(places[best_first(utilities, n)])

    def candidates(self, model: Any, X: Any, n: int | None, draw: int) -> tuple[Places, Utilities]:
        """Draw rows and compute their utilities for a batch.

        Parameters
        ----------
        model : object
            A fitted classifier.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool, as the model takes it.
        n : int or None
            The size of the batch.
        draw : int
            The number of the draw.

        Returns
        -------
        tuple of (ndarray, ndarray)
            Row numbers in the order drawn, and the utility of each.
        """
        places = self.draw_rows(X, n, draw)
        utilities = self._batch_utilities(model, self._rows(X, n, places), n)
        return places[: len(utilities)], utilities

    def draw_rows(self, X: Any, n: int | None, draw: int) -> Places:
        """Draw the rows to look at.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The pool.
        n : int or None
            The size of the batch.
        draw : int
            The number of the draw.

        Returns
        -------
        ndarray of shape (n_drawn,)
            Row numbers in the order drawn; all, ascending, where all rows are searched.
        """
        self.check_draw(n, draw)
        n_rows, size = count_rows(X), self.draw_size(n)
        if size is None or self.searches_all(n_rows, n):
            return np.arange(n_rows)
        return sample(generator(self.random_state, draw), n_rows, min(size, n_rows))

    def check_draw(self, n: int | None, draw: int) -> None:
        """Refuse parameters that are not valid, and a batch that is larger than what is drawn.

        Parameters
        ----------
        n : int or None
            The size of the batch.
        draw : int
            The number of the draw.
        """
        constraints.check(self)
        for name, constraint, value in (("n", LIMIT, n), ("draw", _DRAW, draw)):
            if not constraint.test(value):
                raise ValueError(f"{name} must be {constraint.accepts}, got {value!r}.")
        self.check_batch_size(n)

    def draw_size(self, n: int | None) -> int | None:
        """Return how many rows are drawn at most.

        Parameters
        ----------
        n : int or None
            The size of the batch.

        Returns
        -------
        int or None
            The number; None for all rows.
        """
        return self.max_batch_size

    def searches_all(self, n_rows: int, n: int | None) -> bool:
        """Whether all rows are looked at in their order, so that nothing is drawn.

        Parameters
        ----------
        n_rows : int
            The size of the pool.
        n : int or None
            The size of the batch.

        Returns
        -------
        bool
            Whether all rows are searched.
        """
        size = self.draw_size(n)
        return size is None or size >= n_rows

    def _rows(self, X: Any, n: int | None, places: Places) -> Any:
        """The rows drawn; not copied where they are all of them."""
        return X if self.searches_all(count_rows(X), n) else take(sliceable(X), places)

    def _batch_utilities(self, model: Any, X: Any, n: int | None) -> Utilities:
        """The utilities of drawn rows for a batch of n, fewer where drawing ends before."""
        return self._utilities(model, X)


def best_first(utilities: Utilities, most: int | None = None) -> Places:
    """Places from the highest utility to the lowest, ``most`` at most; ties in their order, NaN last."""
    if most == 1 and len(utilities):
        best = np.argmax(utilities)
        if not np.isnan(utilities[best]):
            return np.array([best])
    if most and 4 * most < len(utilities):  # sorting all takes longer than scoring them
        least = np.partition(utilities, len(utilities) - most)[len(utilities) - most]
        high = np.flatnonzero(utilities >= least)
        if len(high) >= most:
            return np.asarray(high[np.argsort(-utilities[high], kind="stable")[:most]])
    return np.argsort(-utilities, kind="stable")[:most]


def generator(random_state: Any, draw: int) -> np.random.RandomState:
    """A generator for one draw; the one that it is derived from is not advanced.

    Its numbers do not change with the version of NumPy: `RandomState` and `SeedSequence` are frozen.
    """
    if random_state is None:
        return np.random.RandomState(np.random.MT19937())
    if isinstance(random_state, np.random.RandomState):
        random_state = deepcopy(random_state).randint(0, _MAX_SEED, dtype=np.uint32)
    seeds = np.random.SeedSequence([int(random_state), int(draw)])
    return np.random.RandomState(np.random.MT19937(seeds))


def sample(random: np.random.RandomState, n_rows: int, count: int) -> Places:
    """Draw ``count`` of ``n_rows`` numbers uniformly without replacement, in the order drawn.

    The first steps of a Fisher-Yates shuffle that stores only what it has moved: O(count), however large the
    pool is. A longer draw begins with the shorter one.
    """
    fractions = random.random_sample(count)
    moved: dict[int, int] = {}
    drawn = np.empty(count, dtype=np.intp)
    for place in range(count):
        other = place + int(fractions[place] * (n_rows - place))
        drawn[place] = moved.get(other, other)
        moved[other] = moved.get(place, place)
    return drawn


def seeded(strategy: Any, seed: int | None) -> Any:
    """The strategy, or a copy with a seed where its ``random_state`` is None."""
    if seed is None or not hasattr(strategy, "random_state") or strategy.random_state is not None:
        return strategy
    strategy = copy(strategy)
    strategy.random_state = seed
    return strategy
