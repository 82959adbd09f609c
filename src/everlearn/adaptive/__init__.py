"""Learners that choose their own kernel, regularization and memory while a stream runs."""

from .adaptive_svm import AdaptiveSVM
from .experts import Expert

__all__ = ["AdaptiveSVM", "Expert"]
