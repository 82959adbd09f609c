"""Probabilities and prediction sets that follow a stream."""

from .conformal import AdaptiveConformal
from .online import OnlineCalibrator

__all__ = ["AdaptiveConformal", "OnlineCalibrator"]
