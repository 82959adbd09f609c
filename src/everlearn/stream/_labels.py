"""Labels and decision values of a stream, by the names under which the other modules here import them."""

from .._labels import UNKNOWN, LabelTable, listed, score_matrix

__all__ = ["UNKNOWN", "LabelTable", "listed", "score_matrix"]
