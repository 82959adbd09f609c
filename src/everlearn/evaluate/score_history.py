"""The curves of the report, one point per batch, in bounded memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import checked
from ._measures import measures
from .prequential import Prequential
from .window_scores import WindowScores, in_order, measure_areas

_MOST_POINTS = 2000
_MOST_MATRICES = 24
_LABELS_PER_MATRIX = 25
_MEASURES = ("accuracy", "g_means", "mcc", "auc")
_SCORES = (*_MEASURES, *(f"fading_{name}" for name in _MEASURES), "no_change", "majority")
_NAN = float("nan")
UNMEASURED = dict.fromkeys(_SCORES, _NAN)  # the entries that `ScoreHistory.add` fills in
_MOST_UNMEASURED = 64  # entries
_AREAS_TOGETHER = 8  # entries: more take hardly less time for each, and one caller waits for all
_MOST_CELLS = 1 << 16  # in the confusion matrices of these entries


class ScoreHistory:
    """Columns of numbers, one entry per batch; when there are too many, every second one is dropped.

    Most of the time to measure a confusion matrix is the overhead of NumPy calls. So up to 64 entries are
    collected and measured together, or as soon as the columns are read.
    """

    def __init__(self) -> None:
        self._columns: dict[str, list[float]] = {}
        self._unmeasured: list[tuple[int, WindowScores]] = []  # positions, and what they are measured from
        self.stride, self.skipped = 1, 0
        self.matrices: list[dict[str, Any]] = []
        self.matrix_stride, self.labels_of_last = 1, 0

    @property
    def columns(self) -> dict[str, list[float]]:
        """The numbers by name, all columns of the same length."""
        self._measure()
        return self._columns

    def is_due(self) -> bool:
        """Whether the next entry is kept: in long streams every second, fourth, ... one is."""
        return self.skipped + 1 >= self.stride

    def add(self, entry: dict[str, float], scores: WindowScores | None = None) -> None:
        """Add an entry if it is due.

        Parameters
        ----------
        entry : dict
            The numbers, with those of `UNMEASURED` if there are scores.
        scores : WindowScores, default=None
            The scores.
        """
        if not self.is_due():
            self.skipped += 1
            return
        self.skipped = 0
        for name in [name for name in entry if name not in self._columns]:
            self._columns[name] = [_NAN] * self._length()
        if scores is not None:
            self._collect(scores)
        for name, column in self._columns.items():
            column.append(float(entry.get(name, _NAN)))
        if self._length() > _MOST_POINTS:
            self._columns = {name: column[1::2] for name, column in self.columns.items()}
            self.stride *= 2

    def _collect(self, scores: WindowScores) -> None:
        """Note that the next entry has to be measured."""
        if self._unmeasured:
            n, before = len(self._unmeasured), self._unmeasured[-1][1]
            same = before.order is scores.order
            if n >= _MOST_UNMEASURED or (n + 1) * scores.counts.size > _MOST_CELLS or not same:
                self._measure()
        self._unmeasured.append((self._length(), scores))
        if len(self._unmeasured) % _AREAS_TOGETHER == 0:
            measure_areas([last for _, last in self._unmeasured[-_AREAS_TOGETHER:]])

    def _measure(self) -> None:
        """Measure the collected entries."""
        if not self._unmeasured:
            return
        measured = [scores for _, scores in self._unmeasured]
        matrices = [np.concatenate((scores.counts, scores.faded[:1])) for scores in measured]
        found = measures(in_order(np.stack(matrices), self._unmeasured[0][1].order))
        for name in ("accuracy", "g_means", "mcc"):
            values = getattr(found, name)
            self._fill(name, values[:, 0])
            self._fill(f"fading_{name}", values[:, -1])
        measure_areas(measured)
        areas = np.array([scores.areas for scores in measured])
        self._fill("auc", areas[:, 0])
        self._fill("fading_auc", areas[:, 1])
        self._fill("no_change", found.accuracy[:, 1])
        self._fill("majority", found.accuracy[:, 2])
        self._unmeasured = []

    def _fill(self, name: str, values: Any) -> None:
        for (place, _), value in zip(self._unmeasured, values.tolist(), strict=True):
            self._columns[name][place] = value

    def add_matrix(self, scores: Prequential, n_rows: int) -> None:
        """Keep the confusion matrix of all labels so far, every 25 labels, and less often in long streams."""
        if scores.n_seen - self.labels_of_last < _LABELS_PER_MATRIX * self.matrix_stride:
            return
        self.matrices.append(_totals(scores, n_rows))
        self.labels_of_last = scores.n_seen
        if len(self.matrices) > _MOST_MATRICES:
            self.matrices, self.matrix_stride = self.matrices[1::2], 2 * self.matrix_stride

    def periods(self, scores: Prequential, n_rows: int) -> list[dict[str, Any]]:
        """The confusion matrices of the periods between the kept totals, and of the rows since the last one.

        Parameters
        ----------
        scores : Prequential
            The scores now.
        n_rows : int
            The number of rows now.

        Returns
        -------
        list of dict
            "row_from", "row_to", "classes" and "matrix" of each period with a scored row. Their sum is the
            matrix of all scored rows.
        """
        now = _totals(scores, n_rows)
        found, row, before = [], 0, np.zeros((len(now["classes"]),) * 2)
        for entry in [*self.matrices, now]:
            total = _spread(entry, now["classes"])
            if (total != before).any():
                found.append({"row_from": row, "row_to": entry["row_to"], "matrix": total - before})
                row, before = entry["row_to"], total
        return [period | {"classes": now["classes"]} for period in found]

    def until(self, entry: dict[str, float], scores: WindowScores | None) -> dict[str, list[float]]:
        """The columns with one more entry, for the present; it replaces the last one if no row came since.

        Parameters
        ----------
        entry : dict
            The numbers, as for `add`.
        scores : WindowScores or None
            The scores.

        Returns
        -------
        dict
            New columns by name.
        """
        present = ScoreHistory()
        present.add(entry, scores)
        columns, n = self.columns, self._length()
        n -= bool(n and columns["rows"][-1] == entry["rows"])
        names = dict.fromkeys([*columns, *present.columns])
        return {
            name: [*columns.get(name, [_NAN] * n)[:n], *present.columns.get(name, [_NAN])] for name in names
        }

    def _length(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def state(self) -> dict[str, Any]:
        """The columns as plain values, for `from_state`."""
        return {
            "columns": {name: np.array(column) for name, column in self.columns.items()},
            "stride": self.stride,
            "skipped": self.skipped,
            "matrices": self.matrices,
            "matrix_stride": self.matrix_stride,
            "labels_of_last": self.labels_of_last,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "ScoreHistory":
        """Create a history from its `state`."""
        history = cls()
        length = None
        for name, column in checked.table("columns", state["columns"]).items():
            history._columns[name] = checked.array(name, column, np.float64, (length,)).tolist()
            length = len(column)
        history.stride, history.matrix_stride = (
            checked.integer(name, state[name], least=1) for name in ("stride", "matrix_stride")
        )
        history.skipped, history.labels_of_last = (
            checked.integer(name, state[name]) for name in ("skipped", "labels_of_last")
        )
        history.matrices = [_matrix(entry) for entry in checked.items("matrices", state["matrices"])]
        return history


def _matrix(entry: Any) -> dict[str, Any]:
    """One confusion matrix of a state: a row and a column for each class."""
    found = checked.table("matrices", entry)
    n = len(checked.items("classes", found["classes"]))
    checked.array("matrix", np.array(found["matrix"]), np.float64, (n, n) if n else (0,))
    checked.integer("row_to", found["row_to"])
    return found


def _totals(scores: Prequential, n_rows: int) -> dict[str, Any]:
    """The confusion matrix of all labels up to a row."""
    classes, matrix = scores.confusion("total")
    return {
        "row_to": n_rows,
        "classes": [_plain(label) for label in classes.tolist()],
        "matrix": matrix.tolist(),
    }


def _spread(entry: dict[str, Any], classes: list[Any]) -> NDArray[np.float64]:
    """A confusion matrix over all classes, including those that appeared later."""
    matrix, at = np.zeros((len(classes),) * 2), [classes.index(label) for label in entry["classes"]]
    if at:
        matrix[np.ix_(at, at)] = entry["matrix"]
    return matrix


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
