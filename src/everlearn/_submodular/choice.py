"""Choosing rows: a linear term and pairwise similarities, whatever it is for.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapters III to V::

    maximize F(A) = sum_{j in A} w_j + q sum_{j,j' in A} K_jj'   over |A| = k; ordered pairs with the diagonal

Labels of unlabeled rows (q > 0), exemplars and questions (q < 0) are three settings of it. `Similarities`
says where K comes from: rows under a kernel, values on demand and never an n x n matrix, or a matrix that the
user has. `Choice` is the problem and the ways to solve it. Ties go to the lowest row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy import sparse
from tqdm.auto import tqdm

from .. import _core
from .._base.kernels import Kernel, Linear
from .._base.validate import Rows, as_block

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_PICKS_PER_CALL = 20_000  # between two calls of the core Python can stop on Ctrl-C and show progress
_ROWS_PER_CALL = 4096


@dataclass(frozen=True)
class Path:
    """Rows in the order in which greedy took them: the first k are its answer for k.

    Parameters
    ----------
    order : ndarray of shape (k,)
        The rows.
    gains : ndarray of shape (k,)
        What each added to the objective when it was taken.
    groups : ndarray of shape (k,)
        The set into which it was taken, where there are several.
    evaluations : int
        Gains computed, the first one of every row included.
    """

    order: Ints
    gains: Floats
    groups: npt.NDArray[np.int32]
    evaluations: int


class Similarities:
    """The similarities of n rows under a kernel; none is kept.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The rows, validated.
    kernel : Kernel, default=None
        The kernel; None is the linear one.
    n_jobs : int, default=None
        Threads.
    verbose : bool, default=False
        Whether to show progress.
    """

    def __init__(
        self,
        X: Rows,
        kernel: Kernel | None = None,
        *,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.X = X.astype(np.float64, copy=False)
        self.kernel = Linear() if kernel is None else kernel
        self.threads, self.verbose = effective_n_jobs(n_jobs), verbose

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @cached_property
    def _kept(self) -> Any:
        return _core.KernelRows(as_block(self.X), *self._arguments)

    @property
    def _arguments(self) -> tuple[str, float, float, int]:
        return self.kernel.name, self.kernel.gamma, self.kernel.coef0, self.kernel.degree

    @property
    def is_linear(self) -> bool:
        """Whether the rows themselves are all that is needed: sums of similarities are products with them."""
        return self.kernel.is_linear

    @property
    def definite(self) -> bool:
        """Whether similarities are known to be positive semi-definite."""
        return self.kernel.definite

    @cached_property
    def diagonal(self) -> Floats:
        """K_jj of every row."""
        return self.kernel.diagonal(self.squares)

    @cached_property
    def squares(self) -> Floats:
        """The squared length of every row."""
        return squared_lengths(self.X)

    @property
    def least(self) -> float:
        """No two rows are less similar than this."""
        return self.kernel.lowest(-float(self.squares.max(initial=0)))

    @property
    def highest(self) -> float:
        """No two rows are more similar than this."""
        return self.kernel.highest(float(self.squares.max(initial=0)))

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Sum the weights of the rows by their similarity to each of some rows, by default to each other.

        Parameters
        ----------
        weights : ndarray of shape (n,) or (n, c)
            The weights.
        rows : ndarray or CSR matrix of shape (m, d), default=None
            The rows to sum for.

        Returns
        -------
        ndarray of shape (m,) or (m, c)
            The sums.
        """
        rows = self.X if rows is None else rows.astype(np.float64, copy=False)
        if self.is_linear:
            return np.asarray(rows @ (self.X.T @ weights))
        columns = np.ascontiguousarray(weights.reshape(len(self), -1), dtype=np.float64)
        parts = []
        starts = range(0, rows.shape[0], _ROWS_PER_CALL)
        for start in tqdm(starts, desc="similarities", unit="block", disable=not self.verbose):
            block = as_block(rows[start : start + _ROWS_PER_CALL])
            parts.append(self._kept.times(block, columns, self.threads))
        sums = np.concatenate(parts) if parts else np.zeros((0, columns.shape[1]))
        return sums.reshape(rows.shape[0], *weights.shape[1:])

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """K between some rows and some others, as a matrix."""
        return self.kernel.values(self.X[rows], self.X[columns])

    def greedy(self, base: Floats, twice_q: float, h: float, sizes: Sequence[int]) -> Path:
        """Take rows into sets of given sizes; see ``core/lazy_greedy.hpp``."""
        wanted = np.asarray(sizes, dtype=np.int64)
        native = _core.LazyGreedy(
            as_block(self.X), *self._arguments, np.ascontiguousarray(base).ravel(), twice_q, h, wanted
        )
        total = int(min(wanted.sum(), len(self)))
        with tqdm(total=total, desc="choosing", unit="row", disable=not self.verbose) as bar:
            while not native.advance(min(_PICKS_PER_CALL, max(1, total - bar.n))) and bar.n < total:
                bar.update(min(_PICKS_PER_CALL, total - bar.n))
        return Path(native.order, native.gains, native.groups, int(native.evaluations))


