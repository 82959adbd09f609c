"""Evaluation on streams: prequential scores and drift detection."""

from .drift import DriftDetector
from .prequential import Prequential

__all__ = ["DriftDetector", "Prequential"]
