"""Online calibration: probabilities and prediction sets that are updated along a stream."""

from ._scores import scores_of
from .classifier import CalibratedClassifier
from .conformal import AdaptiveConformal
from .online import OnlineCalibrator

__all__ = ["AdaptiveConformal", "CalibratedClassifier", "OnlineCalibrator", "scores_of"]
