"""Metrics for imbalanced classification, and the distance between two sets of support vectors."""

from .classification import g_means, prbep, sensitivity, specificity
from .support_sets import support_set_distance

__all__ = ["g_means", "prbep", "sensitivity", "specificity", "support_set_distance"]
