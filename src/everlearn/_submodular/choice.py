"""Selection of rows with a linear term and pairwise similarities.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapters III to V::

    maximize F(A) = sum_{j in A} w_j + q sum_{j,j' in A} K_jj'   over |A| = k; ordered pairs with the diagonal

Labeling of unlabeled rows (q > 0), exemplars and queries (q < 0) are special cases. `Similarities` provides
K: from rows and a kernel, with values computed on demand and never an n x n matrix, or from a matrix of the
user.
`Choice` is the problem with its solvers. Ties are broken by row order.
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

_PICKS_PER_CALL = 20_000  # between calls of the core, Python handles Ctrl-C and shows progress
_ROWS_PER_CALL = 4096


@dataclass(frozen=True)
class Path:
    """Rows in the order of greedy selection: the first k are the solution for k.

    Parameters
    ----------
    order : ndarray of shape (k,)
        The rows.
    gains : ndarray of shape (k,)
        Increase of the objective by each row when it was selected.
    groups : ndarray of shape (k,)
        The set of each row, if there are several sets.
    evaluations : int
        Number of computed gains, including the first one of every row.
    """

    order: Ints
    gains: Floats
    groups: npt.NDArray[np.int32]
    evaluations: int


class Similarities:
    """Similarities of n rows under a kernel; they are not stored.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        The validated rows.
    kernel : Kernel, default=None
        The kernel; None is the linear kernel.
    n_jobs : int, default=None
        Number of threads.
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
        """Whether the kernel is linear, so that sums of similarities are products with the rows."""
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
        """A lower bound of the similarities."""
        return self.kernel.lowest(-float(self.squares.max(initial=0)))

    @property
    def highest(self) -> float:
        """An upper bound of the similarities."""
        return self.kernel.highest(float(self.squares.max(initial=0)))

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Multiply the matrix of similarities with weights: the sum over j of K(row, x_j) weights_j.

        Parameters
        ----------
        weights : ndarray of shape (n,) or (n, c)
            The weights.
        rows : ndarray or CSR matrix of shape (m, d), default=None
            The rows to sum for; None means X.

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

    def linearize(self, w: Floats, q: float, rows: Ints, k: int) -> Ints:
        """Replace the rows by those with the k largest slopes w + 2 q K p, as long as F increases."""
        value, sums = self._objective(w, q, rows)
        while True:
            new = largest(w + 2 * q * sums, k)
            risen, sums = self._objective(w, q, new)
            if not risen > value:
                return rows
            rows, value = new, risen

    def _objective(self, w: Floats, q: float, rows: Ints) -> tuple[float, Floats]:
        """F of a set, and the sums K p."""
        p = np.zeros(len(self))
        p[rows] = 1
        sums = self.times(p)
        return float(p @ w + q * (p @ sums)), sums

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """The block of K with these rows and columns."""
        return self.kernel.values(self.X[rows], self.X[columns])

    def greedy(self, base: Floats, twice_q: float, h: float, sizes: Sequence[int]) -> Path:
        """Select rows greedily into sets of given sizes; see ``core/lazy_greedy.hpp``."""
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
    """Similarities from a precomputed matrix.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The symmetric matrix.
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
        """Whether the kernel is known to be linear."""
        return False

    @property
    def definite(self) -> bool:
        """Whether similarities are known to be positive semi-definite."""
        return False

    def times(self, weights: Floats, rows: Rows = None) -> Floats:
        """Multiply the matrix with weights; ``rows`` are rows of precomputed similarities."""
        return np.asarray((self.K if rows is None else rows) @ weights)

    def block(self, rows: Ints, columns: Ints) -> Floats:
        """The block of K with these rows and columns."""
        return self.K[np.ix_(rows, columns)]

    def greedy(self, base: Floats, twice_q: float, h: float, sizes: Sequence[int]) -> Path:
        """Select rows greedily into sets of given sizes; with a stored matrix no bounds are needed."""
        n, room = len(self), np.array(sizes)
        # If there are several sets, h per selected row is subtracted when they are compared.
        gains = np.array(base, dtype=np.float64).reshape(n, len(room))
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
    """The k rows with the largest scores, in row order; ties are broken by row order."""
    n = len(scores)
    if not 0 < k < n:
        return np.arange(min(max(k, 0), n))
    least = np.partition(scores, n - k)[n - k]
    taken = scores > least
    taken[np.flatnonzero(scores == least)[: k - np.count_nonzero(taken)]] = True
    return np.flatnonzero(taken)


class Choice:
    """The problem of selecting k rows, with its solvers.

    Parameters
    ----------
    K : Similarities
        The similarities.
    w : ndarray of shape (n,)
        The linear term.
    q : float
        The weight of the pairs.
    h : float
        Upper bound of 2 q K_ij for any two rows.
    """

    def __init__(self, K: Similarities, w: Floats, q: float, h: float) -> None:
        self.K, self.w, self.q, self.h = K, w, float(q), float(h)

    def value(self, rows: Ints) -> float:
        """The objective F of a set of rows."""
        p = self._indicator(rows)
        return float(p @ self.w + self.q * (p @ self.K.times(p)))

    def slope(self, p: Floats) -> Floats:
        """The gradient of w'p + q p'Kp."""
        return np.asarray(self.w + 2 * self.q * self.K.times(p))

    def complement(self) -> "Choice":
        """The same problem, up to a constant, in terms of the rows that are not selected."""
        return Choice(self.K, -self.slope(np.ones(len(self.w))), self.q, self.h)

    def greedy(self, k: int) -> Path:
        """Select the row with the largest gain, k times."""
        return self.K.greedy(self.w + self.q * self.K.diagonal, 2 * self.q, self.h, [k])

    def linearize(self, rows: Ints, k: int) -> Ints:
        """Replace the rows by those with the k largest slopes, as long as F increases.

        With K positive semi-definite and q > 0 no step lowers F. Otherwise it may stop immediately.
        """
        return self.K.linearize(self.w, self.q, rows, k)

    def swap(self, rows: Ints) -> Ints:
        """Swap a selected row for another one, best swap first, as long as F increases; for small n.

        A swap changes F by slope_out - slope_in + q (K_in,in + K_out,out - 2 K_in,out). The last term is at
        most `reach`, so with q > 0 only rows with a slope within `reach` of the best on the other side are
        compared.
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
        """Greedy for the selected rows and for the others, both refined; the better set, and evaluations."""
        n = len(self.w)
        taken, left = self.greedy(k), self.complement().greedy(n - k)
        sides = [np.sort(taken.order), np.setdiff1d(np.arange(n), left.order)]
        sides = [self.linearize(side, k) for side in sides]
        return max(sides, key=self.value), taken.evaluations + left.evaluations

    def _indicator(self, rows: Ints) -> Floats:
        p = np.zeros(len(self.w))
        p[rows] = 1
        return p