class StoredSimilarities(Similarities):
    """Similarities that the user has as a matrix.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The matrix, symmetric.
    """

    def __init__(self, K: Floats) -> None:
        self.K = np.asarray(K, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.K)

    @cached_property
    def diagonal(self) -> Floats:
        """K_jj of every row."""
        return np.array(self.K.diagonal())

    @cached_property
    def least(self) -> float:
        """The lowest similarity."""
        return float(self.K.min(initial=np.inf))

    @cached_property
    def highest(self) -> float:
        """The highest similarity, or 0."""
        return float(self.K.max(initial=0.0))

    @property
    def is_linear(self) -> bool:
        """Whether the rows themselves are all that is needed."""
        return False

    @property
    def definite(self) -> bool:
        """Whether similarities are known to be positive semi-definite."""
        return False

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Sum the weights of the rows by their similarity to each; ``rows`` are lines of such a matrix."""
        return np.asarray((self.K if rows is None else rows) @ weights)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """K between some rows and some others, as a matrix."""
        return self.K[np.ix_(rows, columns)]

    def greedy(self, base: Floats, twice_q: float, h: float, sizes: Sequence[int]) -> Path:
        """Take rows into sets of given sizes, one at a time; a stored matrix needs no bounds."""
        n, room = len(self), np.array(sizes)
        gains = np.array(base, dtype=np.float64).reshape(n, len(room))  # h is taken off when sets compete
        order, taken, groups, evaluations = [], [], [], 0
        counts = np.zeros(len(room), dtype=np.int64)
        for step in range(int(min(room.sum(), n))):
            evaluations += n - step
            now = gains - h * counts if len(room) > 1 else gains
            row, group = divmod(int(np.argmax(np.where(counts < room, now, -np.inf))), len(room))
            order.append(row)
            groups.append(group)
            taken.append(gains[row, group])
            counts[group] += 1
            gains[:, group] += twice_q * self.K[:, row]
            gains[row] = -np.inf
        return Path(
            np.array(order, dtype=np.int64), np.array(taken), np.array(groups, dtype=np.int32), evaluations
        )


def squared_lengths(X: Rows) -> Floats:
    """||x||^2 of every row."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X)
        return np.asarray(
            sparse.csr_matrix((np.square(X.data), X.indices, X.indptr), X.shape) @ np.ones(X.shape[1])
        )
    return np.asarray(np.einsum("ij,ij->i", X, X))


def largest(scores: Floats, k: int) -> Ints:
    """The k rows with the largest scores, in ascending order; of equals the lowest rows."""
    n = len(scores)
    if not 0 < k < n:
        return np.arange(min(max(k, 0), n))
    least = np.partition(scores, n - k)[n - k]
    taken = scores > least
    taken[np.flatnonzero(scores == least)[: k - np.count_nonzero(taken)]] = True
    return np.flatnonzero(taken)


