"""Probabilities and prediction sets, calibrated on decision values computed before the label was known."""

import math
from typing import Any

import numpy as np

from .._base.validate import Array
from ..calibration import AdaptiveConformal, OnlineCalibrator
from ..store.events import Floats, as_labels


class Probabilities:
    """A calibrator and, if a coverage is set, a conformal predictor on top of it.

    The calibrator has one temperature and no bias, so the most probable class is the predicted one. It learns
    from all labels: rows are selected by their decision values, and given its decision values a selected row
    is like any other. The conformal predictor learns only from rows that were not selected (drawn at random,
    or labeled unasked), because its guarantee is about all rows.

    Parameters
    ----------
    coverage : float or None
        The fraction of rows whose prediction set must contain the true class; None makes no sets.
    """

    def __init__(self, coverage: float | None) -> None:
        self.calibrator = OnlineCalibrator("temperature")
        self.conformal = None if coverage is None else AdaptiveConformal(alpha=1 - coverage)
        self._names: tuple[list[Any], Array] = [], as_labels([])  # the classes of the last call, as an array

    @property
    def coverage(self) -> float | None:
        """The fraction of labels so far that were in the set of their row; None without sets."""
        return None if self.conformal is None else float(self.conformal.coverage)

    def update(self, scores: Any, labels: list[Any], random: Array, classes: list[Any]) -> None:
        """Learn from labels and the decision values that the rows had on arrival.

        ``random`` marks the rows that were not selected by their score. Rows whose decision values were
        computed for other classes are skipped.
        """
        if len(labels) == 1 and self.conformal is None and self._update_one(scores, labels, classes):
            return
        matrix = np.asarray(scores, dtype=np.float64).reshape(len(labels), -1)
        if len(classes) < 2 or matrix.shape[1] != (1 if len(classes) == 2 else len(classes)):
            return
        usable = np.asarray(np.isfinite(matrix).all(axis=1))
        if not usable.any():
            return
        values = matrix[:, 0] if len(classes) == 2 else matrix
        names = self._array_of(classes)
        fair = np.asarray(usable & random)
        if self.conformal is not None and fair.any():
            shares = self.of(values[fair], classes)
            self.conformal.update(shares, _at(labels, fair), classes=names)
        if not usable.all():
            values, labels = values[usable], _at(labels, usable)
        self.calibrator.update(values, labels, classes=names)

    def _update_one(self, scores: Any, labels: list[Any], classes: list[Any]) -> bool:
        """`update` for one finite decision value; False, and nothing changes, for anything else."""
        one = type(scores) is np.ndarray and scores.shape == (1,) and scores.dtype == np.float64
        if not one or len(classes) != 2 or not math.isfinite(scores[0]):
            return False
        self.calibrator.update(scores, labels, classes=self._array_of(classes))
        return True

    def of(self, scores: Any, classes: list[Any]) -> Floats:
        """The class probabilities for decision values."""
        return np.asarray(self.calibrator.predict_proba(scores, classes=self._array_of(classes)))

    def _array_of(self, classes: list[Any]) -> Array:
        if self._names[0] != classes or len(classes) == 0:
            self._names = list(classes), as_labels(classes)
        return self._names[1]

    def sets(self, shares: Floats, classes: list[Any]) -> list[list[Any]] | None:
        """The classes in the prediction set of each row; None without a coverage."""
        if self.conformal is None:
            return None
        inside = self.conformal.predict_set(shares, classes=as_labels(classes))
        return [
            [label for label, there in zip(classes, row, strict=True) if there] for row in inside.tolist()
        ]

    def state(self) -> dict[str, Any]:
        """The calibration as plain values, for `from_state`."""
        conformal = None if self.conformal is None else self.conformal.state()
        return {"calibrator": self.calibrator.state(), "conformal": conformal}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Probabilities":
        """Create the object from its `state`."""
        found = cls(None)
        found.calibrator = OnlineCalibrator.from_state(state["calibrator"])
        if state["conformal"] is not None:
            found.conformal = AdaptiveConformal.from_state(state["conformal"])
        return found


def _at(labels: list[Any], there: Array) -> list[Any]:
    return [label for label, is_there in zip(labels, there.tolist(), strict=True) if is_there]
