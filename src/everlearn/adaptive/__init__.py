"""Learners that adapt their kernel, regularization and memory to a stream."""

from .adaptive_svm import AdaptiveSVM
from .experts import Expert

__all__ = ["AdaptiveSVM", "Expert"]
