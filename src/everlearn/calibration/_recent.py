"""The last labeled scores of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._columns import Codes

Floats = NDArray[np.float64]

_LEAST_ROOM = 64


class RecentScores:
    """Rows with a score for each class, the code of the label, a weight and a time.

    They are contiguous, in arrays with room for more. When the arrays are full, the rows are copied to the
    front of new ones with twice the room, so that each row is copied about once.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        The scores.
    codes, weights, times : ndarray of shape (n_rows,)
        The codes of the labels, the weights and the times.
    """

    def __init__(self, scores: Floats, codes: Codes, weights: Floats, times: NDArray[np.int64]) -> None:
        self._arrays: list[NDArray[Any]] = [scores, codes, weights, times]
        self._start, self._end = 0, len(codes)

    @classmethod
    def empty(cls, n_classes: int) -> RecentScores:
        """No rows."""
        return cls(
            np.empty((0, n_classes)),
            np.empty(0, dtype=np.intp),
            np.empty(0),
            np.empty(0, dtype=np.int64),
        )

    def __copy__(self) -> RecentScores:
        """The same rows without room: what is appended to one of the two does not change the other."""
        return RecentScores(self.scores, self.codes, self.weights, self.times)

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def scores(self) -> Floats:
        """The scores, NaN for a class without one."""
        return self._arrays[0][self._start : self._end]

    @property
    def codes(self) -> Codes:
        """The codes of the labels."""
        return self._arrays[1][self._start : self._end]

    @property
    def weights(self) -> Floats:
        """The weights, without fading."""
        return self._arrays[2][self._start : self._end]

    @property
    def times(self) -> NDArray[np.int64]:
        """The number of labels seen when each row was added."""
        return self._arrays[3][self._start : self._end]

    def add_class_columns(self, count: int) -> None:
        """Add columns of scores, which are missing so far."""
        self._arrays[0] = np.pad(self._arrays[0], ((0, 0), (0, count)), constant_values=np.nan)

    def append(self, n_rows: int, scores: Any, codes: Any, weights: Any, times: Any) -> None:
        """Append rows; a single number stands for the value of every row."""
        if self._end + n_rows > len(self._arrays[1]):
            self._make_room(n_rows)
        new = slice(self._end, self._end + n_rows)
        for array, values in zip(self._arrays, (scores, codes, weights, times), strict=True):
            array[new] = values
        self._end += n_rows

    def keep_last(self, count: int) -> None:
        """Keep the last rows only."""
        self._start = max(self._start, self._end - count)

    def keep(self, places: Codes) -> None:
        """Keep the rows at some positions."""
        self._arrays = [array[self._start : self._end][places] for array in self._arrays]
        self._start, self._end = 0, len(places)

    def _make_room(self, n_rows: int) -> None:
        n = len(self)
        room = max(2 * (n + n_rows), _LEAST_ROOM)
        for place, array in enumerate(self._arrays):
            wider = np.zeros((room, *array.shape[1:]), dtype=array.dtype)  # not what was there before
            wider[:n] = array[self._start : self._end]
            self._arrays[place] = wider
        self._start, self._end = 0, n
