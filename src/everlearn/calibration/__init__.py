"""Probabilities and prediction sets that follow a stream."""

from ._scores import scores_of
from .classifier import CalibratedClassifier
from .conformal import AdaptiveConformal
from .online import OnlineCalibrator

__all__ = ["AdaptiveConformal", "CalibratedClassifier", "OnlineCalibrator", "scores_of"]
