"""The similarities K of n rows, as the choice of rows asks for them: stored, on demand, or never formed.

`toward()` begins a choice: ``of(m)`` is Σ_{j∈A} K_mj over the rows taken so far, and ``take(m)`` adds one.
"""

import numpy as np
from scipy import sparse


class DeferredSums:
    """Adds to the sum of a row only what was taken since that row was last asked for, in that order.

    The order of additions is that of plain greedy, so the sums are the same to the last bit; and a pair of
    rows is computed at most once.
    """

    def __init__(self, K):
        self.K, self.order, self.sums, self.at = K, [], np.zeros(len(K)), np.zeros(len(K), int)

    def take(self, m):
        self.order.append(m)

    def of(self, m):
        new = self.order[self.at[m] :]
        self.sums[m] = np.cumsum(np.append(self.sums[m], self.K.block([m], new)))[-1]  # one after the other
        self.at[m] = len(self.order)
        return self.sums[m]


class SumVector:
    """Linear kernel: Σ_{j∈A} ⟨x_m, x_j⟩ = ⟨x_m, Σ_{j∈A} x_j⟩, one product however many were taken."""

    def __init__(self, X):
        self.X, self.sum = X, np.zeros(X.shape[1])

    def take(self, m):
        self.sum = self.sum + np.ravel(self.X[[m]].toarray() if sparse.issparse(self.X) else self.X[m])

    def of(self, m):
        return (self.X[[m]] @ self.sum)[0]


class Stored:
    """The n × n matrix in memory."""

    def __init__(self, K):
        self.K = np.asarray(K, float)

    def __len__(self):
        return len(self.K)

    def diagonal(self):
        return self.K.diagonal()

    def block(self, rows, columns):
        return self.K[np.ix_(rows, np.asarray(columns, int))]

    def times(self, p):
        return self.K @ p

    def toward(self):
        return DeferredSums(self)


class OnDemand(Stored):
    """kernel(X, Z) in blocks of rows: O(block · n) memory, no matrix. `computed` counts kernel values."""

    def __init__(self, kernel, X, block=64):
        self.kernel, self.X, self.size, self.computed = kernel, X, block, 0

    def __len__(self):
        return self.X.shape[0]

    def rows(self):
        return [range(i, min(i + self.size, len(self))) for i in range(0, len(self), self.size)]

    def diagonal(self):
        return np.array([self.block([i], [i])[0, 0] for i in range(len(self))])

    def block(self, rows, columns):
        self.computed += len(rows) * len(columns)
        return self.kernel(self.X[list(rows)], self.X[list(columns)])

    def times(self, p):
        return np.concatenate(
            [self.block(rows, range(len(self))) @ p for rows in self.rows()] or [np.zeros(0)]
        )


class Linear(OnDemand):
    """K = X X', X dense or CSR: every sum over rows is a product with a sum vector, O(nnz + n + d) memory."""

    def __init__(self, X):
        super().__init__(lambda A, B: (A @ B.T).toarray() if sparse.issparse(A) else A @ B.T, X)

    def diagonal(self):
        return np.asarray((self.X.multiply(self.X) if sparse.issparse(self.X) else self.X**2).sum(1)).ravel()

    def times(self, p):
        return self.X @ (self.X.T @ p)

    def toward(self):
        return SumVector(self.X)


def nystroem(K_rows, K_landmarks, tol=1e-12):
    """Features F with F F' = K_rows pinv(K_landmarks) K_rows'; all rows as landmarks: F F' is K itself."""
    values, vectors = np.linalg.eigh(K_landmarks)
    keep = values > tol * max(values.max(initial=0), 0)
    return K_rows @ vectors[:, keep] / np.sqrt(values[keep])
