"""Probabilities and prediction sets of a stream, from decision values made before their labels were known."""

from typing import Any

import numpy as np

from .._base.validate import Array
from ..calibration import AdaptiveConformal, OnlineCalibrator
from ..store.events import Floats, as_labels


class Probabilities:
    """A calibrator, and with a promised coverage a conformal predictor behind it.

    The calibrator has one temperature and no bias, so that the most probable class is the one predicted. It
    learns from all labels: which rows were asked about depends on their scores, and given its score a row
    that was asked about is like any other. The conformal predictor learns from labels of random rows and from
    those that came by themselves, as its promise is about all rows.

    Parameters
    ----------
    coverage : float or None
        The share of rows whose prediction set is to hold their class; None makes no sets.
    """

    def __init__(self, coverage: float | None) -> None:
        self.calibrator = OnlineCalibrator("temperature")
        self.conformal = None if coverage is None else AdaptiveConformal(alpha=1 - coverage)

    @property
    def coverage(self) -> float | None:
        """The share of labels that were in the set of their row so far; None where there are no sets."""
        return None if self.conformal is None else float(self.conformal.coverage)

    def update(self, scores: Any, labels: list[Any], random: Array, classes: list[Any]) -> None:
        """Take in labels of rows with the decision values that they had when they came.

        ``random`` says of which rows the label was not chosen for the sake of its score. Rows that were
        scored when there were other classes are left out.
        """
        matrix = np.asarray(scores, dtype=np.float64).reshape(len(labels), -1)
        if len(classes) < 2 or matrix.shape[1] != (1 if len(classes) == 2 else len(classes)):
            return
        usable = np.isfinite(matrix).all(axis=1)
        if not usable.any():
            return
        values = matrix[:, 0] if len(classes) == 2 else matrix
        names, given = as_labels(classes), np.array(labels, dtype=object)
        fair = usable & random
        if self.conformal is not None and fair.any():
            shares = self.of(values[fair], classes)
            self.conformal.update(shares, given[fair].tolist(), classes=names)
        self.calibrator.update(values[usable], given[usable].tolist(), classes=names)

    def of(self, scores: Any, classes: list[Any]) -> Floats:
        """The probabilities of classes, from decision values."""
        return np.asarray(self.calibrator.predict_proba(scores, classes=as_labels(classes)))

    def sets(self, shares: Floats, classes: list[Any]) -> list[list[Any]] | None:
        """The classes in the prediction set of each row; None where no coverage was promised."""
        if self.conformal is None:
            return None
        inside = self.conformal.predict_set(shares, classes=as_labels(classes))
        return [
            [label for label, there in zip(classes, row, strict=True) if there] for row in inside.tolist()
        ]

    def state(self) -> dict[str, Any]:
        """What `from_state` takes."""
        conformal = None if self.conformal is None else self.conformal.state()
        return {"calibrator": self.calibrator.state(), "conformal": conformal}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Probabilities":
        """The object that `state` described."""
        found = cls(None)
        found.calibrator = OnlineCalibrator.from_state(state["calibrator"])
        if state["conformal"] is not None:
            found.conformal = AdaptiveConformal.from_state(state["conformal"])
        return found
