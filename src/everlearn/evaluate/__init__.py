"""Evaluation on streams: prequential scores and drift detection."""

from .drift import Drift
from .prequential import Prequential

__all__ = ["Drift", "Prequential"]
