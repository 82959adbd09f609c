"""Learners for imbalanced classes."""

from .virtual import VIRTUAL

__all__ = ["VIRTUAL"]
