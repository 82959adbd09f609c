"""DistributedPool: questions from a pool of rows on several machines.

A. Agarwal, L. Bottou, M. Dudik, J. Langford, "Para-active Learning" (2013): many machines look for rows that
are worth a label, one learner is updated with them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.validate import Rows
from ._client import check_asynchronous, client_of, n_workers
from ._exchange import TaskNames
from ._partitions import in_partition, partition, read_rows, stack_rows

Places = npt.NDArray[np.intp]


class DistributedPool:
    """A pool of unlabeled rows on the workers of a Dask cluster, and the query strategies on it.

    Each partition scores its own rows and sends back its best candidates: row numbers and utilities. So the
    rows that are selected are those that the strategy selects from the whole pool on one machine, in the same
    order, and a model that learns them is the same. Rows with answers leave the pool by `remove`.

    Parameters
    ----------
    X : Dask array or frame, ndarray, sparse matrix, pandas frame, or paths
        The rows, as in `DistributedSVM.fit`; of a frame or of files all columns are features.
    client : distributed.Client, default=None
        The client of the cluster; None takes the present one.
    n_partitions : int, default=None
        Number of partitions of rows in memory; None is one for each worker.

    Attributes
    ----------
    n_rows : int
        Number of rows at the start.
    n_left : int
        Number of rows that were not removed.
    bytes_sent, bytes_received : int
        Bytes of row numbers and utilities so far, without models.

    Examples
    --------
    >>> from distributed import Client
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.distributed import DistributedPool
    >>> from everlearn.query import Margin
    >>> X, y = make_banana(2000, random_state=0)
    >>> client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    >>> pool = DistributedPool(X)
    >>> model = LASVM(C=10, gamma=1.0).partial_fit(X[:50], y[:50], classes=[-1, 1])
    >>> for step in range(20):
    ...     rows = pool.query(Margin(pool_size=None), model, n=5)
    ...     model = model.partial_fit(pool.take(rows), y[rows])
    ...     pool.remove(rows)
    >>> pool.n_left, model.finish().score(X, y) > 0.9
    (1900, True)
    >>> client.close()
    """

    def __init__(self, X: Any, *, client: Any = None, n_partitions: int | None = None) -> None:
        self.client = client_of(client)
        check_asynchronous(self.client)
        self._names = TaskNames()
        sources = partition(self.client, X, None, None, n_partitions)
        self._parts = self._submit("pool", _read, [source.X for source in sources], range(len(sources)))
        shapes = self.client.gather(self._submit("shape", _shape, self._parts))
        widths = {width for count, width in shapes if count}
        if len(widths) != 1:
            raise ValueError(f"All partitions must have rows of the same width, got {sorted(widths)!r}.")
        self._first = np.cumsum([0, *(count for count, _ in shapes)])
        self._shape = (int(self._first[-1]), widths.pop())
        self._gone = np.zeros(0, dtype=np.int64)  # ascending
        self.bytes_sent = self.bytes_received = 0

    @property
    def n_rows(self) -> int:
        """Number of rows at the start."""
        return self._shape[0]

    @property
    def n_left(self) -> int:
        """Number of rows that were not removed."""
        return self._shape[0] - len(self._gone)

    def query(self, strategy: Any, model: Any, n: int | None = 1, *, draw: int = 0) -> Places:
        """Select rows to ask about; changes nothing.

        Parameters
        ----------
        strategy : query strategy
            A strategy for pools that uses decision values only, such as `query.Margin` or `query.Auto`.
        model : classifier
            A fitted classifier with a ``decision_function``.
        n : int, default=1
            The maximum number of rows; None selects all that the strategy draws.
        draw : int, default=0
            The number of the draw, as in the `query` of the strategy.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, ascending: those that ``strategy.query(model, X_left, n, draw=draw)`` selects from
            the rows that are left.
        """
        if not (getattr(strategy, "needs_pool", False) and getattr(strategy, "uses_scores_only", False)):
            raise TypeError(
                f"{type(strategy).__name__} needs more than the decision values of each row: choose a "
                "strategy for pools such as query.Margin."
            )
        if self.n_left == 0:
            return np.zeros(0, dtype=np.intp)
        left = _Shape((self.n_left, self._shape[1]))
        if strategy.searches_all(self.n_left, n):
            strategy.draw_rows(_Shape((1, 1)), n, draw)  # checks its parameters
            return self._best_of_all(strategy, model, n)
        rows = self._numbers(strategy.draw_rows(left, n, draw))
        utilities = self._utilities(strategy, model, rows)
        return np.sort(rows[np.argsort(-utilities, kind="stable")[:n]])

    def decision_function(self, model: Any) -> npt.NDArray[np.float64]:
        """Score all rows, also those that were removed.

        Parameters
        ----------
        model : classifier
            A fitted classifier with a ``decision_function``.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The decision values.
        """
        shared = self._share(model)
        return np.concatenate(
            self.client.gather(self._submit("scores", _scores, self._parts, [shared] * len(self._parts)))
        )

    def take(self, rows: Any) -> Rows:
        """Fetch rows by their numbers.

        Parameters
        ----------
        rows : array-like of int
            Row numbers.

        Returns
        -------
        ndarray, CSR matrix or pandas frame of shape (n_rows, n_features)
            The rows, in the order of the numbers.
        """
        wanted = self._checked(rows)
        found = self._of_parts("take", _take, wanted)
        return stack_rows([part for part, _ in found], np.argsort(np.concatenate([at for _, at in found])))

    def remove(self, rows: Any) -> None:
        """Take rows out of the pool, because they have been asked about.

        Parameters
        ----------
        rows : array-like of int
            Row numbers.
        """
        self._gone = np.union1d(self._gone, self._checked(rows))

    def close(self) -> None:
        """Let the workers forget the pool."""
        for future in self._parts:
            future.release()
        self._parts = []

    # ------------------------------------------------------------------------------------------------ tasks

    def _best_of_all(self, strategy: Any, model: Any, n: int | None) -> Places:
        shared, count = self._share((strategy, model)), len(self._parts)
        gone = [self._gone[(self._gone >= a) & (self._gone < b)] - a for a, b in self._ranges()]
        self.bytes_sent += sum(part.nbytes for part in gone)
        found = self.client.gather(
            self._submit("best", _best, self._parts, [shared] * count, gone, [n] * count, range(count))
        )
        self.bytes_received += sum(rows.nbytes + values.nbytes for rows, values in found)
        rows = np.concatenate([rows + a for (rows, _), (a, _) in zip(found, self._ranges(), strict=True)])
        utilities = np.concatenate([values for _, values in found])
        return np.sort(rows[np.argsort(-utilities, kind="stable")[:n]]).astype(np.intp)

    def _utilities(self, strategy: Any, model: Any, rows: Places) -> npt.NDArray[np.float64]:
        shared = self._share((strategy, model))
        found = self._of_parts("utilities", _utilities_of, rows, shared)
        utilities = np.zeros(len(rows))
        for values, at in found:
            utilities[at] = values
            self.bytes_received += values.nbytes
        return utilities

    def _of_parts(self, what: str, function: Callable[..., Any], rows: Places, *more: Any) -> list[Any]:
        """The results of a function for those rows that a partition has, and their places in the list."""
        owner = np.searchsorted(self._first, rows, side="right") - 1
        parts = np.unique(owner) if len(rows) else np.array([0])
        places = [np.flatnonzero(owner == part) for part in parts]
        own = [rows[at] - self._first[part] for at, part in zip(places, parts, strict=True)]
        self.bytes_sent += sum(part.nbytes for part in own)
        columns = [[value] * len(parts) for value in more]
        futures = self._submit(what, function, [self._parts[part] for part in parts], own, *columns)
        return list(zip(self.client.gather(futures), places, strict=True))

    def _numbers(self, places: Places) -> Places:
        """Row numbers of places among the rows that are left."""
        before = self._gone - np.arange(len(self._gone))
        return np.asarray(places + np.searchsorted(before, places, side="right"), dtype=np.intp)

    def _ranges(self) -> list[tuple[int, int]]:
        return list(zip(self._first[:-1].tolist(), self._first[1:].tolist(), strict=True))

    def _checked(self, rows: Any) -> Places:
        wanted = np.atleast_1d(np.asarray(rows))
        if wanted.size == 0:
            return np.zeros(0, dtype=np.intp)
        if wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= self.n_rows:
            raise ValueError(f"rows must be row numbers from 0 to {self.n_rows - 1}, got {rows!r}.")
        return wanted.astype(np.intp)

    def _submit(self, what: str, function: Callable[..., Any], *columns: Any) -> list[Any]:
        return self._names.submit(self.client, what, function, *columns)

    def _share(self, value: Any) -> Any:
        n_workers(self.client)
        return self._submit("share", _same, [value])[0]


class _Shape:
    """What a strategy that draws rows asks of a pool."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape


