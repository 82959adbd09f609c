"""A window over the last rows of a stream, and its scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._measures import Measures, areas, areas_without_ties, measures, overall, plain_and_faded

Values = NDArray[np.float64]


class LastRows:
    """The last rows: their codes, their decision values, and the number of decision values of each.

    They are contiguous in arrays of twice the window size. When the arrays are full, the last rows are copied
    to the front of new ones, so each row is copied about once, and what `rows` returned stays as it was.
    """

    def __init__(self, size: int, n_codes: int) -> None:
        self._size = size
        self._end = 0
        self._codes = np.zeros((2 * size, n_codes), dtype=np.int32)
        self._scores = np.zeros((2 * size, 1))
        self._widths = np.zeros(2 * size, dtype=np.int32)

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
        self._make_room(len(codes))
        new = slice(self._end, self._end + len(codes))
        self._codes[new], self._widths[new] = codes, widths
        self._scores[new, : scores.shape[1]], self._scores[new, scores.shape[1] :] = scores, np.nan
        self._end += len(codes)

    def append_one(self, codes: tuple[int, ...], scores: Values) -> list[int] | None:
        """Append a row, with its decision values of shape (1, n); returns the codes of the row dropped."""
        width = scores.shape[1]
        if width > self._scores.shape[1]:
            rows = np.array([codes], dtype=np.int32)
            oldest = self._oldest()
            self.append(rows, scores, np.array([width], dtype=np.int32))
            return oldest
        self._make_room(1)
        oldest = self._oldest()
        at = self._end
        self._codes[at], self._widths[at] = codes, width
        self._scores[at, :width] = scores[0]
        if width < self._scores.shape[1]:
            self._scores[at, width:] = np.nan
        self._end += 1
        return oldest

    def _oldest(self) -> list[int] | None:
        """The codes of the row that the next one replaces; None if the window has room."""
        first = self._end - self._size
        found: list[int] | None = self._codes[first].tolist() if first >= 0 else None
        return found

    def _make_room(self, n_new: int) -> None:
        if self._end + n_new > 2 * self._size:
            kept = self.rows()
            self._end = len(kept[0])
            self._codes, self._scores, self._widths = map(
                np.zeros_like, (self._codes, self._scores, self._widths)
            )
            self._codes[: self._end], self._scores[: self._end], self._widths[: self._end] = kept


def in_order(counts: NDArray[Any], order: NDArray[np.intp]) -> Values:
    """Several confusion matrices with their classes in the order to show.

    NumPy puts the matrices last in memory. So sums over classes add up one class after another, with the same
    rounding for any number of matrices from 2.
    """
    return counts[..., order[:, np.newaxis], order].astype(np.float64, copy=False)


@dataclass(frozen=True)
class WindowScores:
    """The window of a `Prequential` at one moment: its scores are computed when they are needed."""

    codes: NDArray[np.int32]  # of the label and the predictions of each row
    scores: Values
    widths: NDArray[np.int32]
    counts: NDArray[np.int64]  # confusion matrices of the learner and the baselines
    faded: Values  # with all earlier rows, faded
    n_abstained: int
    labels: list[Any]
    order: NDArray[np.intp]  # of the codes of the labels
    n_given: int
    fading_factor: float

    def measures(self) -> dict[str, Any]:
        """The measures over the window, as `Prequential.scores` returns them."""
        found = measures(in_order(self.counts, self.order))
        return self.described(found, (0,), self.n_abstained, self.areas[0], np.int64)

    def described(
        self, found: Measures, at: tuple[int, ...], abstained: float, auc: float, kind: type
    ) -> dict[str, Any]:
        """The measures of one matrix by name; ``kind`` is the type of the counts."""
        details = (found.recall[at], found.precision[at], found.support[at].astype(kind))
        per_class = [
            {"recall": recall, "precision": precision, "support": support}
            for recall, precision, support in zip(*(detail.tolist() for detail in details), strict=True)
        ]
        shown = [self.labels[code] for code in self.order.tolist()]
        return overall(found, at, kind) | {
            "abstained": abstained,
            "auc": auc,
            "per_class": dict(zip(shown, per_class, strict=True)),
        }

    @cached_property
    def areas(self) -> tuple[float, float]:
        """The area under the ROC curve, without and with fading: the mean of those of the classes."""
        weights = plain_and_faded(len(self.codes), self.fading_factor)
        parts = self._parts()
        # With one decision value for two classes, both have the same area.
        one_is_enough = all(self.widths[rows][0] == 1 for rows in parts) and len(self.labels) == 2
        found = []
        for code in (self.order[1:] if one_is_enough else self.order).tolist():
            values = self._values_of(code, parts)
            positive = self.codes[:, 0] == code
            missing = np.isnan(values)
            if missing.any():
                valued = np.flatnonzero(~missing)
                found.append(areas(positive[valued], values[valued], weights[:, valued]))
            else:
                found.append(areas(positive, values, weights))
        means = [[float(area[i]) for area in found if area[i] == area[i]] for i in range(2)]
        in_window, with_fading = (sum(mean) / len(mean) if mean else float("nan") for mean in means)
        return in_window, with_fading

    def simple_rows(self) -> Any:
        """The rows with a prediction, if they have the one decision value of two classes; otherwise None."""
        if len(self.labels) != 2:
            return None
        rows = np.flatnonzero(self.codes[:, 1] >= 0) if self.n_abstained else slice(None)
        return rows if (self.widths[rows] == 1).all() else None

    def _parts(self) -> list[Any]:
        """The rows with a prediction, in groups with the same number of decision values."""
        rows = np.flatnonzero(self.codes[:, 1] >= 0) if self.n_abstained else slice(None)
        widths = self.widths[rows]
        if len(widths) and (widths == widths[0]).all():
            return [rows]
        places = np.arange(len(self.widths))[rows]
        return [places[widths == width] for width in np.unique(widths).tolist()]

    def _values_of(self, code: int, parts: list[Any]) -> Values:
        """The decision value of each row for a class; NaN where there is none."""
        values = np.full(len(self.codes), np.nan)
        for rows in parts:
            width = int(self.widths[rows][0])
            columns = self._classes_of_columns(width)
            if columns is None or code not in columns:
                continue
            column = columns.index(code)
            if width == 1:
                values[rows] = self.scores[rows, 0] if column == 1 else -self.scores[rows, 0]
            else:
                values[rows] = self.scores[rows, column]
        return values

    def _classes_of_columns(self, width: int) -> list[int] | None:
        """The codes of the classes that this many decision values belong to; None if unknown."""
        codes: list[int] = self.order.tolist()
        width = max(width, 2)
        if width == self.n_given:
            return codes[:width]
        return codes if width == len(codes) else None


def measure_areas(windows: list[WindowScores]) -> None:
    """Compute the `areas` of several windows, in much less time than one after another.

    Windows with as many rows and one decision value a row are sorted together; others, and those with ties,
    are left to themselves. The areas are the same bit for bit.
    """
    alike: dict[int, list[tuple[WindowScores, Any]]] = {}
    for window in windows:
        rows = None if "areas" in vars(window) else window.simple_rows()
        if rows is not None:
            alike.setdefault(len(window.widths[rows]), []).append((window, rows))
    for n, found in alike.items():
        if n == 0:
            continue
        areas_found, tied = areas_without_ties(
            np.stack([window.codes[rows, 0] == window.order[1] for window, rows in found]),
            np.stack([window.scores[rows, 0] for window, rows in found]),
            np.stack([plain_and_faded(len(w.codes), w.fading_factor)[1, rows] for w, rows in found]),
        )
        for (window, _), (in_window, with_fading), left in zip(
            found, areas_found.tolist(), tied.tolist(), strict=True
        ):
            if not left:
                vars(window)["areas"] = in_window, with_fading  # where `cached_property` looks for it
