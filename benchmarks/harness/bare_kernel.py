"""Kernel values with nothing around them: the floor that training and prediction are held against.

Rows are widened by two columns so that one matrix product yields the exponent of the RBF kernel,
-gamma |x - s|^2; what is timed is that product and one `exp`, in blocks of 128 rows, float32.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

BLOCK = 128
DENSE_FEATURES = 1000  # sparse rows with at most so many columns are made dense


def _widened(X: Any, gamma: float, right: bool) -> Any:
    """Rows r(x), l(s) with r(x).l(s) = 2 gamma x.s - gamma |x|^2 - gamma |s|^2."""
    square = np.asarray(X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)).ravel()
    minus = (-gamma * square).astype(np.float32)[:, None]
    ones = np.ones_like(minus)
    columns = [X * np.float32(np.sqrt(2 * gamma)), *((ones, minus) if right else (minus, ones))]
    if sp.issparse(X):
        return sp.csr_matrix(sp.hstack(columns, format="csr"), dtype=np.float32)
    return np.ascontiguousarray(np.hstack(columns), dtype=np.float32)


class BareKernel:
    """Blocks of `rows` against `kept`, ready to be computed; only `compute` is meant to be timed."""

    def __init__(self, rows: Any, kept: Any, gamma: float, threads: int = 1) -> None:
        if sp.issparse(rows) and rows.shape[1] <= DENSE_FEATURES:
            rows, kept = rows.toarray(), kept.toarray()
        self.kept, self.threads = kept.shape[0], threads
        self.pool = None
        if threads > 1:  # `exp` has one thread, so blocks run side by side, one thread each
            threadpool_limits(1)
            self.pool = ThreadPoolExecutor(threads)
            list(self.pool.map(sum, [[1]] * threads))
        left, right = _widened(rows, gamma, right=False), _widened(kept, gamma, right=True)
        self.blocks = [left[i : i + BLOCK] for i in range(0, left.shape[0], BLOCK)]
        if sp.issparse(right):
            self.right = self._faster([right.T.toarray(order="C"), right.T.tocsr()])
        else:
            self.right = right.T

    def _faster(self, candidates: list[Any]) -> Any:
        seconds = []
        for candidate in candidates:
            self.right = candidate
            self._block(self.blocks[0], None)
            start = perf_counter()
            self._block(self.blocks[0], None)
            seconds.append(perf_counter() - start)
        return candidates[int(np.argmin(seconds))]

    def _block(self, block: Any, out: np.ndarray | None) -> np.ndarray:
        if out is not None:
            values = np.matmul(block, self.right, out=out[: block.shape[0]])
        else:
            values = block @ self.right
            values = values.toarray() if sp.issparse(values) else values
        return np.exp(values, out=values)

    def _run(self, sizes: list[tuple[int, int]]) -> None:
        dense = not sp.issparse(self.blocks[0])
        out = np.empty((BLOCK, self.kept), np.float32) if dense else None
        for index, size in sizes:
            self._block(self.blocks[index][:size], out)

    def compute(self, values: int | None = None) -> None:
        """Compute `values` kernel values, going round the blocks; None: every block once."""
        if values is None:
            sizes = [(i, block.shape[0]) for i, block in enumerate(self.blocks)]
        else:
            left, sizes, i = values // self.kept, [], 0
            while left > 0:
                index = i % len(self.blocks)
                sizes.append((index, min(left, self.blocks[index].shape[0])))
                left, i = left - sizes[-1][1], i + 1
        if self.pool is None:
            self._run(sizes)
        else:
            list(self.pool.map(self._run, [sizes[k :: self.threads] for k in range(self.threads)]))


def _kernel64(A: Any, B: Any, gamma: float) -> np.ndarray:
    product = A @ B.T
    product = product.toarray() if sp.issparse(product) else product
    squares = [
        np.asarray(M.multiply(M).sum(axis=1) if sp.issparse(M) else np.einsum("ij,ij->i", M, M)).ravel()
        for M in (A, B)
    ]
    product *= 2
    product -= squares[0][:, None]
    product -= squares[1]
    np.minimum(product, 0, out=product)
    product *= gamma
    return np.exp(product, out=product)


def decision_values(rows: Any, kept: Any, coef: np.ndarray, intercept: Any, gamma: float) -> np.ndarray:
    """sum_i coef_i k(kept_i, x) + intercept in float64, blockwise; coef is (k, len(kept))."""
    rows, kept = rows.astype(np.float64), kept.astype(np.float64)
    coef = np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64)
    parts = [_kernel64(rows[i : i + 512], kept, gamma) @ coef.T for i in range(0, rows.shape[0], 512)]
    return np.vstack(parts) + np.asarray(intercept, np.float64)


def dual_objective(kept: Any, coef: np.ndarray, gamma: float) -> list[float]:
    """sum |a| - a' K a / 2 for each row a of signed coefficients, in float64."""
    coef = np.asarray(coef.toarray() if sp.issparse(coef) else coef, np.float64)
    values = decision_values(kept, kept, coef, 0.0, gamma)
    return [float(np.abs(a).sum() - a @ v / 2) for a, v in zip(coef, values.T, strict=True)]