# ------------------------------------------------------------------------------------------------ on a worker


def _same(value: Any) -> Any:
    return value


def _read(X: Any, number: int) -> Any:
    return read_rows(X, number)


def _shape(X: Any) -> tuple[int, int]:
    return int(X.shape[0]), int(X.shape[1])


def _rows_at(X: Any, places: Any) -> Any:
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def _take(X: Any, places: Places) -> Any:
    return _rows_at(X, places)


def _scores(X: Any, model: Any) -> Any:
    return model.decision_function(X)


def _utilities_of(X: Any, places: Places, shared: Any) -> npt.NDArray[np.float64]:
    strategy, model = shared
    return np.asarray(strategy.utilities(model, _rows_at(X, places)))


def _best(
    X: Any, shared: Any, gone: Places, n: int | None, number: int
) -> tuple[Places, npt.NDArray[np.float64]]:
    """The best rows of a partition, by utility and then by number, and their utilities."""
    left = np.setdiff1d(np.arange(X.shape[0]), gone, assume_unique=True)
    if len(left) == 0:
        return left, np.zeros(0)
    with in_partition(number):
        utilities = _utilities_of(X, left, shared) if len(gone) else _all_utilities(X, shared)
    best = np.argsort(-utilities, kind="stable")[:n]
    return left[best], utilities[best]


def _all_utilities(X: Any, shared: Any) -> npt.NDArray[np.float64]:
    strategy, model = shared
    return np.asarray(strategy.utilities(model, X))
