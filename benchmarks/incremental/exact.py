"""What the parts of the incremental benchmark measure alike: CPU time, and optimality by definition."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np

from .data import Rows

BLOCK = 1_000  # rows whose kernel values are in memory at a time


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    start = process_time()
    result = call()
    return result, process_time() - start


def warm_up() -> None:
    """Load lazily imported code before anything is measured."""
    from sklearn.svm import SVC

    from everlearn import IDSVM, LASVM, LocalSVM
    from everlearn.datasets import make_banana

    X, y = make_banana(200, random_state=0)
    for learner in (IDSVM(), LASVM(), LocalSVM()):
        learner.fit(X, y).partial_fit(X[:1], y[:1]).decision_function(X)
    IDSVM.from_svm(SVC().fit(X, y), X, y).forget(0).leave_one_out()


def expand(rows: Rows, at: np.ndarray, support: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """sum_s signed_s K(x_s, x) for the rows `at`, in NumPy and double precision."""
    centers, squares = rows.X[support], np.sum(rows.X[support] ** 2, axis=1)
    parts = [np.zeros(0)]
    for begin in range(0, len(at), BLOCK):
        block = rows.X[at[begin : begin + BLOCK]]
        apart = np.sum(block**2, axis=1)[:, None] + squares - 2 * block @ centers.T
        parts.append(np.exp(-rows.gamma * np.maximum(apart, 0)) @ signed)
    return np.concatenate(parts)


def residual(machine: Any, rows: Rows, kept: np.ndarray) -> dict[str, float]:
    """By how much the conditions of the SVM of the rows `kept` are violated, from the coefficients alone.

    y f(x) >= 1 where a = 0, <= 1 where a = C, = 1 between; and sum y a = 0. `machine.support_` numbers the
    rows of `rows`.
    """
    support, signed = machine.support_, np.ravel(machine.dual_coef_)
    alpha = np.zeros(len(rows.y))
    alpha[support] = signed * rows.y[support]
    excess = rows.y[kept] * (expand(rows, kept, support, signed) + machine.intercept_[0]) - 1
    low, high = alpha[kept] <= 0, alpha[kept] >= rows.C
    violation = np.where(low, -excess, np.where(high, excess, np.abs(excess)))
    return {"residual": float(max(violation.max(), 0)), "sum": float(abs(signed.sum()))}


def dual(rows: Rows, support: np.ndarray, signed: np.ndarray) -> float:
    """The dual objective, sum a - a'Qa / 2, which the SVM makes as large as it can."""
    alpha = signed * rows.y[support]
    return float(alpha.sum() - signed @ expand(rows, support, support, signed) / 2)