class Choice:
    """One problem: which k rows?

    Parameters
    ----------
    K : Similarities
        The similarities.
    w : ndarray of shape (n,)
        The linear term.
    q : float
        The weight of the pairs.
    h : float
        At least 2 q K_ij for any two rows.
    """

    def __init__(self, K: Similarities, w: Floats, q: float, h: float) -> None:
        self.K, self.w, self.q, self.h = K, w, float(q), float(h)

    def value(self, rows: Ints) -> float:
        """F of a set."""
        p = self._indicator(rows)
        return float(p @ self.w + self.q * (p @ self.K.times(p)))

    def slope(self, p: Floats) -> Floats:
        """The gradient of w'p + q p'Kp."""
        return np.asarray(self.w + 2 * self.q * self.K.times(p))

    def complement(self) -> "Choice":
        """The same problem, but for a constant, in terms of the rows that are left out."""
        return Choice(self.K, -self.slope(np.ones(len(self.w))), self.q, self.h)

    def greedy(self, k: int) -> Path:
        """The row with the largest gain, k times."""
        return self.K.greedy(self.w + self.q * self.K.diagonal, 2 * self.q, self.h, [k])

    def linearize(self, rows: Ints, k: int) -> Ints:
        """Take the k largest slopes, again from there, while F rises.

        With K positive semi-definite and q > 0 no sweep lowers F; otherwise it may stop at once.
        """
        p = self._indicator(rows)
        sums = self.K.times(p)
        value = p @ self.w + self.q * (p @ sums)
        while True:
            new = largest(self.w + 2 * self.q * sums, k)
            p = self._indicator(new)
            sums = self.K.times(p)
            risen = p @ self.w + self.q * (p @ sums)
            if not risen > value:
                return rows
            rows, value = new, risen

    def swap(self, rows: Ints) -> Ints:
        """Exchange one row for another, the best exchange first, while that raises F: for small n.

        F rises by slope_out - slope_in + q (K_in,in + K_out,out - 2 K_in,out), of which the last term is at
        most `reach`: with q > 0 only rows whose slope is so near to the best of the other side are compared.
        """
        rows, own = np.sort(rows), self.K.diagonal
        reach = 2 * self.q * (own.max(initial=0) - self.K.least) if self.q > 0 else np.inf
        while 0 < len(rows) < len(self.w):
            slope = self.slope(self._indicator(rows))
            least_rise = 1e-12 * (1 + np.abs(slope).max())
            left = np.setdiff1d(np.arange(len(self.w)), rows)
            near = rows[slope[rows] <= slope[left].max() + reach]
            out = left[slope[left] >= slope[rows].min() - reach]
            if not (len(near) and len(out)):
                break
            pairs = own[near][:, np.newaxis] + own[out] - 2 * self.K.block(near, out)
            rise = slope[out] - slope[near][:, np.newaxis] + self.q * pairs
            i, j = np.unravel_index(np.argmax(rise), rise.shape)
            if rise[i, j] <= least_rise:
                break
            rows = np.sort(np.append(rows[rows != near[i]], out[j]))
        return rows

    def two_sided(self, k: int) -> tuple[Ints, int]:
        """Greedy for the rows to take and for those to leave, both refined: the better, and evaluations."""
        n = len(self.w)
        taken, left = self.greedy(k), self.complement().greedy(n - k)
        sides = [np.sort(taken.order), np.setdiff1d(np.arange(n), left.order)]
        sides = [self.linearize(side, k) for side in sides]
        return max(sides, key=self.value), taken.evaluations + left.evaluations

    def _indicator(self, rows: Ints) -> Floats:
        p = np.zeros(len(self.w))
        p[rows] = 1
        return p
