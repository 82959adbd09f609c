"""Labels of any kind as small integers, and decision values of any width as one matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNKNOWN = -1  # the code of a label that is None or NaN


class LabelTable:
    """The labels seen so far, each with its number.

    Labels are numbers, strings or booleans and are the same if Python holds them to be equal, so that 1, 1.0
    and True are one label. None and NaN are no label; their code is -1.

    Parameters
    ----------
    labels : iterable, default=()
        The labels to begin with, in the order of their numbers.
    """

    def __init__(self, labels: Iterable[Any] = ()) -> None:
        self.labels: list[Any] = []
        self._codes: dict[Any, int] = {None: UNKNOWN}
        self.encode("labels", labels)

    def __len__(self) -> int:
        return len(self.labels)

    def copy(self) -> LabelTable:
        """Return a table that can grow without this one."""
        table = LabelTable.__new__(LabelTable)
        table.labels, table._codes = list(self.labels), dict(self._codes)
        return table

    def encode(self, name: str, values: Any) -> NDArray[np.int32]:
        """Number the labels, new ones included; `name` is what the caller calls them."""
        items = listed(name, values)
        try:
            codes = list(map(self._codes.get, items))
            if None in codes:
                codes = [
                    self._code(name, item) if code is None else code
                    for code, item in zip(codes, items, strict=True)
                ]
        except TypeError as error:
            raise TypeError(
                f"{name} must contain one label per row, a number or a string: {error}."
            ) from error
        return np.array(codes, dtype=np.int32)

    def code_of(self, label: Any) -> int | None:
        """The number of a label; None if it was not seen."""
        return self._codes.get(label)

    def code_of_one(self, values: Any) -> int | None:
        """The number of the only label in a list or an array of objects; None if that takes `encode`."""
        if type(values) is np.ndarray and values.dtype == object and values.shape == (1,):
            values = values.tolist()
        if type(values) is not list or len(values) != 1:
            return None
        label = values[0]
        return self._codes.get(label) if label is None or type(label) in (int, str, bool) else None

    def label_of(self, code: int) -> Any:
        """The label with a number; None if it is -1."""
        return None if code == UNKNOWN else self.labels[code]

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels by their numbers, as an array of objects with None for what is unknown."""
        table = np.empty(len(self.labels) + 1, dtype=object)
        table[:-1] = self.labels
        found: NDArray[Any] = table[codes]  # -1 is the last entry, which is None
        return found

    def order(self, n_first: int) -> NDArray[np.intp]:
        """Numbers of the labels in the order to show: the first ``n_first`` unchanged, then the rest sorted.

        Numbers come before strings. How two labels compare never depends on what other labels there are.
        """
        rest = sorted(range(n_first, len(self.labels)), key=lambda code: _sort_key(self.labels[code]))
        return np.array([*range(n_first), *rest], dtype=np.intp)

    def _code(self, name: str, item: Any) -> int:
        label = item.item() if isinstance(item, np.generic) else item
        if isinstance(label, float) and label != label:
            return UNKNOWN
        if not isinstance(label, (bool, int, float, str)):
            raise TypeError(f"got {label!r} of type {type(label).__name__}")
        if label not in self._codes:
            self._codes[label] = len(self.labels)
            self.labels.append(label)
        return self._codes[label]


def _sort_key(label: Any) -> tuple[bool, Any]:
    return isinstance(label, str), label


def listed(name: str, values: Any) -> list[Any]:
    """A list of plain Python values from anything with one value per row."""
    if isinstance(values, str) or not (hasattr(values, "tolist") or isinstance(values, Iterable)):
        raise TypeError(
            f"{name} must contain one value per row, got {values!r}; wrap a single value in a list."
        )
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(items, list):  # an array without dimension
        raise TypeError(
            f"{name} must contain one value per row, got {values!r}; wrap a single value in a list."
        )
    return items


def score_matrix(scores: Any, n_rows: int) -> NDArray[np.float64]:
    """Decision values as a matrix of a row per row: one column for two classes, else one for each class.

    What is missing (no scores at all, None for a row or for a value) is NaN.
    """
    if scores is None:
        return np.full((n_rows, 1), np.nan)
    try:
        matrix = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = _from_uneven_rows(scores)
    if matrix.ndim == 1:
        matrix = matrix[:, np.newaxis]
    if matrix.ndim != 2 or len(matrix) != n_rows or (n_rows and not matrix.shape[1]):
        raise ValueError(
            f"scores must contain a decision value, or one for each class, for each of the {n_rows} rows, "
            f"got shape {np.shape(matrix)}; pass None for rows without."
        )
    return matrix if n_rows else np.empty((0, 1))


def one_score_row(scores: Any) -> NDArray[np.float64] | None:
    """`score_matrix` for an array with the decision values of one row; None for anything else."""
    if type(scores) is not np.ndarray or scores.dtype != np.float64 or scores.shape[:1] != (1,):
        return None
    if scores.ndim == 1:
        return scores[:, np.newaxis]
    return scores if scores.ndim == 2 and scores.shape[1] else None


def _from_uneven_rows(scores: Any) -> NDArray[np.float64]:
    """Rows of decision values among which some are None."""
    rows = [None if row is None else np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in scores]
    shapes = {row.shape for row in rows if row is not None}
    if len(shapes) != 1:
        raise ValueError(f"scores must have rows of one length, got the shapes {sorted(shapes)}.")
    missing = np.full(shapes.pop(), np.nan)
    return np.array([missing if row is None else row for row in rows])
