"""A window over the last rows of a stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class LastRows:
    """The last rows: their codes, their decision values, and the number of decision values of each.

    They are contiguous in arrays of twice the window size. When the arrays are full, the last rows are moved
    to the front, so each row is moved about once.
    """

    def __init__(self, size: int, n_codes: int) -> None:
        self._size = size
        self._end = 0
        self._codes = np.empty((2 * size, n_codes), dtype=np.int32)
        self._scores = np.empty((2 * size, 1))
        self._widths = np.empty(2 * size, dtype=np.int32)

    def rows(self) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]:
        """The rows as views, the oldest first."""
        last = slice(max(self._end - self._size, 0), self._end)
        return self._codes[last], self._scores[last], self._widths[last]

    def append(
        self, codes: NDArray[np.int32], scores: NDArray[np.float64], widths: NDArray[np.int32]
    ) -> None:
        """Append rows; the oldest ones drop out."""
        codes, scores, widths = codes[-self._size :], scores[-self._size :], widths[-self._size :]
        missing = scores.shape[1] - self._scores.shape[1]
        if missing > 0:
            self._scores = np.pad(self._scores, ((0, 0), (0, missing)), constant_values=np.nan)
        if self._end + len(codes) > 2 * self._size:
            kept = self.rows()
            self._end = len(kept[0])
            self._codes[: self._end], self._scores[: self._end], self._widths[: self._end] = kept
        new = slice(self._end, self._end + len(codes))
        self._codes[new], self._widths[new] = codes, widths
        self._scores[new, : scores.shape[1]], self._scores[new, scores.shape[1] :] = scores, np.nan
        self._end += len(codes)
