"""Learners for classes of which one is rare."""

from .virtual import VIRTUAL

__all__ = ["VIRTUAL"]
