"""PendingPredictions: predictions for rows whose label is not known yet."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._base import constraints
from .._base.labels import UNKNOWN, LabelTable, listed, one_score_row, score_matrix

_LEAST_SLOTS = 1024


class PendingPredictions:
    """Predictions by the id of their row, from when the row came until its label becomes known.

    A label may arrive much later than its row, or never. At most `capacity` predictions are stored; the
    oldest are dropped first, and their rows are never scored.

    Parameters
    ----------
    capacity : int, default=100_000
        Maximum number of predictions stored.

    Examples
    --------
    >>> from everlearn.evaluate.pending_predictions import PendingPredictions
    >>> remembered = PendingPredictions()
    >>> remembered.add([7, 8, 9], ["spam", None, "ham"], [1.5, float("nan"), -0.5])
    >>> found, predictions, scores = remembered.take([9, 4])
    >>> found.tolist(), predictions.tolist(), scores.tolist()
    ([True, False], ['ham', None], [-0.5, nan])
    >>> len(remembered)
    2
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {"capacity": constraints.integer_from(1)}

    def __init__(self, capacity: int = 100_000) -> None:
        self.capacity = capacity
        constraints.check(self)
        self._labels = LabelTable()
        self._slots: OrderedDict[int | str, int] = OrderedDict()  # by id, the oldest first
        self._free: list[int] = []
        self._codes = np.empty(0, dtype=np.int32)
        self._widths = np.empty(0, dtype=np.int32)
        self._scores = np.empty((0, 1))

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, row_id: object) -> bool:
        return row_id in self._slots

    def add(self, ids: Any, predictions: Any, scores: Any = None) -> None:
        """Store predictions; a new one for a stored id replaces it.

        Parameters
        ----------
        ids : array-like of shape (n_rows,)
            Integers or strings.
        predictions : array-like of shape (n_rows,) or None
            The labels predicted; None or NaN where the learner abstained.
        scores : array-like of shape (n_rows,) or (n_rows, n_classes), default=None
            The decision values; NaN or None where there is none.
        """
        if self._add_one(ids, predictions, scores):
            return
        keys = _ids(ids)
        labels = self._labels.copy()  # so that bad input changes nothing
        codes = labels.encode("predictions", [None] * len(keys) if predictions is None else predictions)
        if len(codes) != len(keys):
            raise ValueError(f"predictions must be as many as ids, got {len(codes)} and {len(keys)}.")
        matrix = score_matrix(scores, len(keys))
        self._labels = labels
        self._make_room(len(keys), matrix.shape[1])
        slots = [self._slot_for(key) for key in keys]
        # An id that comes twice, or a slot that is used twice: the last one stays, as NumPy assigns in order.
        self._codes[slots] = codes
        self._widths[slots] = matrix.shape[1]
        self._scores[slots, : matrix.shape[1]] = matrix

    def _add_one(self, ids: Any, predictions: Any, scores: Any) -> bool:
        """`add` for one row with a known label; False, and nothing changes, if `add` has to look at it."""
        key = ids[0] if type(ids) is list and len(ids) == 1 else None
        code, row = self._labels.code_of_one(predictions), one_score_row(scores)
        if type(key) not in (int, str) or code is None or row is None:
            return False
        width = row.shape[1]
        self._make_room(1, width)
        slot = self._slot_for(key)
        self._codes[slot], self._widths[slot], self._scores[slot, :width] = code, width, row[0]
        return True

    def _slot_for(self, key: Any) -> int:
        """The slot of an id, which is the newest from now on; if there is none, a free one, or the oldest."""
        slot = self._slots.pop(key, None)
        if slot is None:
            slot = self._free.pop() if self._free else self._slots.popitem(last=False)[1]
        self._slots[key] = slot
        return slot

    def take(self, ids: Any) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[np.float64]]:
        """Return predictions and remove them.

        Parameters
        ----------
        ids : array-like of shape (n_rows,)
            The rows whose label has become known.

        Returns
        -------
        found : array of bool of shape (n_rows,)
            Which of them were remembered.
        predictions : array of objects of shape (n_rows,)
            The labels predicted, None for a row that is not remembered.
        scores : array of shape (n_rows,) or (n_rows, n_classes)
            The decision values, NaN for a row that has none. If rows were remembered with unequal numbers of
            values, those with most come back and the others are NaN: they were about other classes.
        """
        pop, keys = self._slots.pop, _ids(ids)
        if len(keys) == 1 and keys[0] in self._slots:
            return self._take_slot(pop(keys[0]))
        slots = np.array([pop(key, -1) for key in keys], dtype=np.intp)
        found = slots >= 0
        taken = slots[found]
        self._free.extend(taken.tolist())
        codes = np.full(len(slots), UNKNOWN, dtype=np.int32)
        codes[found] = self._codes[taken]
        width = int(self._widths[taken].max(initial=1))
        scores = np.full((len(slots), width), np.nan)
        complete = self._widths[taken] == width
        scores[np.flatnonzero(found)[complete]] = self._scores[taken[complete], :width]
        return found, self._labels.decode(codes), scores[:, 0] if width == 1 else scores

    def _take_slot(self, slot: int) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[np.float64]]:
        """`take` for one row that is stored."""
        self._free.append(slot)
        prediction = np.empty(1, dtype=object)
        prediction[0] = self._labels.label_of(int(self._codes[slot]))
        width = int(self._widths[slot])
        scores = self._scores[slot : slot + 1, :width].copy()
        return np.ones(1, dtype=bool), prediction, scores[:, 0] if width == 1 else scores

    def state(self) -> dict[str, Any]:
        """What is remembered, as plain values and arrays.

        Returns
        -------
        dict
            For `from_state`.
        """
        slots = np.fromiter(self._slots.values(), dtype=np.intp, count=len(self._slots))
        widths = self._widths[slots]
        scores = self._scores[slots]
        scores[np.arange(scores.shape[1]) >= widths[:, np.newaxis]] = np.nan  # left by an earlier row
        return {
            "capacity": int(self.capacity),
            "ids": _packed(list(self._slots)),
            "labels": list(self._labels.labels),
            "codes": self._codes[slots],
            "widths": widths,
            "scores": scores,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> PendingPredictions:
        """Go on where another one stood when its `state` was taken.

        Parameters
        ----------
        state : dict
            From `state`.

        Returns
        -------
        PendingPredictions
            The continuation.
        """
        made = cls(state["capacity"])
        made._labels = LabelTable(state["labels"])
        keys, scores = listed("ids", state["ids"]), np.asarray(state["scores"], dtype=np.float64)
        made._make_room(len(keys), scores.shape[1])
        slots = [made._free.pop() for _ in keys]
        made._slots.update(zip(keys, slots, strict=True))
        made._codes[slots], made._widths[slots], made._scores[slots] = state["codes"], state["widths"], scores
        return made

    def _make_room(self, n_new: int, width: int) -> None:
        """Slots for so many more rows as far as `capacity` allows, and columns for so many values."""
        missing = width - self._scores.shape[1]
        if missing > 0:
            self._scores = np.pad(self._scores, ((0, 0), (0, missing)), constant_values=np.nan)
        present = len(self._codes)
        if n_new > len(self._free) and present < self.capacity:
            wanted = max(len(self._slots) + n_new, 2 * present, _LEAST_SLOTS)
            more = min(wanted, int(self.capacity)) - present
            self._codes = np.pad(self._codes, (0, more))
            self._widths = np.pad(self._widths, (0, more))
            self._scores = np.pad(self._scores, ((0, more), (0, 0)), constant_values=np.nan)
            self._free.extend(range(present + more - 1, present - 1, -1))


def _ids(ids: Any) -> list[Any]:
    keys = [key.item() if isinstance(key, np.generic) else key for key in listed("ids", ids)]
    kinds = {type(key) for key in keys}
    if not kinds <= {int, str}:
        wrong = ", ".join(sorted(kind.__name__ for kind in kinds - {int, str}))
        raise TypeError(f"ids must be integers or strings, got {wrong}; number the rows.")
    return keys


def _packed(keys: list[Any]) -> list[Any] | NDArray[Any]:
    """Ids as an array where it gives every one of them back and takes no more room, otherwise as a list."""
    kinds = {type(key) for key in keys}
    if kinds <= {int} and all(-(2**63) <= key < 2**63 for key in keys):
        return np.array(keys, dtype=np.int64)
    if kinds == {str}:
        lengths = [len(key) for key in keys]
        even = max(lengths) * len(keys) <= 4 * sum(lengths)
        if even and not any(key.endswith("\0") for key in keys):  # NumPy drops zeros at the end of strings
            return np.array(keys, dtype=np.str_)
    return keys
