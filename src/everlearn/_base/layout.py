"""How the rows under a kernel are kept: dense or sparse, and around which center."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .kernels import Kernel
from .validate import Rows

# Wide rows with a smaller fraction of non-zero entries than this are kept sparse. Measured: for a block of
# rows both layouts cost the same at a fraction of about 0.35; a single row, which is what a cache miss costs,
# is faster dense when rows are narrow. The results are the same bits.
_SPARSE_BELOW = 0.3
_WIDE = 100
FIRST_ROWS = 4096  # enough to see what rows are like


def choose_layout(X: Rows) -> str:
    """Dense or sparse, by the width and the zeros of the first rows, whatever type of matrix they come in."""
    if X.shape[1] < _WIDE:
        return "dense"
    first = X[:FIRST_ROWS]
    filled = first.count_nonzero() if sparse.issparse(X) else np.count_nonzero(first)
    filled /= max(1, first.shape[0] * first.shape[1])
    return "sparse" if filled < _SPARSE_BELOW else "dense"


def choose_center(
    kernel: type[Kernel], X: Rows, has_bias: bool, may_change: bool = True
) -> npt.NDArray[np.float64]:
    """Return the mean of dense rows that lie far from the origin, compared with their spread.

    When all rows share a large offset, norms and products lose digits, so the offset is subtracted first.
    That is allowed under kernels of differences, and under a linear kernel with a bias. The result is empty
    where it is not allowed or there is no need. It is never a row of a machine whose center cannot be changed
    when that row is forgotten: a linear one, or one for which ``may_change`` is false.
    """
    allowed = kernel.shift_invariant or (kernel.is_linear and has_bias)
    if not allowed or X.shape[0] == 0:
        return np.zeros(0)
    first = X[:FIRST_ROWS].toarray() if sparse.issparse(X) else X[:FIRST_ROWS]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = first.mean(axis=0, dtype=np.float64)
        spread = float(np.mean(np.var(first, axis=0, dtype=np.float64)))
        if (kernel.is_linear or not may_change) and (first == mean).all(axis=1).any():
            return np.zeros(0)
        return mean if float(np.mean(mean**2)) > 10 * spread else np.zeros(0)


def compressed(rows: npt.NDArray[Any]) -> Any:
    """Dense rows in CSR; SciPy goes through coordinates, which takes three times as long."""
    values = rows.ravel()
    places = np.flatnonzero(values)
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))])
    return sparse.csr_matrix((values[places], places % rows.shape[1], starts), shape=rows.shape)


def stacked(parts: list[Rows]) -> Rows:
    """Rows of one kind below each other."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
