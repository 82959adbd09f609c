"""The curves of the report, batch by batch, in bounded memory."""

from typing import Any

import numpy as np

from .._base import checked
from .prequential import Prequential

_MOST_POINTS = 2000
_MOST_MATRICES = 24
_MEASURES = ("accuracy", "g_means", "mcc", "auc")


class ScoreHistory:
    """Columns of numbers, one entry a batch; when there are too many, every second one goes."""

    def __init__(self) -> None:
        self.columns: dict[str, list[float]] = {}
        self.stride, self.skipped = 1, 0
        self.matrices: list[dict[str, Any]] = []
        self.matrix_stride, self.labels_of_last = 1, 0

    def add(self, entry: dict[str, float]) -> None:
        """Add an entry, or skip it: of long streams every second, fourth, ... batch is kept."""
        self.skipped += 1
        if self.skipped < self.stride:
            return
        self.skipped = 0
        for name in [name for name in entry if name not in self.columns]:
            self.columns[name] = [float("nan")] * self._length()
        for name, column in self.columns.items():
            column.append(float(entry.get(name, float("nan"))))
        if self._length() > _MOST_POINTS:
            self.columns = {name: column[1::2] for name, column in self.columns.items()}
            self.stride *= 2

    def add_matrix(self, scores: Prequential, n_labels: int, n_rows: int) -> None:
        """Keep the confusion over the window, once for every window of labels."""
        if n_labels - self.labels_of_last < scores.window * self.matrix_stride:
            return
        classes, matrix = scores.confusion("window")
        before = self.matrices[-1]["row_to"] if self.matrices else 0
        self.matrices.append(
            {
                "row_from": before,
                "row_to": n_rows,
                "classes": [_plain(label) for label in classes.tolist()],
                "matrix": np.asarray(matrix).tolist(),
            }
        )
        self.labels_of_last = n_labels
        if len(self.matrices) > _MOST_MATRICES:
            self.matrices, self.matrix_stride = self.matrices[1::2], 2 * self.matrix_stride

    def _length(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
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
        """The trace that `state` described."""
        trace = cls()
        length = None
        for name, column in checked.table("columns", state["columns"]).items():
            trace.columns[name] = checked.array(name, column, np.float64, (length,)).tolist()
            length = len(column)
        trace.stride, trace.matrix_stride = (
            checked.integer(name, state[name], least=1) for name in ("stride", "matrix_stride")
        )
        trace.skipped, trace.labels_of_last = (
            checked.integer(name, state[name]) for name in ("skipped", "labels_of_last")
        )
        trace.matrices = [_matrix(entry) for entry in checked.items("matrices", state["matrices"])]
        return trace


def _matrix(entry: Any) -> dict[str, Any]:
    """One confusion matrix of a state: a line and a column for each class."""
    found = checked.table("matrices", entry)
    n = len(checked.items("classes", found["classes"]))
    checked.array("matrix", np.array(found["matrix"]), np.float64, (n, n) if n else (0,))
    for name in ("row_from", "row_to"):
        checked.integer(name, found[name])
    return found


def flat_scores(found: dict[str, Any]) -> dict[str, float]:
    """The measures of the report, flat, from what `Prequential.scores` returned."""
    entry = {name: found["window"][name] for name in _MEASURES}
    entry |= {f"fading_{name}": found["fading"][name] for name in _MEASURES}
    for baseline in ("no_change", "majority"):
        entry[baseline] = found["baselines"][baseline]["window"]["accuracy"]
    return entry


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
