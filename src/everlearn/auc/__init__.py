"""Learners that maximize the area under the ROC curve, for streams in which one class is rare."""

from .koil import KOIL
from .oam import OAM
from .opauc import OPAUC

__all__ = ["KOIL", "OAM", "OPAUC"]
